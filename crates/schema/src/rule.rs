//! One rule of `x-kubernetes-validations`, compiled. `rules` compiles and evaluates it.

use cel::Program;

/// One rule, compiled as far as it can be.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) text: String,
    pub(super) message: String,
    pub(super) reason: String,
    /// The field that errors name, below the value of the rule.
    pub(super) field: Option<String>,
    pub(super) optional_old_self: bool,
    pub(super) uses_old_self: bool,
    pub(super) program: Result<Compiled, String>,
    pub(super) message_program: Option<Result<Compiled, String>>,
}

impl Rule {
    /// The errors of the rule and of its `messageExpression`.
    pub(super) fn violations(&self) -> (Option<&str>, Option<&str>) {
        let message = self.message_program.as_ref().and_then(|program| program.as_ref().err());
        (self.program.as_ref().err().map(String::as_str), message.map(String::as_str))
    }

    pub(super) fn depth(&self) -> usize {
        let programs = [Some(&self.program), self.message_program.as_ref()].into_iter().flatten().flatten();
        programs.map(|compiled| compiled.depth).max().unwrap_or(0)
    }

    pub(super) fn name(&self) -> &str {
        if self.message.is_empty() { &self.text } else { &self.message }
    }
}

/// An expression that can be run, and how many levels it has.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) program: Program,
    pub(super) depth: usize,
}
