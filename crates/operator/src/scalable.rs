//! The kind-neutral view of an object that Kedge scales: as much as building its scalers needs, whatever its kind.

use std::collections::BTreeMap;
use std::time::Duration;

use kedge_api::scaled_object::{Fallback, HealthStatus, ScaledObjectSpec};
use kedge_api::trigger::Trigger;
use kedge_api::{ScaledJob, ScaledObject};
use kedge_cluster::ObjectKey;
use kedge_core::fallback::{Failures, usable_fallback};
use kedge_core::formula::settings::{self, Composite};
use kedge_core::policy::{left_to_hpa, polling_interval};
use kedge_scalers::registry;

/// An object with triggers.
#[derive(Clone, Debug)]
pub struct Scalable<'a> {
    pub key: ObjectKey,
    pub uid: Option<&'a str>,
    pub generation: Option<i64>,
    pub polling_interval: Duration,
    /// Whether the HPA alone decides about replicas while it scales.
    pub is_left_to_hpa: bool,
    pub triggers: &'a [Trigger],
    /// The fallback, if its numbers are valid.
    pub fallback: Option<&'a Fallback>,
    /// Whether the object declares a fallback, valid or not.
    pub declares_fallback: bool,
    /// The container whose variables the triggers refer to.
    pub env_source_container: Option<&'a str>,
    formula: Option<&'a ScaledObjectSpec>,
    health: Option<&'a BTreeMap<String, HealthStatus>>,
}

impl Scalable<'_> {
    /// Whether the triggers only feed a formula: then their own targets do not count.
    pub fn has_formula(&self) -> bool {
        self.formula.is_some()
    }

    /// The composite metric of a valid formula. It is parsed here and not with the view, which is made for every metric that is served.
    pub fn composite(&self) -> Option<Composite> {
        // A formula that cannot be parsed is reported by the validation, before anything is built.
        self.formula.and_then(|spec| settings::parse(spec, registry::class_of).unwrap_or_default())
    }

    /// The failures of a metric that the status records.
    pub fn recorded_failures(&self, metric: &str) -> Failures {
        let recorded = self.health.and_then(|health| health.get(metric));
        Failures(recorded.and_then(|health| health.number_of_failures).unwrap_or(0))
    }
}

impl<'a> From<&'a ScaledObject> for Scalable<'a> {
    fn from(object: &'a ScaledObject) -> Self {
        let (meta, spec) = (&object.metadata, &object.spec);
        Self {
            key: ObjectKey::from(object),
            uid: meta.uid.as_deref(),
            generation: meta.generation,
            polling_interval: polling_interval(spec.polling_interval),
            is_left_to_hpa: left_to_hpa(spec),
            triggers: &spec.triggers,
            fallback: usable_fallback(spec),
            declares_fallback: spec.fallback.is_some(),
            formula: settings::has_modifiers(spec).then_some(spec),
            env_source_container: spec.scale_target_ref.env_source_container_name.as_deref(),
            health: object.status.as_ref().and_then(|status| status.health.as_ref()),
        }
    }
}

impl<'a> From<&'a ScaledJob> for Scalable<'a> {
    fn from(object: &'a ScaledJob) -> Self {
        let (meta, spec) = (&object.metadata, &object.spec);
        Self {
            key: ObjectKey::from(object),
            uid: meta.uid.as_deref(),
            generation: meta.generation,
            polling_interval: polling_interval(spec.polling_interval),
            is_left_to_hpa: false,
            triggers: &spec.triggers,
            fallback: None,
            declares_fallback: false,
            formula: None,
            env_source_container: spec.env_source_container_name.as_deref(),
            health: None,
        }
    }
}
