//! Formulas of `advanced.scalingModifiers`: the values of several triggers made into one.
//!
//! The language is the part of expr 1.17 that is about numbers: arithmetic, comparison, logic, `? :`, `if`, `??`, `let`, arrays,
//! pipes, and functions over arrays. It is read and evaluated here, within fixed bounds of text, depth and steps, because
//! formulas are written by users and run in the process that scales for all namespaces.
//!
//! | module | what it holds |
//! |---|---|
//! | `lexer`, `parser`, `tree` | text to tokens to a tree, names resolved |
//! | `types` | the type of each part, without values |
//! | `eval`, `value` | the evaluation of the tree |
//! | [`settings`] | the fields of `scalingModifiers`, parsed |
//! | [`composite`] | the composite metric from readings, failures and the fallback |

pub mod composite;
mod error;
mod eval;
mod lexer;
mod parser;
pub mod settings;
mod tree;
mod types;
mod value;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use error::FormulaError;

use error::{Cause, FormulaFault};
use eval::Input;
use tree::Node;
use types::Type;
use value::Value;

/// The longest formula. A page of text; what needs more belongs into the query of a trigger.
pub const TEXT_MAX_BYTES: usize = 4096;

/// How deep parentheses, branches and calls may be nested. Where nothing is optimised, a level takes up to 10 KiB of stack, so
/// the deepest formula needs a third of the 2 MiB that worker threads have.
pub const NESTING_MAX: usize = 64;

/// How deep arrays may lie in arrays.
const ARRAYS_NESTED_MAX: usize = 8;

/// How many parts of a formula one evaluation may compute: a few milliseconds.
pub const STEPS_MAX: usize = 20_000;

/// KEDA: every trigger has this value in the trial run.
const TRIAL: f64 = -1.0;

/// A formula that was parsed, type-checked and tried.
#[derive(Clone, Debug)]
pub struct Formula {
    text: Arc<str>,
    root: Arc<Node>,
    /// All names it may mention, and whether it does.
    names: Vec<(String, Mention)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mention {
    Used,
    Unused,
}

/// What a formula gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// Also infinite or NaN: the caller decides what that means.
    Value(f64),
    Nil,
}

impl Formula {
    /// Parses a formula over triggers with these names, and tries it once with every value -1.
    pub fn compile(text: &str, names: &[&str]) -> Result<Formula, FormulaError> {
        compile(text, names).map_err(|fault| fault.in_text(text))
    }

    /// The value of the formula. `None` is nil: a trigger that has failed for so long that the formula must do without it.
    pub fn evaluate(&self, values: &BTreeMap<String, Option<f64>>) -> Result<Outcome, FormulaError> {
        let input = |name: &String| match values.get(name) {
            Some(Some(number)) => Input::Number(*number),
            Some(None) => Input::Nil,
            None => Input::Missing,
        };
        let inputs: Vec<Input> = self.names.iter().map(|(name, _)| input(name)).collect();
        self.run(&inputs).map_err(|fault| fault.in_text(&self.text))
    }

    /// The names that the formula mentions.
    pub fn mentioned(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter(|(_, mention)| *mention == Mention::Used).map(|(name, _)| name.as_str())
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    fn run(&self, inputs: &[Input]) -> Result<Outcome, FormulaFault> {
        match eval::evaluate(&self.root, inputs)? {
            Value::Nil => Ok(Outcome::Nil),
            value => value.as_f64().map(Outcome::Value).ok_or_else(|| not_a_number(value.name(), self.root.at)),
        }
    }
}

fn compile(text: &str, names: &[&str]) -> Result<Formula, FormulaFault> {
    let parsed = parser::parse(text, names)?;
    // KEDA: `float(…)` is put around the formula, unless it begins so or mentions `??`. Here a number of any type or
    // nil is allowed, so `float(a) > 1 ? 2 : 3` needs no exception and works.
    match types::type_of(&parsed.root)? {
        Type::Int | Type::Float | Type::Any => {}
        other => return Err(not_a_number(other.name(), parsed.root.at)),
    }
    let mention = |index| if parsed.mentioned.contains(&index) { Mention::Used } else { Mention::Unused };
    let names: Vec<_> = names.iter().enumerate().map(|(index, name)| ((*name).to_owned(), mention(index))).collect();
    let trial = vec![Input::Number(TRIAL); names.len()];
    let formula = Formula { text: text.into(), root: Arc::new(parsed.root), names };
    match formula.run(&trial) {
        // `int(a ** 0.5)` has no value at -1, and has one at 4.
        Err(fault) if fault.cause != Cause::Range => Err(FormulaFault {
            problem: format!("{}; found by trying it with every trigger at -1", fault.problem),
            ..fault
        }),
        _ => Ok(formula),
    }
}

fn not_a_number(found: &str, at: usize) -> FormulaFault {
    FormulaFault::new(at, format!("gives {found}, and must give a number; choose one with `… ? 1 : 0`"))
}

#[cfg(test)]
mod tests;
