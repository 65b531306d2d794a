//! The validator: schema, admission rules and advice, applied to one object with all others as neighbours.

use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_api::scaled_job::ScaledJob;
use kedge_api::{ScaledObject, names};
use kedge_scalers::http::connector::Connector;
use kedge_scalers::{NoCluster, Registry, Settings, TriggerConfig, registry};
use kedge_webhooks::index::Index;
use kedge_webhooks::nearest::nearest;
use kedge_webhooks::rules::authentication::Scope;
use kedge_webhooks::rules::replicas::MIN_ABOVE_MAX;
use kedge_webhooks::rules::{self as admission, Run};
use kedge_webhooks::violation::{FieldPath, Rule, Severity, Violation};
use serde_json::Value;

use super::advice;
use super::credentials::KnownCredentials;
use super::schema::{KindSchemas, SCHEMA, SchemaCheck};

pub(crate) static UNKNOWN_API_VERSION: Rule = Rule {
    id: "unknown-api-version",
    severity: Severity::Error,
    about: "the apiVersion is missing or unknown",
    counted_as: None,
};

pub(crate) static UNKNOWN_KIND: Rule =
    Rule { id: "unknown-kind", severity: Severity::Error, about: "keda.sh has no such kind", counted_as: None };

/// The API group of KEDA 1.
const OLD_GROUP: &str = "keda.k8s.io";

/// The API group of KEDA's event sources.
const EVENTING_GROUP: &str = "eventing.keda.sh";

/// What is expensive to build and the same for all objects.
#[derive(Debug)]
pub(crate) struct ValidationContext {
    schemas: KindSchemas,
    registry: Registry,
}

impl ValidationContext {
    pub(crate) fn new() -> Self {
        let registry = Registry::new(Settings::default(), Connector::tcp(), std::sync::Arc::new(NoCluster));
        Self { schemas: KindSchemas::new(), registry }
    }
}

/// Validates objects, each with all others as neighbours.
#[derive(Debug)]
pub(crate) struct Validator<'t> {
    context: &'t ValidationContext,
    index: Index,
    credentials: KnownCredentials,
}

impl<'t> Validator<'t> {
    /// A validator that has these objects as neighbours.
    pub(crate) fn with_objects<'o>(context: &'t ValidationContext, objects: impl Iterator<Item = &'o Value>) -> Self {
        let (index, mut credentials) = (Index::default(), KnownCredentials::default());
        objects.for_each(|object| {
            index.add(object);
            credentials.add(object);
        });
        Self { context, index, credentials }
    }

    /// All violations of an object; none for a kind that is not of KEDA.
    pub(crate) fn validate(&self, object: &Value) -> Option<Vec<Violation>> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let is_keda_kind = self.context.schemas.kinds().any(|known| known == kind);
        match group {
            names::GROUP if version == names::VERSION && is_keda_kind => Some(self.validate_kind(kind, object)),
            names::GROUP if version == names::VERSION => Some(vec![self.unknown_kind(kind)]),
            names::GROUP => Some(vec![unknown_version(api_version)]),
            EVENTING_GROUP => Some(vec![advice::unsupported_kind(kind)]),
            // Other groups may have kinds of the same name.
            "" | OLD_GROUP if is_keda_kind => Some(vec![unknown_version(api_version)]),
            _ => None,
        }
    }

    /// Applies the rules also to an object that violates its schema, if it can be decoded: all violations are reported at once.
    fn validate_kind(&self, kind: &str, object: &Value) -> Vec<Violation> {
        let Some(SchemaCheck { mut violations, object }) = self.context.schemas.check(kind, object) else {
            return Vec::new();
        };
        let is_valid = violations.iter().all(|violation| violation.rule != &SCHEMA);
        match self.apply(kind, &object) {
            Ok(found) => {
                violations.retain(|violation| !is_superseded(violation, &found));
                violations.extend(found);
            }
            Err(unreadable) if is_valid => violations.push(unreadable),
            Err(_) => {}
        }
        violations
    }

    fn apply(&self, kind: &str, object: &Value) -> Result<Vec<Violation>, Violation> {
        match kind {
            "ScaledObject" => {
                let object: ScaledObject = decode(object)?;
                let neighbours = self.index.neighbours(&object);
                let mut violations =
                    admission::scaled_object(&self.context.registry, &object, &[], &neighbours, Run::Real);
                violations.extend(self.authenticated_triggers(&object, &violations));
                violations.extend(advice::scaled_object(&object));
                Ok(violations)
            }
            "ScaledJob" => {
                let job: ScaledJob = decode(object)?;
                let mut violations = admission::scaled_job(&self.context.registry, &job, &[]);
                violations.extend(advice::scaled_job(&job));
                Ok(violations)
            }
            "TriggerAuthentication" => self.authentication(object, Scope::Namespace),
            "ClusterTriggerAuthentication" => self.authentication(object, Scope::Cluster),
            _ => Ok(Vec::new()),
        }
    }

    /// What admission cannot know: violations by triggers whose authentication is among the objects, beyond those that were found.
    fn authenticated_triggers(&self, object: &ScaledObject, found: &[Violation]) -> Vec<Violation> {
        let owner = admission::owner(object);
        let mut violations = Vec::new();
        for (index, trigger) in object.spec.triggers.iter().enumerate() {
            let known = registry::find(&trigger.r#type).and_then(|_| self.credentials.of(owner.namespace, trigger));
            let Some((auth, identity)) = known else { continue };
            let config = TriggerConfig::new(owner, index, trigger).authenticated(&auth, identity);
            violations.extend(admission::parameters::check_config(&self.context.registry, &config));
        }
        violations.retain(|violation| !found.iter().any(|other| other.path == violation.path));
        violations
    }

    fn unknown_kind(&self, kind: &str) -> Violation {
        let problem = format!("{}/{} has no kind {kind:?}", names::GROUP, names::VERSION);
        let remedy = match nearest(kind, self.context.schemas.kinds()) {
            Some(suggestion) => format!("write {suggestion}"),
            None => format!("use one of {}", self.context.schemas.kinds().collect::<Vec<_>>().join(", ")),
        };
        Violation::new(&UNKNOWN_KIND, FieldPath::new("kind"), problem, remedy)
    }

    fn authentication(&self, object: &Value, scope: Scope) -> Result<Vec<Violation>, Violation> {
        let spec: TriggerAuthenticationSpec = decode(&object["spec"])?;
        let mut violations = admission::authentication::check(&spec, scope);
        violations.extend(advice::authentication(&spec));
        Ok(violations)
    }
}

/// Whether a rule reports the same field with a better remedy.
fn is_superseded(violation: &Violation, found: &[Violation]) -> bool {
    let same_field = |other: &Violation| other.rule.severity == Severity::Error && other.path == violation.path;
    // The schema reports these bounds for the spec, not for the field.
    let is_of_bounds =
        violation.path == FieldPath::new("spec") && violation.problem.contains("minReplicaCount must be less");
    let are_bounds_reported = found.iter().any(|other| other.rule == &MIN_ABOVE_MAX);
    violation.rule == &SCHEMA && (found.iter().any(same_field) || is_of_bounds && are_bounds_reported)
}

fn decode<T: serde::de::DeserializeOwned>(object: &Value) -> Result<T, Violation> {
    T::deserialize(object).map_err(|error| {
        Violation::new(&SCHEMA, FieldPath::default(), format!("cannot be read: {error}"), "correct it")
    })
}

fn unknown_version(api_version: &str) -> Violation {
    let problem = match api_version {
        "" => "is missing".to_owned(),
        version => format!("no cluster serves {version}"),
    };
    let remedy = format!("write {}/{}", names::GROUP, names::VERSION);
    Violation::new(&UNKNOWN_API_VERSION, FieldPath::new("apiVersion"), problem, remedy)
}
