//! Building the triggers of an object. One that cannot be built does not silence the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use kedge_api::ScaledObject;
use kedge_api::trigger::Trigger;
use kedge_core::fallback::{Failures, is_usable};
use kedge_scalers::{AuthParams, Registry, TriggerConfig};

use crate::board::{BoardTrigger, BuiltScaler, ExternalMetric, ObjectBoard, Service};
use crate::key::Key;
use crate::telemetry::Telemetry;

/// Builds all triggers of an object for its present generation.
pub async fn build(registry: &Registry, telemetry: &Arc<Telemetry>, object: &ScaledObject) -> Arc<ObjectBoard> {
    let mut triggers = Vec::new();
    for (index, trigger) in object.spec.triggers.iter().enumerate() {
        let scaler = build_trigger(registry, object, index, trigger).await;
        triggers.push(BoardTrigger { index, kind: trigger.r#type.clone(), name: trigger.name.clone(), scaler });
    }
    Arc::new(ObjectBoard {
        key: Key::of(&object.metadata),
        telemetry: telemetry.clone(),
        uid: object.metadata.uid.clone().unwrap_or_default(),
        generation: object.metadata.generation.unwrap_or_default(),
        fallback: object.spec.fallback.clone().filter(is_usable),
        triggers,
    })
}

async fn build_trigger(
    registry: &Registry,
    object: &ScaledObject,
    index: usize,
    trigger: &Trigger,
) -> Result<BuiltScaler, String> {
    if let Some(reference) = &trigger.authentication_ref {
        return Err(format!(
            "trigger {index} ({}): `authenticationRef` names {}, and credentials cannot be resolved yet; remove it",
            trigger.r#type, reference.name
        ));
    }
    let (auth, environment) = (AuthParams::default(), BTreeMap::new());
    let config = TriggerConfig {
        index,
        kind: &trigger.r#type,
        name: trigger.name.as_deref(),
        metadata: &trigger.metadata,
        auth: &auth,
        environment: &environment,
        metric_type: trigger.metric_type.as_deref(),
        namespace: object.metadata.namespace.as_deref().unwrap_or_default(),
        object: object.metadata.name.as_deref().unwrap_or_default(),
        pod_identity: None,
    };
    let scaler = registry.build(&config).map_err(|error| error.to_string())?;
    let specs = scaler.describe().await.map_err(|error| format!("trigger {index} ({}): {error}", trigger.r#type))?;
    let metrics = specs.iter().filter_map(|spec| ExternalMetric::of(spec, known_failures(object, spec))).collect();
    let service = if trigger.use_cached_metrics == Some(true) { Service::LastPoll } else { Service::Live };
    Ok(BuiltScaler { scaler, specs, metrics, service })
}

/// The failures that the status remembers.
fn known_failures(object: &ScaledObject, spec: &k8s_openapi::api::autoscaling::v2::MetricSpec) -> Failures {
    let health = object.status.as_ref().and_then(|status| status.health.as_ref());
    let name = spec.external.as_ref().map(|external| &external.metric.name);
    let known = health.zip(name).and_then(|(health, name)| health.get(name));
    Failures(known.and_then(|health| health.number_of_failures).unwrap_or(0))
}
