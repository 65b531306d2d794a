//! Building the triggers of an object. One that cannot be built does not silence the others, and keeps the metrics it is known
//! to have.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, MetricSpec};
use kedge_api::ScaledObject;
use kedge_api::trigger::Trigger;
use kedge_core::fallback::{Failures, is_usable};
use kedge_scalers::target::{External, TargetType};
use kedge_scalers::{AuthParams, Registry, Role, Scaler, TriggerConfig, metric_name};

use crate::board::{BoardTrigger, ExternalMetric, NotBuilt, ObjectBoard, Service};
use crate::key::Key;
use crate::telemetry::Telemetry;

/// Builds triggers.
#[derive(Debug)]
pub struct Builder {
    pub registry: Registry,
    pub telemetry: Arc<Telemetry>,
}

/// What is known of an object's metrics from before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Earlier<'a> {
    pub board: Option<&'a ObjectBoard>,
    pub hpa: Option<&'a HorizontalPodAutoscaler>,
}

impl Builder {
    /// Builds all triggers of an object for its present generation.
    pub async fn build(&self, object: &ScaledObject, earlier: Earlier<'_>) -> Arc<ObjectBoard> {
        let mut triggers = Vec::new();
        for (index, trigger) in object.spec.triggers.iter().enumerate() {
            triggers.push(Arc::new(self.build_trigger(object, index, trigger, earlier).await));
        }
        self.board(object, triggers)
    }

    /// Asks again those sources that did not say which metrics they have. `None` if there is nothing new.
    pub async fn ask_again(&self, object: &ScaledObject, board: &ObjectBoard) -> Option<Arc<ObjectBoard>> {
        let earlier = Earlier { board: Some(board), hpa: None };
        let mut triggers = board.triggers.clone();
        let mut news = false;
        for trigger in &mut triggers {
            let Err(NotBuilt::NoAnswer(_)) = &trigger.scaler else { continue };
            let Some(spec) = object.spec.triggers.get(trigger.index) else { continue };
            let again = self.build_trigger(object, trigger.index, spec, earlier).await;
            news |= again.scaler.as_ref().err() != trigger.scaler.as_ref().err();
            *trigger = Arc::new(again);
        }
        news.then(|| self.board(object, triggers))
    }

    fn board(&self, object: &ScaledObject, triggers: Vec<Arc<BoardTrigger>>) -> Arc<ObjectBoard> {
        Arc::new(ObjectBoard {
            key: Key::of(&object.metadata),
            telemetry: self.telemetry.clone(),
            uid: object.metadata.uid.clone().unwrap_or_default(),
            generation: object.metadata.generation.unwrap_or_default(),
            fallback: object.spec.fallback.clone().filter(is_usable),
            triggers,
            retired: AtomicBool::new(false),
        })
    }

    async fn build_trigger(
        &self,
        object: &ScaledObject,
        index: usize,
        trigger: &Trigger,
        earlier: Earlier<'_>,
    ) -> BoardTrigger {
        let built = self.build_scaler(object, index, trigger).await;
        let (scaler, specs) = match built {
            Ok((scaler, specs)) => (Ok(scaler), specs),
            Err(why) => (Err(why), known_specs(object, index, trigger, earlier)),
        };
        let failures = |name: &str| known_failures(object, earlier.board, name);
        let metrics = specs.iter().filter_map(|spec| ExternalMetric::of(spec, failures)).map(Arc::new).collect();
        let service = if trigger.use_cached_metrics == Some(true) { Service::LastPoll } else { Service::Live };
        let (kind, name) = (trigger.r#type.clone(), trigger.name.clone());
        BoardTrigger { index, kind, name, scaler, specs, metrics, service }
    }

    async fn build_scaler(
        &self,
        object: &ScaledObject,
        index: usize,
        trigger: &Trigger,
    ) -> Result<(Arc<dyn Scaler>, Vec<MetricSpec>), NotBuilt> {
        let kind = &trigger.r#type;
        if let Some(reference) = &trigger.authentication_ref {
            return Err(NotBuilt::Mistake(format!(
                "trigger {index} ({kind}): `authenticationRef` names {}, and credentials cannot be resolved yet; remove it",
                reference.name
            )));
        }
        let (auth, environment) = (AuthParams::default(), BTreeMap::new());
        let config = TriggerConfig {
            index,
            kind,
            name: trigger.name.as_deref(),
            metadata: &trigger.metadata,
            auth: &auth,
            environment: &environment,
            metric_type: trigger.metric_type.as_deref(),
            namespace: object.metadata.namespace.as_deref().unwrap_or_default(),
            object: object.metadata.name.as_deref().unwrap_or_default(),
            pod_identity: None,
            role: Role::Metric,
        };
        let scaler = self.registry.build(&config).map_err(|error| NotBuilt::Mistake(error.to_string()))?;
        let specs = scaler.describe().await;
        let specs = specs.map_err(|error| NotBuilt::NoAnswer(format!("trigger {index} ({kind}): {error}")))?;
        check_targets(index, kind, &specs)?;
        Ok((scaler, specs))
    }
}

/// The API server takes no HPA with a target of zero, and one such metric would keep the others out of it.
fn check_targets(index: usize, kind: &str, specs: &[MetricSpec]) -> Result<(), NotBuilt> {
    let metrics = specs.iter().filter_map(|spec| ExternalMetric::of(spec, |_| Failures::default()));
    match metrics.into_iter().find(|metric| metric.target.0 <= 0) {
        None => Ok(()),
        Some(metric) => Err(NotBuilt::Mistake(format!(
            "trigger {index} ({kind}): the target of metric {} is 0, or too small to be written; raise it to 0.001 at least",
            metric.name
        ))),
    }
}

/// The metrics of a trigger that is not built: those it had, those its HPA has, or, where a fallback wants one to speak
/// through, one that stands for it with a target of one a replica.
fn known_specs(object: &ScaledObject, index: usize, trigger: &Trigger, earlier: Earlier<'_>) -> Vec<MetricSpec> {
    let kind = &trigger.r#type;
    if let Some(before) = earlier.board.and_then(|board| board.trigger(index, kind)).filter(|old| !old.specs.is_empty())
    {
        return before.specs.clone();
    }
    let prefix = metric_name::full_name(index, "");
    let in_hpa = earlier.hpa.and_then(|hpa| hpa.spec.metrics.as_ref()).into_iter().flatten();
    let own = |spec: &&MetricSpec| spec.external.as_ref().is_some_and(|one| one.metric.name.starts_with(&prefix));
    let known: Vec<MetricSpec> = in_hpa.filter(own).cloned().map(without_selector).collect();
    if !known.is_empty() || object.spec.fallback.is_none() || matches!(kind.as_str(), "cpu" | "memory") {
        return known;
    }
    vec![External::one_each(metric_name::full_name(index, kind), TargetType::AverageValue).spec()]
}

fn without_selector(mut spec: MetricSpec) -> MetricSpec {
    if let Some(external) = &mut spec.external {
        external.metric.selector = None;
    }
    spec
}

/// The failures of a metric so far: as counted before, or as the status remembers.
fn known_failures(object: &ScaledObject, earlier: Option<&ObjectBoard>, name: &str) -> Failures {
    let counted = earlier.and_then(|board| board.metrics().find(|(_, metric)| metric.name == name));
    if let Some((_, metric)) = counted {
        return metric.failures();
    }
    failures_in_status(object, name)
}

/// The failures that the status remembers.
pub(crate) fn failures_in_status(object: &ScaledObject, name: &str) -> Failures {
    let health = object.status.as_ref().and_then(|status| status.health.as_ref());
    let known = health.and_then(|health| health.get(name));
    Failures(known.and_then(|health| health.number_of_failures).unwrap_or(0))
}

#[cfg(test)]
mod tests;
