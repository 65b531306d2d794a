//! Numbers against their type, format and limits.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::{Outcome, Violation, limit};
use crate::format::Format;
use crate::node::Node;

/// Whether a number is accepted as another JSON type: integral floats as integers, all as numbers.
pub(super) fn fits(types: &[&str], value: &Value) -> bool {
    let Value::Number(number) = value else { return false };
    match number.as_i64() {
        Some(_) => types.contains(&"number"),
        None => types.contains(&"integer") && number.as_f64().is_some_and(is_whole),
    }
}

/// Up to the largest integer that a float represents exactly.
fn is_whole(number: f64) -> bool {
    const LARGEST: f64 = ((1_i64 << 53) - 1) as f64;
    number.abs() <= LARGEST
        && (number == number.trunc() || (number - number.trunc()).abs() / (number.abs() + number.trunc().abs()) < 1e-9)
}

pub(super) fn check(node: &Node, number: &Number, path: &str) -> Outcome {
    let value = match number.as_i64() {
        Some(_) => Value::Number(number.clone()),
        None => Value::from(number.as_f64().unwrap_or_default()),
    };
    let mut outcome = Outcome::default();
    out_of_range(node, &value, "Checked", path).into_iter().for_each(|violation| outcome.add(violation));
    outcome.merge(check_limit(node, node.multiple_of, &value, ("MultipleOf", path), multiple_of));
    outcome.merge(check_limit(node, node.minimum, &value, ("Minimum boundary", path), |least, value, path| {
        let order = compare(value, least);
        let beyond = order.is_lt() || node.exclusive_minimum && order.is_eq();
        let than = if node.exclusive_minimum { "greater than" } else { "greater than or equal to" };
        beyond.then(|| Violation::at(path, value, format!("{path} in body should be {than} {}", limit(least, value))))
    }));
    outcome.merge(check_limit(node, node.maximum, &value, ("Maximum boundary", path), |most, value, path| {
        let order = compare(value, most);
        let beyond = order.is_gt() || node.exclusive_maximum && order.is_eq();
        let than = if node.exclusive_maximum { "less than" } else { "less than or equal to" };
        beyond.then(|| Violation::at(path, value, format!("{path} in body should be {than} {}", limit(most, value))))
    }));
    outcome.matched += 1;
    outcome
}

/// A limit that does not fit the type is an error itself, and is then compared as a float.
fn check_limit(
    node: &Node,
    limit: Option<f64>,
    value: &Value,
    (name, path): (&str, &str),
    broken: impl Fn(f64, &Value, &str) -> Option<Violation>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(limit) = limit else { return outcome };
    let unfit = out_of_range(node, &Value::from(limit), name, path);
    let violation = match unfit {
        Some(_) => broken(limit, &Value::from(value.as_f64().unwrap_or_default()), path),
        None => broken(limit, value, path),
    };
    unfit.into_iter().chain(violation).for_each(|violation| outcome.add(violation));
    outcome
}

/// Integers are compared as integers.
fn compare(value: &Value, limit: f64) -> Ordering {
    match value.as_i64() {
        Some(whole) => whole.cmp(&(limit as i64)),
        None => value.as_f64().unwrap_or_default().total_cmp(&limit),
    }
}

fn multiple_of(factor: f64, value: &Value, path: &str) -> Option<Violation> {
    let whole_factor = value.is_i64().then_some(factor as i64);
    let positive = whole_factor.map_or(factor > 0.0, |factor| factor > 0);
    let shown = limit(factor, value);
    if !positive {
        let factor = whole_factor.map_or(Value::from(factor), Value::from);
        return Some(Violation::at(
            path,
            &factor,
            format!("factor MultipleOf declared for {path} must be positive: {shown}"),
        ));
    }
    let fits = match (value.as_i64(), whole_factor) {
        (Some(value), Some(factor)) => value % factor == 0,
        _ => is_whole(quotient(value.as_f64().unwrap_or_default(), factor)),
    };
    (!fits).then(|| Violation::at(path, value, format!("{path} in body should be a multiple of {shown}")))
}

fn quotient(value: f64, factor: f64) -> f64 {
    if factor < 1.0 { 1.0 / factor * value } else { value / factor }
}

fn out_of_range(node: &Node, value: &Value, name: &str, path: &str) -> Option<Violation> {
    let kind = if node.int_or_string { "" } else { node.kind.as_str() };
    let number = value.as_f64().unwrap_or_default();
    let whole = value.as_i64().or_else(|| (number == number.trunc() && number.abs() < 9.2e18).then_some(number as i64));
    let within = match (kind, node.checked_format) {
        ("integer", Some(Format::Int32)) => whole.is_some_and(|whole| i32::try_from(whole).is_ok()),
        ("integer", _) => whole.is_some(),
        ("number", Some(Format::Float)) => number.abs() <= f64::from(f32::MAX),
        _ => true,
    };
    let format = match node.checked_format {
        Some(_) => format!("with format {}", node.format),
        None => "(default format)".to_owned(),
    };
    (!within).then(|| Violation::nowhere(format!("{name} value must be of type {kind} {format} in {path}")))
}
