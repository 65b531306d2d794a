//! How one flag or variable is read: its text becomes a value, or its mistake is noted and reading goes on.

use kedge_scalers::Ambient;
use kedge_scalers::metadata::convert::{Converted, Flaw};

use super::Environment;

/// Reads, and notes every mistake.
pub(super) struct Reader<'a> {
    environment: &'a Environment,
    problems: Vec<String>,
    warnings: Vec<String>,
}

/// A mistake in the words in which it is told.
fn describe(name: &str, text: &str, flaw: &Flaw) -> String {
    format!("{name} `{text}` {}; {}", flaw.problem, flaw.remedy)
}

impl<'a> Reader<'a> {
    pub(super) fn new(environment: &'a Environment) -> Self {
        Self { environment, problems: Vec::new(), warnings: Vec::new() }
    }

    /// The value of a flag, or nothing and a note.
    pub(super) fn flag<T>(&mut self, name: &str, text: &str, convert: impl Fn(&str) -> Converted<T>) -> Option<T> {
        self.convert(name, text, convert)
    }

    /// The value of a variable; nothing if it is not set or empty, or with a note if its text is no such value.
    pub(super) fn variable<T>(&mut self, name: &str, convert: impl Fn(&str) -> Converted<T>) -> Option<T> {
        let text = self.text(name)?;
        self.convert(name, &text, convert)
    }

    /// As `variable`, for those whose mistakes KEDA only logs: so do we.
    pub(super) fn lenient<T>(&mut self, name: &str, convert: impl Fn(&str) -> Converted<T>) -> Option<T> {
        let text = self.text(name)?;
        match convert(&text) {
            Ok(value) => Some(value),
            Err(flaw) => {
                self.warn(describe(name, &text, &flaw));
                None
            }
        }
    }

    /// A variable as it is, if it is set and not empty.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.environment.get(name).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Who this process is to the clouds.
    pub(super) fn ambient(&self) -> Ambient {
        self.environment.ambient()
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.environment.get(name).is_some()
    }

    pub(super) fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    pub(super) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// The warnings, or all mistakes.
    pub(super) fn finish(self) -> Result<Vec<String>, Vec<String>> {
        if self.problems.is_empty() { Ok(self.warnings) } else { Err(self.problems) }
    }

    fn convert<T>(&mut self, name: &str, text: &str, convert: impl Fn(&str) -> Converted<T>) -> Option<T> {
        match convert(text) {
            Ok(value) => Some(value),
            Err(flaw) => {
                self.problem(describe(name, text, &flaw));
                None
            }
        }
    }
}
