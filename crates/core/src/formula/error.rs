//! What is wrong with a formula, and where.

/// The longest piece of a formula that an error repeats.
const SHOWN_MAX: usize = 120;

/// Why a formula cannot be used, or gave no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("formula `{formula}`: {problem} (at {line}:{column})")]
pub struct FormulaError {
    /// The formula, cut short where it is long.
    pub formula: String,
    /// What is wrong, the word that is meant, and the remedy.
    pub problem: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
}

/// A problem at a byte of the text, while the text itself is out of sight.
#[derive(Debug)]
pub(super) struct FormulaFault {
    pub(super) at: usize,
    pub(super) problem: String,
    pub(super) cause: Cause,
}

/// Whether other values of the triggers could do better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Formula,
    /// A number too large, or none, where a whole number is needed.
    Range,
}

impl FormulaFault {
    pub(super) fn new(at: usize, problem: impl Into<String>) -> Self {
        Self { at, problem: problem.into(), cause: Cause::Formula }
    }

    pub(super) fn range(at: usize, problem: impl Into<String>) -> Self {
        Self { at, problem: problem.into(), cause: Cause::Range }
    }

    pub(super) fn in_text(self, text: &str) -> FormulaError {
        let before = text.get(..self.at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        FormulaError {
            formula: shown(text),
            problem: self.problem,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
