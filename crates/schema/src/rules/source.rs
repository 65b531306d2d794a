//! Errors of rules, worded as cel-go words them.

use cel::ExecutionError;

/// An error at a line and column of a rule, both counted from one, with the source line.
pub(super) fn mistake(source: &str, (line, column): (usize, usize), what: &str) -> String {
    let shown = source.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let dots = ".".repeat(column.saturating_sub(1));
    format!("ERROR: <input>:{line}:{column}: {what}\n | {shown}\n | {dots}^")
}

/// Line and column of an offset in characters.
pub(super) fn position(source: &str, offset: usize) -> (usize, usize) {
    let before: String = source.chars().take(offset).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
    (line, column)
}

/// The error of a rule whose evaluation failed.
pub(super) fn failure(error: &ExecutionError, rule: &str) -> String {
    match what(error) {
        Some(what) => format!("{what} evaluating rule: {rule}"),
        None => format!(
            "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
        ),
    }
}

/// None if the types of the arguments did not fit.
fn what(error: &ExecutionError) -> Option<String> {
    Some(match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::IndexOutOfBounds(cel::Value::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::NoSuchOverload(_)
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedKeyType(_)
        | ExecutionError::UnsupportedIndex(..)
        | ExecutionError::UnsupportedTargetType { .. } => return None,
        other => other.to_string(),
    })
}
