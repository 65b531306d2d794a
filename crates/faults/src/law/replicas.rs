//! The operator gives a target only numbers that somebody asked for.

use serde_json::Value;

use super::{Evidence, told};
use crate::fault::Fault;

/// Zero, idle, minimum, a number it is paused at, or what it had: nothing else is the operator's to write.
pub(super) fn within_bounds(evidence: &Evidence) -> Vec<String> {
    if evidence.has(|fault| matches!(fault, Fault::Stale { .. })) {
        return Vec::new();
    }
    let broken = evidence.own_steps().filter_map(|step| {
        let object = evidence.object_behind(&step)?;
        let allowed = allowed(object);
        (!allowed.contains(&step.to)).then(|| format!("{}; it may be given only {allowed:?}", told(evidence, &step)))
    });
    broken.collect()
}

fn allowed(object: &Value) -> Vec<i64> {
    let spec = &object["spec"];
    let min = spec["minReplicaCount"].as_i64().unwrap_or(0);
    let notes = &object["metadata"]["annotations"];
    let paused_at = notes["autoscaling.keda.sh/paused-replicas"].as_str().and_then(|text| text.parse().ok());
    let original = object["status"]["originalReplicaCount"]
        .as_i64()
        .filter(|_| object["metadata"]["deletionTimestamp"].is_string());
    let idle = spec["idleReplicaCount"].as_i64();
    [Some(min), Some(min.max(1)), idle, paused_at, original].into_iter().flatten().collect()
}
