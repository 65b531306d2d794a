//! Evaluation of a formula. Every part that is computed costs a step, and the steps are counted; the depth is that of
//! the tree. `arrays` holds the functions.

mod arrays;

use super::STEPS_MAX;
use super::error::FormulaFault;
use super::tree::{Binary, Node, NodeKind, Order, Step, Unary};
use super::value::{Value, arithmetic, compare, equal};

/// The value of one trigger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Input {
    Number(f64),
    Nil,
    /// The caller gave no value.
    Missing,
}

pub(super) fn evaluate(root: &Node, inputs: &[Input]) -> Result<Value, FormulaFault> {
    Machine { inputs, lets: Vec::new(), frames: Vec::new(), steps_left: STEPS_MAX }.value(root)
}

struct Machine<'i> {
    inputs: &'i [Input],
    lets: Vec<Value>,
    frames: Vec<Frame>,
    steps_left: usize,
}

/// Where a function is in its array.
struct Frame {
    item: Value,
    index: usize,
    accumulator: Value,
}

impl Machine<'_> {
    fn spend(&mut self, steps: usize, at: usize) -> Result<(), FormulaFault> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or_else(|| {
            FormulaFault::new(at, format!("takes more than {STEPS_MAX} steps; do less for each element of an array"))
        })?;
        Ok(())
    }

    fn value(&mut self, node: &Node) -> Result<Value, FormulaFault> {
        self.spend(1, node.at)?;
        match &node.kind {
            NodeKind::Nil => Ok(Value::Nil),
            NodeKind::Bool(value) => Ok(Value::Bool(*value)),
            NodeKind::Int(number) => Ok(Value::Int(*number)),
            NodeKind::Float(number) => Ok(Value::Float(*number)),
            NodeKind::Text(text) => Ok(Value::Text(text.clone())),
            NodeKind::Trigger(index) => self.input(*index, node.at),
            NodeKind::Local(slot) => Ok(self.lets.get(*slot).cloned().unwrap_or(Value::Nil)),
            NodeKind::Item => Ok(self.frame(|frame| frame.item.clone())),
            NodeKind::Index => Ok(self.frame(|frame| Value::Int(i64::try_from(frame.index).unwrap_or(i64::MAX)))),
            NodeKind::Accumulator => Ok(self.frame(|frame| frame.accumulator.clone())),
            NodeKind::Array(nodes) => self.array(nodes, node.at),
            NodeKind::Unary(unary, operand) => self.unary(*unary, operand),
            NodeKind::Chain(first, steps) => self.chain(first, steps),
            NodeKind::Compare(first, rest) => self.comparison(first, rest, node.at),
            NodeKind::If(nodes) => self.conditional(nodes),
            NodeKind::Let(nodes) => self.binding(nodes),
            NodeKind::At(nodes) => self.element(nodes),
            NodeKind::Slice(array, ends) => self.slice(array, ends, node.at),
            NodeKind::Call(function, arguments) => self.call(*function, arguments, node.at),
        }
    }

    fn input(&self, index: usize, at: usize) -> Result<Value, FormulaFault> {
        match self.inputs.get(index) {
            Some(Input::Number(number)) => Ok(Value::Float(*number)),
            Some(Input::Nil) => Ok(Value::Nil),
            Some(Input::Missing) | None => Err(FormulaFault::new(at, "no value was read for this trigger")),
        }
    }

    fn frame(&self, get: impl Fn(&Frame) -> Value) -> Value {
        self.frames.last().map_or(Value::Nil, get)
    }

    fn array(&mut self, nodes: &[Node], at: usize) -> Result<Value, FormulaFault> {
        let items = nodes.iter().map(|node| self.value(node)).collect::<Result<Vec<_>, _>>()?;
        Value::array(items, at)
    }

    fn unary(&mut self, unary: Unary, operand: &Node) -> Result<Value, FormulaFault> {
        let value = self.value(operand)?;
        match (unary, &value) {
            (Unary::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
            (Unary::Plus, Value::Int(_) | Value::Float(_)) => Ok(value),
            (Unary::Minus, Value::Float(number)) => Ok(Value::Float(-number)),
            (Unary::Minus, Value::Int(number)) => {
                let negated = number.checked_neg();
                negated.map(Value::Int).ok_or_else(|| FormulaFault::range(operand.at, "is too large a whole number"))
            }
            (Unary::Not, _) => Err(FormulaFault::new(operand.at, format!("`not` needs a bool, not {}", value.name()))),
            _ => Err(FormulaFault::new(operand.at, format!("a sign needs a number, not {}", value.name()))),
        }
    }

    fn chain(&mut self, first: &Node, steps: &[Step]) -> Result<Value, FormulaFault> {
        let mut left = self.value(first)?;
        for step in steps {
            left = self.step(left, step)?;
        }
        Ok(left)
    }

    /// One operator. `&&`, `||` and `??` evaluate the right side only when they must.
    fn step(&mut self, left: Value, step: &Step) -> Result<Value, FormulaFault> {
        match (step.op, &left) {
            (Binary::Coalesce, Value::Nil) => return self.value(&step.right),
            (Binary::Coalesce, _) => return Ok(left),
            (Binary::And, Value::Bool(false)) | (Binary::Or, Value::Bool(true)) => return Ok(left),
            _ => {}
        }
        let right = self.value(&step.right)?;
        match (step.op, &left, &right) {
            (Binary::And | Binary::Or, Value::Bool(_), Value::Bool(_)) => Ok(right),
            (Binary::And | Binary::Or, ..) => {
                let problem = format!("`{}` between {} and {}", step.op.symbol(), left.name(), right.name());
                Err(FormulaFault::new(step.at, problem))
            }
            (Binary::Equal | Binary::NotEqual, ..) => {
                self.spend(left.size(), step.at)?;
                Ok(Value::Bool(equal(&left, &right) == (step.op == Binary::Equal)))
            }
            (Binary::In | Binary::NotIn, ..) => {
                let found = self.contains(&left, &right, step.at)?;
                Ok(Value::Bool(found == (step.op == Binary::In)))
            }
            (op, left, right) => arithmetic(left, op, right, step.at),
        }
    }

    fn contains(&mut self, wanted: &Value, array: &Value, at: usize) -> Result<bool, FormulaFault> {
        match array {
            Value::Array(array) => {
                self.spend(array.items.len().saturating_mul(wanted.size()), at)?;
                Ok(array.items.iter().any(|item| equal(item, wanted)))
            }
            // Nothing is in nil.
            Value::Nil => Ok(false),
            other => Err(FormulaFault::new(at, format!("`in` needs an array, not {}", other.name()))),
        }
    }

    fn comparison(&mut self, first: &Node, rest: &[(Order, Node)], at: usize) -> Result<Value, FormulaFault> {
        let mut left = self.value(first)?;
        for (order, node) in rest {
            let right = self.value(node)?;
            if !compare(&left, *order, &right, at)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    fn conditional(&mut self, [condition, yes, no]: &[Node; 3]) -> Result<Value, FormulaFault> {
        if self.truth(condition)? { self.value(yes) } else { self.value(no) }
    }

    fn truth(&mut self, condition: &Node) -> Result<bool, FormulaFault> {
        match self.value(condition)? {
            Value::Bool(truth) => Ok(truth),
            other => Err(FormulaFault::new(
                condition.at,
                format!("needs a condition here, as `a > 0` is, not {}", other.name()),
            )),
        }
    }

    fn binding(&mut self, [value, body]: &[Node; 2]) -> Result<Value, FormulaFault> {
        let value = self.value(value)?;
        self.lets.push(value);
        let result = self.value(body);
        self.lets.pop();
        result
    }

    fn element(&mut self, [array, index]: &[Node; 2]) -> Result<Value, FormulaFault> {
        let values = self.items(array)?;
        let wanted = self.whole(index)?;
        let place = from_either_end(wanted, values.items.len()).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| values.items.get(place).cloned()).ok_or_else(|| {
            FormulaFault::new(index.at, format!("there is no element {wanted} in an array of {}", values.items.len()))
        })
    }

    fn slice(&mut self, array: &Node, [from, to]: &[Option<Box<Node>>; 2], at: usize) -> Result<Value, FormulaFault> {
        let values = self.items(array)?;
        let length = values.items.len();
        let mut end = |node: &Option<Box<Node>>, absent: usize| match node {
            None => Ok(absent),
            Some(node) => {
                let place = from_either_end(self.whole(node)?, length).unwrap_or(0).max(0);
                Ok(usize::try_from(place).unwrap_or(length).min(length))
            }
        };
        let to = end(to, length)?;
        let from = end(from, 0)?.min(to);
        self.spend(to - from, at)?;
        Value::array(values.items[from..to].to_vec(), at)
    }

    fn whole(&mut self, node: &Node) -> Result<i64, FormulaFault> {
        match self.value(node)? {
            Value::Int(number) => Ok(number),
            other => Err(FormulaFault::new(
                node.at,
                format!("needs a whole number here, not {}; use `int(…)`", other.name()),
            )),
        }
    }
}

/// Places below zero count from the end.
fn from_either_end(place: i64, length: usize) -> Option<i64> {
    if place >= 0 { Some(place) } else { place.checked_add(i64::try_from(length).ok()?) }
}
