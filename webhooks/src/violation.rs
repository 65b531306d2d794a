//! What a rule reports of an object: the rule, its severity, the field, the problem and a remedy.
//!
//! Admission denies errors and warns of warnings; `kedge lint` reports all three severities.

use std::fmt;

/// What a violation leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The object cannot work: admission denies it.
    Error,
    /// The object is valid, but a setting has not the effect that it seems to have: admission warns of it.
    Warning,
    /// The object works and could be better. Only `kedge lint` reports it.
    Advice,
}

/// An admission or lint rule: a constant of the module that applies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Stable, in kebab case: `--ignore` takes it, and users search for it.
    pub id: &'static str,
    pub severity: Severity,
    /// One clause for the list of rules.
    pub about: &'static str,
    /// The `reason` under which KEDA's webhooks count a denial by it; none if they know no such rule.
    pub counted_as: Option<&'static str>,
}

/// One step into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Key(String),
    Index(usize),
}

/// The path of a field, present or missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(pub Vec<Step>);

/// A violated rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub rule: &'static Rule,
    pub path: FieldPath,
    /// What is wrong. It begins with KEDA's message where KEDA has one, so that a search finds both.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl Violation {
    pub fn new(rule: &'static Rule, path: FieldPath, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { rule, path, problem: problem.into(), remedy: remedy.into() }
    }
}

impl FieldPath {
    /// A path of keys joined by dots: `spec.advanced.horizontalPodAutoscalerConfig.name`.
    pub fn new(keys: &str) -> Self {
        Self(keys.split('.').filter(|key| !key.is_empty()).map(|key| Step::Key(key.to_owned())).collect())
    }

    /// Appends a key as it is, dots included.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.push(Step::Key(key.into()));
        self
    }

    /// Appends the index of a list entry.
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Step::Index(index));
        self
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if key.contains(['.', '[']) => write!(f, "[{key:?}]")?,
                Step::Key(key) if position == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.problem, self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_as_in_kubectl() {
        let path = FieldPath::new("spec.triggers").index(2).key("metadata").key("start");
        assert_eq!(path.to_string(), "spec.triggers[2].metadata.start");
        let annotation = FieldPath::new("metadata.annotations").key("autoscaling.keda.sh/paused");
        assert_eq!(annotation.to_string(), "metadata.annotations[\"autoscaling.keda.sh/paused\"]");
    }
}
