//! Values and what can be done with two of them.

use std::rc::Rc;
use std::sync::Arc;

use super::ARRAYS_NESTED_MAX;
use super::error::FormulaFault;
use super::tree::{Binary, Order};
use super::types::Type;

/// What a part of a formula gives.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    Array(Rc<Array>),
}

/// An array knows how deep it is nested and how many values lie in it, so that nothing walks it that cannot afford to. As
/// arrays are shared, there can be many more than memory holds: `let x = [[a, a], [a, a]]; [x, x]`, and so on.
#[derive(Debug)]
pub(super) struct Array {
    pub(super) items: Vec<Value>,
    depth: usize,
    size: usize,
}

impl Value {
    pub(super) fn array(items: Vec<Value>, at: usize) -> Result<Value, FormulaFault> {
        let inner = items.iter().map(|item| if let Value::Array(array) = item { array.depth } else { 0 }).max();
        let depth = 1 + inner.unwrap_or(0);
        if depth > ARRAYS_NESTED_MAX {
            return Err(FormulaFault::new(
                at,
                format!("arrays are nested more than {ARRAYS_NESTED_MAX} deep here; flatten them"),
            ));
        }
        let size = items.iter().map(Value::size).fold(1, usize::saturating_add);
        Ok(Value::Array(Rc::new(Array { items, depth, size })))
    }

    /// The number as a float, if it is one.
    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Nil => Type::Nil.name(),
            Self::Bool(_) => Type::Bool.name(),
            Self::Int(_) => Type::Int.name(),
            Self::Float(_) => Type::Float.name(),
            Self::Text(_) => Type::Text.name(),
            Self::Array(_) => "an array",
        }
    }

    /// How many values it is, its own elements included.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Array(array) => array.size,
            _ => 1,
        }
    }
}

/// Whole numbers and floats compare by amount; values of different kinds differ.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(left), Value::Int(right)) => left == right,
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::Array(left), Value::Array(right)) => {
            let (left, right) = (&left.items, &right.items);
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        _ => left.as_f64().zip(right.as_f64()).is_some_and(|(left, right)| left == right),
    }
}

pub(super) fn compare(left: &Value, order: Order, right: &Value, at: usize) -> Result<bool, FormulaFault> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let ordering = match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        _ => match left.as_f64().zip(right.as_f64()) {
            Some((left, right)) => left.partial_cmp(&right),
            None => return Err(mismatch(order.symbol(), left, right, at)),
        },
    };
    // NaN is neither more nor less than anything.
    Ok(match order {
        Order::Less => ordering == Some(Less),
        Order::LessOrEqual => matches!(ordering, Some(Less | Equal)),
        Order::Greater => ordering == Some(Greater),
        Order::GreaterOrEqual => matches!(ordering, Some(Greater | Equal)),
    })
}

/// `+ - * / % **`
pub(super) fn arithmetic(left: &Value, op: Binary, right: &Value, at: usize) -> Result<Value, FormulaFault> {
    if let (Value::Int(left), Value::Int(right)) = (left, right)
        && let Some(result) = whole(*left, op, *right, at)
    {
        return result.map(Value::Int);
    }
    let Some((a, b)) = left.as_f64().zip(right.as_f64()) else {
        return Err(mismatch(op.symbol(), left, right, at));
    };
    match op {
        Binary::Add => Ok(Value::Float(a + b)),
        Binary::Subtract => Ok(Value::Float(a - b)),
        Binary::Multiply => Ok(Value::Float(a * b)),
        Binary::Divide => Ok(Value::Float(a / b)),
        Binary::Power => Ok(Value::Float(a.powf(b))),
        _ => Err(FormulaFault::new(at, format!("`{}` needs whole numbers; use `int(…)`", op.symbol()))),
    }
}

/// Whole numbers stay whole under `+ - * %`.
fn whole(left: i64, op: Binary, right: i64, at: usize) -> Option<Result<i64, FormulaFault>> {
    let result = match op {
        Binary::Add => left.checked_add(right),
        Binary::Subtract => left.checked_sub(right),
        Binary::Multiply => left.checked_mul(right),
        Binary::Remainder if right == 0 => {
            return Some(Err(FormulaFault::new(at, "the remainder of a division by zero")));
        }
        Binary::Remainder => Some(left.wrapping_rem(right)),
        _ => return None,
    };
    Some(result.ok_or_else(|| {
        FormulaFault::range(at, format!("`{}` gives too large a whole number; use floats", op.symbol()))
    }))
}

fn mismatch(symbol: &str, left: &Value, right: &Value, at: usize) -> FormulaFault {
    let remedy = if matches!((left, right), (Value::Nil, _) | (_, Value::Nil)) {
        "; a trigger that has failed for long is nil: use `??` or `== nil`"
    } else {
        ""
    };
    FormulaFault::new(at, format!("`{symbol}` between {} and {}{remedy}", left.name(), right.name()))
}
