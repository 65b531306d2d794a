//! What a rule says of an object: which rule, how bad it is, which field, what is wrong, and what to do about it.
//!
//! Admission denies what is an error and warns of what is a warning; `kedge lint` tells all three.

use std::fmt;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It cannot work: admission denies it.
    Error,
    /// It is legal, but does not do what it seems to: admission warns of it.
    Warning,
    /// It works; there is something better. Only `kedge lint` says so.
    Advice,
}

/// One rule: a constant of the module that applies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Stable, in kebab case: people name it in settings and search for it.
    pub id: &'static str,
    pub severity: Severity,
    /// One sentence for the list of rules.
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

/// Where in an object: the field itself, or, if it is missing, where it should stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(pub Vec<Step>);

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static Rule,
    pub path: FieldPath,
    /// What is wrong. Where KEDA has words for it that people search for, it begins with those.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    pub fn new(rule: &'static Rule, path: FieldPath, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { rule, path, problem: problem.into(), remedy: remedy.into() }
    }
}

impl FieldPath {
    /// From keys joined by dots: `spec.advanced.horizontalPodAutoscalerConfig.name`.
    pub fn of(keys: &str) -> Self {
        Self(keys.split('.').filter(|key| !key.is_empty()).map(|key| Step::Key(key.to_owned())).collect())
    }

    /// One key further, taken as it is, dots included.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.push(Step::Key(key.into()));
        self
    }

    /// One entry of a list further.
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

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.problem, self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_people_write_it() {
        let path = FieldPath::of("spec.triggers").index(2).key("metadata").key("start");
        assert_eq!(path.to_string(), "spec.triggers[2].metadata.start");
        let annotation = FieldPath::of("metadata.annotations").key("autoscaling.keda.sh/paused");
        assert_eq!(annotation.to_string(), "metadata.annotations[\"autoscaling.keda.sh/paused\"]");
    }
}
