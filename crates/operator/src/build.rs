//! Building the triggers of an object. One that cannot be built does not silence the others.

use std::sync::Arc;
use std::time::Duration;

use kedge_api::ScaledObject;
use kedge_api::trigger::Trigger;
use kedge_core::credentials::{Problem, identity};
use kedge_core::fallback::{Failures, is_usable};
use kedge_scalers::{Registry, TriggerConfig};
use tokio::time::Instant;

use crate::board::{BoardTrigger, BuiltScaler, ExternalMetric, ObjectBoard, Service};
use crate::credentials::{Credentials, Resolution, Resolved};
use crate::key::Key;
use crate::target::Target;
use crate::telemetry::Telemetry;

/// The pause before credentials that could not be read are tried again.
const AGAIN: Duration = Duration::from_secs(10);

/// What scalers are built with.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Workshop<'a> {
    pub registry: &'a Registry,
    pub telemetry: &'a Arc<Telemetry>,
    pub credentials: &'a Credentials,
}

/// A trigger as it came out.
enum Outcome {
    New(BoardTrigger),
    /// It is as it was.
    Kept(Arc<BoardTrigger>),
    /// Its credentials cannot be read just now, so it stays as it was.
    KeptForNow(Arc<BoardTrigger>),
    /// Its credentials cannot be read just now, and there is nothing to keep.
    Failed(BoardTrigger),
}

impl Workshop<'_> {
    /// Builds all triggers of an object for its present generation. `old` is the board of the same generation, if there is one.
    pub async fn build(&self, object: &ScaledObject, target: &Target, old: Option<&ObjectBoard>) -> Arc<ObjectBoard> {
        let key = Key::of(&object.metadata);
        let references = &self.credentials.references;
        let (changes, began) = (references.changes(&key), references.now());
        let mut resolution = self.credentials.begin(object, target);
        let mut triggers = Vec::new();
        let mut again = None;
        for (index, trigger) in object.spec.triggers.iter().enumerate() {
            let place = Place { object, index, trigger, old };
            let trigger = match self.trigger(&place, &mut resolution).await {
                Outcome::New(trigger) => Arc::new(trigger),
                Outcome::Kept(trigger) => trigger,
                Outcome::KeptForNow(trigger) => {
                    again = Some(AGAIN);
                    trigger
                }
                Outcome::Failed(trigger) => {
                    again = Some(AGAIN);
                    Arc::new(trigger)
                }
            };
            triggers.push(trigger);
        }
        let (used, refresh_in) = resolution.end();
        references.set(&key, began, used);
        Arc::new(ObjectBoard {
            key,
            telemetry: self.telemetry.clone(),
            uid: object.metadata.uid.clone().unwrap_or_default(),
            generation: object.metadata.generation.unwrap_or_default(),
            fallback: object.spec.fallback.clone().filter(is_usable),
            triggers,
            credentials: changes,
            refresh_at: again.into_iter().chain(refresh_in).min().map(|wait| Instant::now() + wait),
        })
    }

    async fn trigger(&self, place: &Place<'_>, resolution: &mut Resolution<'_>) -> Outcome {
        let Place { index, trigger, .. } = *place;
        let new = |scaler, credentials| BoardTrigger {
            index,
            kind: trigger.r#type.clone(),
            name: trigger.name.clone(),
            scaler,
            credentials,
        };
        let old = place.old.and_then(|old| old.triggers.get(index)).filter(|old| old.scaler.is_ok());
        match (resolution.resolve(trigger).await, old) {
            (Ok(resolved), Some(old)) if old.credentials == resolved => Outcome::Kept(old.clone()),
            (Ok(resolved), _) => Outcome::New(new(self.scaler(place, &resolved).await, resolved)),
            (Err(problems), Some(old)) if problems.iter().all(Problem::may_pass) => Outcome::KeptForNow(old.clone()),
            (Err(problems), _) => {
                let may_pass = problems.iter().any(Problem::may_pass);
                let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
                let text = format!("trigger {index} ({}): {}", trigger.r#type, texts.join(", and "));
                let failed = new(Err(text), Resolved::default());
                if may_pass { Outcome::Failed(failed) } else { Outcome::New(failed) }
            }
        }
    }

    async fn scaler(&self, place: &Place<'_>, resolved: &Resolved) -> Result<BuiltScaler, String> {
        let Place { object, index, trigger, .. } = *place;
        let config = TriggerConfig {
            index,
            kind: &trigger.r#type,
            name: trigger.name.as_deref(),
            metadata: &trigger.metadata,
            auth: &resolved.auth,
            environment: &resolved.environment,
            metric_type: trigger.metric_type.as_deref(),
            namespace: object.metadata.namespace.as_deref().unwrap_or_default(),
            object: object.metadata.name.as_deref().unwrap_or_default(),
            pod_identity: resolved.identity.as_ref().and_then(identity::provider),
        };
        let scaler = self.registry.build(&config).map_err(|error| error.to_string())?;
        let specs =
            scaler.describe().await.map_err(|error| format!("trigger {index} ({}): {error}", trigger.r#type))?;
        let metrics = specs.iter().filter_map(|spec| ExternalMetric::of(spec, place.known_failures(spec))).collect();
        let service = if trigger.use_cached_metrics == Some(true) { Service::LastPoll } else { Service::Live };
        Ok(BuiltScaler { scaler, specs, metrics, service })
    }
}

/// Which trigger it is.
struct Place<'a> {
    object: &'a ScaledObject,
    index: usize,
    trigger: &'a Trigger,
    old: Option<&'a ObjectBoard>,
}

impl Place<'_> {
    /// The failures that the board before or the status remembers.
    fn known_failures(&self, spec: &k8s_openapi::api::autoscaling::v2::MetricSpec) -> Failures {
        let name = spec.external.as_ref().map(|external| external.metric.name.as_str()).unwrap_or_default();
        if let Some((_, _, metric)) = self.old.and_then(|old| old.metrics().find(|(_, _, metric)| metric.name == name))
        {
            return metric.failures();
        }
        let health = self.object.status.as_ref().and_then(|status| status.health.as_ref());
        let known = health.and_then(|health| health.get(name));
        Failures(known.and_then(|health| health.number_of_failures).unwrap_or(0))
    }
}
