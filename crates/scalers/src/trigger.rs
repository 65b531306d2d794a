//! What a scaler is built from: one trigger of an object with everything that it refers to; and all errors in it as one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use kedge_api::authentication::PodIdentity;
use kedge_api::trigger::Trigger;
pub use kedge_core::environment::Environment;
pub use kedge_core::secret::Secret;

/// One trigger of an object. [`TriggerConfig::new`] knows the manifest alone; [`TriggerConfig::resolved`] adds what the
/// caller resolved.
#[derive(Clone, Copy, Debug)]
pub struct TriggerConfig<'a> {
    /// The position in `spec.triggers`.
    pub index: usize,
    pub trigger_type: &'a str,
    pub name: Option<&'a str>,
    pub metadata: &'a BTreeMap<String, String>,
    pub auth: &'a AuthParams,
    /// The environment of the target's container.
    pub environment: &'a Environment,
    pub metric_type: Option<&'a str>,
    /// The namespace of the object.
    pub namespace: &'a str,
    /// The name of the object.
    pub object: &'a str,
    /// The pod identity of the authentication.
    pub pod_identity: Option<&'a PodIdentity>,
    pub role: Role,
    pub resolution: Resolution,
}

/// The object that a trigger belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    /// What the values of its triggers are for.
    pub role: Role,
}

/// How much of what a trigger refers to is resolved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// Authentication and environment are resolved: a scaler can be built.
    #[default]
    Complete,
    /// Only manifests are known, and no authentication gives more than they do.
    ManifestWithoutAuthentication,
    /// Only the manifest is known. It refers to an authentication, which may give any parameter.
    ManifestWithAuthentication,
}

static NO_PARAMETERS: AuthParams = AuthParams(BTreeMap::new());
static NO_VARIABLES: LazyLock<Environment> = LazyLock::new(Environment::default);

impl<'a> TriggerConfig<'a> {
    /// The trigger at `index` of an object, as its manifest gives it.
    pub fn new(owner: Owner<'a>, index: usize, trigger: &'a Trigger) -> Self {
        Self {
            index,
            trigger_type: &trigger.r#type,
            name: trigger.name.as_deref(),
            metadata: &trigger.metadata,
            auth: &NO_PARAMETERS,
            environment: &NO_VARIABLES,
            metric_type: trigger.metric_type.as_deref(),
            namespace: owner.namespace,
            object: owner.name,
            pod_identity: None,
            role: owner.role,
            resolution: match trigger.authentication_ref {
                Some(_) => Resolution::ManifestWithAuthentication,
                None => Resolution::ManifestWithoutAuthentication,
            },
        }
    }

    /// The same trigger with its authentication; the environment of the target is not known.
    pub fn authenticated(self, auth: &'a AuthParams, pod_identity: Option<&'a PodIdentity>) -> Self {
        Self { auth, pod_identity, resolution: Resolution::ManifestWithoutAuthentication, ..self }
    }

    /// The same trigger with everything that it refers to.
    pub fn resolved(
        self,
        auth: &'a AuthParams,
        environment: &'a Environment,
        pod_identity: Option<&'a PodIdentity>,
    ) -> Self {
        Self { auth, environment, pod_identity, resolution: Resolution::Complete, ..self }
    }
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

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same parameters, with others in place of those of the same name.
    #[must_use]
    pub fn overridden_by(mut self, others: &Self) -> Self {
        self.0.extend(others.0.clone());
        self
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for AuthParams {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(params: I) -> Self {
        Self(params.into_iter().map(|(name, value)| (name.into(), Secret::new(value))).collect())
    }
}

/// An invalid or missing parameter of a trigger, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    pub field: String,
    pub problem: String,
    pub remedy: String,
}

impl FieldError {
    pub fn new(field: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}; {}", self.field, self.problem, self.remedy)
    }
}

/// A trigger that no scaler can be built from, with all of its errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    pub index: usize,
    pub trigger_type: String,
    pub errors: Vec<FieldError>,
}

impl BuildError {
    pub fn new(trigger: &TriggerConfig<'_>, errors: Vec<FieldError>) -> Self {
        Self { index: trigger.index, trigger_type: trigger.trigger_type.to_owned(), errors }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trigger {} ({}): ", self.index, self.trigger_type)?;
        for (position, error) in self.errors.iter().enumerate() {
            let joint = if position == 0 { "" } else { ", and " };
            write!(f, "{joint}{error}")?;
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
    fn a_build_error_names_the_trigger_and_every_field() {
        let error = BuildError {
            index: 2,
            trigger_type: "cron".to_owned(),
            errors: vec![
                FieldError::new("start", "is missing", "add it"),
                FieldError::new("end", "is wrong", "correct it"),
            ],
        };
        assert_eq!(error.to_string(), "trigger 2 (cron): `start` is missing; add it, and `end` is wrong; correct it");
    }
}
