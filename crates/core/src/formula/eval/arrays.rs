//! The functions.

use std::cmp::Ordering;
use std::rc::Rc;

use super::super::error::FormulaFault;
use super::super::tree::{Binary, Function, Node};
use super::super::value::{Array, Value, arithmetic};
use super::{Frame, Machine};

impl Machine<'_> {
    pub(super) fn call(&mut self, function: Function, arguments: &[Node], at: usize) -> Result<Value, FormulaFault> {
        use Function::*;
        let [first, rest @ ..] = arguments else { return Err(FormulaFault::new(at, "needs an argument")) };
        match function {
            Abs | Ceil | Floor | Round | Float | Int => {
                let value = self.value(first)?;
                rounded(function, &value, first.at)
            }
            Min | Max | Mean | Median => self.aggregate(function, arguments, at),
            Concat | Flatten => self.joined(function, arguments, at),
            All | Any | NoneOf | One | Count => self.counted(function, first, rest.first()),
            Find | FindIndex | FindLast | FindLastIndex => self.found(function, first, rest),
            Filter | Map => self.transformed(function, first, rest, at),
            Sum => self.sum(first, rest.first(), at),
            Reduce => self.reduced(first, rest, at),
            SortBy => self.sorted_by(first, rest, at),
            First | Last | Len => {
                let values = self.items(first)?;
                Ok(match function {
                    First => values.items.first().cloned().unwrap_or(Value::Nil),
                    Last => values.items.last().cloned().unwrap_or(Value::Nil),
                    _ => Value::Int(i64::try_from(values.items.len()).unwrap_or(i64::MAX)),
                })
            }
            Reverse | Sort | Take => self.reordered(function, first, rest.first(), at),
        }
    }

    /// The elements of an array, each of which will cost a step.
    pub(super) fn items(&mut self, node: &Node) -> Result<Rc<Array>, FormulaFault> {
        match self.value(node)? {
            Value::Array(array) => {
                self.spend(array.items.len(), node.at)?;
                Ok(array)
            }
            other => {
                Err(FormulaFault::new(node.at, format!("needs an array here, as in `[a, b]`, not {}", other.name())))
            }
        }
    }

    /// What a closure gives for one element.
    fn each(&mut self, body: &Node, item: &Value, index: usize, accumulator: Value) -> Result<Value, FormulaFault> {
        self.frames.push(Frame { item: item.clone(), index, accumulator });
        let result = self.value(body);
        self.frames.pop();
        result
    }

    fn holds(&mut self, body: &Node, item: &Value, index: usize) -> Result<bool, FormulaFault> {
        let found = self.each(body, item, index, Value::Nil)?;
        truth(&found, body.at)
    }

    /// `all any none one count`
    fn counted(&mut self, function: Function, array: &Node, body: Option<&Node>) -> Result<Value, FormulaFault> {
        let values = self.items(array)?;
        let mut count = 0;
        for (index, item) in values.items.iter().enumerate() {
            let holds = match body {
                Some(body) => self.holds(body, item, index)?,
                None => truth(item, array.at)?,
            };
            count += usize::from(holds);
            let settled = match function {
                Function::All => !holds,
                Function::Any | Function::NoneOf => holds,
                _ => false,
            };
            if settled {
                break;
            }
        }
        Ok(match function {
            Function::All => Value::Bool(count == values.items.len()),
            Function::Any => Value::Bool(count > 0),
            Function::NoneOf => Value::Bool(count == 0),
            Function::One => Value::Bool(count == 1),
            _ => Value::Int(i64::try_from(count).unwrap_or(i64::MAX)),
        })
    }

    /// `find findIndex findLast findLastIndex`
    fn found(&mut self, function: Function, array: &Node, rest: &[Node]) -> Result<Value, FormulaFault> {
        let values = self.items(array)?;
        let [body, ..] = rest else { return Err(FormulaFault::new(array.at, "needs a condition")) };
        let from_the_end = matches!(function, Function::FindLast | Function::FindLastIndex);
        for step in 0..values.items.len() {
            let index = if from_the_end { values.items.len() - 1 - step } else { step };
            let item = &values.items[index];
            if self.holds(body, item, index)? {
                return Ok(match function {
                    Function::Find | Function::FindLast => item.clone(),
                    _ => Value::Int(i64::try_from(index).unwrap_or(i64::MAX)),
                });
            }
        }
        Ok(Value::Nil)
    }

    /// `filter map`
    fn transformed(
        &mut self,
        function: Function,
        array: &Node,
        rest: &[Node],
        at: usize,
    ) -> Result<Value, FormulaFault> {
        let values = self.items(array)?;
        let [body, ..] = rest else { return Err(FormulaFault::new(at, "needs something to do with each element")) };
        let mut items = Vec::new();
        for (index, item) in values.items.iter().enumerate() {
            if function == Function::Map {
                items.push(self.each(body, item, index, Value::Nil)?);
            } else if self.holds(body, item, index)? {
                items.push(item.clone());
            }
        }
        Value::array(items, at)
    }

    fn sum(&mut self, array: &Node, body: Option<&Node>, at: usize) -> Result<Value, FormulaFault> {
        let values = self.items(array)?;
        let mut sum = Value::Int(0);
        for (index, item) in values.items.iter().enumerate() {
            let amount = match body {
                Some(body) => self.each(body, item, index, Value::Nil)?,
                None => item.clone(),
            };
            sum = arithmetic(&sum, Binary::Add, &amount, at)?;
        }
        Ok(sum)
    }

    fn reduced(&mut self, array: &Node, rest: &[Node], at: usize) -> Result<Value, FormulaFault> {
        let values = self.items(array)?;
        let [body, initial @ ..] = rest else {
            return Err(FormulaFault::new(at, "needs something to do with each element"));
        };
        let (mut accumulator, begin) = match (initial.first(), values.items.first()) {
            (Some(initial), _) => (self.value(initial)?, 0),
            (None, Some(first)) => (first.clone(), 1),
            (None, None) => {
                return Err(FormulaFault::new(at, "the array is empty; give `reduce` a third argument to begin with"));
            }
        };
        for (index, item) in values.items.iter().enumerate().skip(begin) {
            accumulator = self.each(body, item, index, accumulator)?;
        }
        Ok(accumulator)
    }

    fn sorted_by(&mut self, array: &Node, rest: &[Node], at: usize) -> Result<Value, FormulaFault> {
        let values = self.items(array)?;
        let [body, order @ ..] = rest else { return Err(FormulaFault::new(at, "needs something to sort by")) };
        let mut keyed = Vec::new();
        for (index, item) in values.items.iter().enumerate() {
            let key = self.each(body, item, index, Value::Nil)?;
            keyed.push((number(&key, body.at)?, item.clone()));
        }
        let items = self.sorted(keyed, order.first(), at)?;
        Value::array(items, at)
    }

    /// `reverse sort take`
    fn reordered(
        &mut self,
        function: Function,
        array: &Node,
        option: Option<&Node>,
        at: usize,
    ) -> Result<Value, FormulaFault> {
        let values = self.items(array)?;
        let items = match (function, option) {
            (Function::Take, Some(count)) => {
                let count = self.whole(count)?;
                let count = usize::try_from(count)
                    .map_err(|_| FormulaFault::new(at, format!("cannot take {count} elements")))?;
                values.items.iter().take(count).cloned().collect()
            }
            (Function::Sort, order) => {
                let keyed: Result<Vec<_>, _> =
                    values.items.iter().map(|item| Ok((number(item, array.at)?, item.clone()))).collect();
                self.sorted(keyed?, order, at)?
            }
            _ => values.items.iter().rev().cloned().collect(),
        };
        Value::array(items, at)
    }

    fn sorted(
        &mut self,
        mut keyed: Vec<(f64, Value)>,
        order: Option<&Node>,
        at: usize,
    ) -> Result<Vec<Value>, FormulaFault> {
        let comparisons = keyed.len().saturating_mul(keyed.len().max(1).ilog2() as usize);
        self.spend(comparisons, at)?;
        let order: fn(&f64, &f64) -> Ordering = match order.map(|order| self.value(order)).transpose()? {
            None => f64::total_cmp,
            Some(Value::Text(order)) if *order == *"asc" => f64::total_cmp,
            Some(Value::Text(order)) if *order == *"desc" => |a, b| b.total_cmp(a),
            Some(_) => return Err(FormulaFault::new(at, "the order is \"asc\" or \"desc\"")),
        };
        keyed.sort_by(|(a, _), (b, _)| order(a, b));
        Ok(keyed.into_iter().map(|(_, item)| item).collect())
    }

    /// `concat flatten`
    fn joined(&mut self, function: Function, arguments: &[Node], at: usize) -> Result<Value, FormulaFault> {
        let mut items = Vec::new();
        for argument in arguments {
            let values = self.items(argument)?;
            for item in &values.items {
                if function == Function::Flatten {
                    self.spend(item.size(), at)?;
                    flatten(item, &mut items);
                } else {
                    items.push(item.clone());
                }
            }
        }
        Value::array(items, at)
    }

    /// `min max mean median`, over numbers and arrays of them, however mixed.
    fn aggregate(&mut self, function: Function, arguments: &[Node], at: usize) -> Result<Value, FormulaFault> {
        let mut numbers = Vec::new();
        for argument in arguments {
            let value = self.value(argument)?;
            self.spend(value.size(), at)?;
            flatten(&value, &mut numbers);
        }
        let floats: Vec<f64> = numbers.iter().map(|value| number(value, at)).collect::<Result<_, _>>()?;
        Ok(match function {
            Function::Min => extreme(&numbers, |best, other| other < best),
            Function::Max => extreme(&numbers, |best, other| other > best),
            Function::Mean if floats.is_empty() => Value::Float(0.0),
            Function::Mean => Value::Float(floats.iter().sum::<f64>() / floats.len() as f64),
            _ => Value::Float(median(floats)),
        })
    }
}

fn truth(value: &Value, at: usize) -> Result<bool, FormulaFault> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        other => Err(FormulaFault::new(at, format!("needs a condition here, as `# > 1` is, not {}", other.name()))),
    }
}

fn number(value: &Value, at: usize) -> Result<f64, FormulaFault> {
    value.as_f64().ok_or_else(|| {
        let remedy = if matches!(value, Value::Nil) { "; leave nil out first, with `filter` or `??`" } else { "" };
        FormulaFault::new(at, format!("needs numbers here, not {}{remedy}", value.name()))
    })
}

fn rounded(function: Function, value: &Value, at: usize) -> Result<Value, FormulaFault> {
    let number = number(value, at)?;
    Ok(match (function, value) {
        (Function::Abs, Value::Int(whole)) => {
            Value::Int(whole.checked_abs().ok_or_else(|| FormulaFault::range(at, "is too large a whole number"))?)
        }
        (Function::Abs, _) => Value::Float(number.abs()),
        (Function::Ceil, _) => Value::Float(number.ceil()),
        (Function::Floor, _) => Value::Float(number.floor()),
        (Function::Round, _) => Value::Float(number.round()),
        (Function::Int, Value::Int(_)) => value.clone(),
        (Function::Int, _) if number.is_nan() => {
            return Err(FormulaFault::range(at, "is not a number, and so no whole one"));
        }
        // Cut towards zero; what does not fit is the nearest that does.
        (Function::Int, _) => Value::Int(number as i64),
        _ => Value::Float(number),
    })
}

/// All elements, of whatever depth.
fn flatten(value: &Value, into: &mut Vec<Value>) {
    match value {
        Value::Array(array) => array.items.iter().for_each(|item| flatten(item, into)),
        other => into.push(other.clone()),
    }
}

/// The first of the best; of none, nil. Whole numbers stay whole.
fn extreme(numbers: &[Value], better: fn(f64, f64) -> bool) -> Value {
    let mut best: Option<(f64, &Value)> = None;
    for value in numbers {
        let Some(number) = value.as_f64() else { continue };
        if best.is_none_or(|(best, _)| better(best, number)) {
            best = Some((number, value));
        }
    }
    best.map_or(Value::Nil, |(_, value)| value.clone())
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => 0.0,
        length if length % 2 == 1 => numbers[middle],
        _ => (numbers[middle - 1] + numbers[middle]) / 2.0,
    }
}
