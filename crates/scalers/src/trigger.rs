//! What a scaler is built from, and everything that can be wrong with it, in one error.

use std::collections::BTreeMap;
use std::fmt;

use kedge_api::authentication::PodIdentity;
pub use kedge_core::environment::Environment;
pub use kedge_core::secret::Secret;

/// What a scaler is built from: everything resolved by the caller.
#[derive(Clone, Copy, Debug)]
pub struct TriggerConfig<'a> {
    /// The position in `spec.triggers`.
    pub index: usize,
    /// The trigger type.
    pub kind: &'a str,
    pub name: Option<&'a str>,
    pub metadata: &'a BTreeMap<String, String>,
    pub auth: &'a AuthParams,
    /// The environment of the target's container.
    pub environment: &'a Environment,
    pub metric_type: Option<&'a str>,
    pub namespace: &'a str,
    /// The object that the trigger stands in.
    pub object: &'a str,
    /// The identity of a cloud, as authentication gave it.
    pub pod_identity: Option<&'a PodIdentity>,
    pub role: Role,
    pub knowledge: Knowledge,
}

/// How much of what a trigger needs is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Knowledge {
    /// Everything: authentication and environment have been resolved, and a scaler is wanted.
    #[default]
    Everything,
    /// What is written down, which refers to no authentication. The environment is yet to come, and nothing is made.
    Manifest,
    /// The same, but it refers to an authentication, which may give any parameter.
    ManifestWithAuthentication,
}

/// What the value of a trigger is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// The HPA compares it with the trigger's own target.
    #[default]
    Metric,
    /// Only a formula reads it; the formula has the target.
    FormulaInput,
}

/// The parameters that authentication gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthParams(BTreeMap<String, Secret>);

impl AuthParams {
    pub fn new(params: BTreeMap<String, Secret>) -> Self {
        Self(params)
    }

    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.0.get(name)
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for AuthParams {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(params: I) -> Self {
        Self(params.into_iter().map(|(name, value)| (name.into(), Secret::new(value))).collect())
    }
}

/// One mistake in a trigger, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub field: String,
    pub problem: String,
    pub remedy: String,
}

impl Problem {
    pub fn new(field: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}; {}", self.field, self.problem, self.remedy)
    }
}

/// A trigger that no scaler can be built from, with all of its mistakes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    pub index: usize,
    pub kind: String,
    pub problems: Vec<Problem>,
}

impl BuildError {
    pub fn new(trigger: &TriggerConfig<'_>, problems: Vec<Problem>) -> Self {
        Self { index: trigger.index, kind: trigger.kind.to_owned(), problems }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trigger {} ({}): ", self.index, self.kind)?;
        for (position, problem) in self.problems.iter().enumerate() {
            let joint = if position == 0 { "" } else { ", and " };
            write!(f, "{joint}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_itself() {
        let auth: AuthParams = [("token", "hunter2")].into_iter().collect();
        assert_eq!(format!("{auth:?}"), r#"AuthParams({"token": ***})"#);
        assert_eq!(auth.get("token").unwrap().reveal(), "hunter2");
    }

    #[test]
    fn a_build_error_names_the_trigger_and_every_problem() {
        let error = BuildError {
            index: 2,
            kind: "cron".to_owned(),
            problems: vec![
                Problem::new("start", "is missing", "add it"),
                Problem::new("end", "is wrong", "correct it"),
            ],
        };
        assert_eq!(error.to_string(), "trigger 2 (cron): `start` is missing; add it, and `end` is wrong; correct it");
    }
}
