//! The operator writes only replica counts that the ScaledObject defines.

use serde_json::Value;

use super::{RunRecord, describe};
use crate::fault::Fault;

/// Zero, idle, minimum, the paused count, or the original count: the operator writes nothing else.
pub(super) fn within_bounds(record: &RunRecord) -> Vec<String> {
    if record.has(|fault| matches!(fault, Fault::Stale { .. })) {
        return Vec::new();
    }
    let broken = record.own_steps().filter_map(|step| {
        let object = record.object_known_at(&step)?;
        let allowed = allowed(object);
        (!allowed.contains(&step.to)).then(|| format!("{}; only {allowed:?} are allowed", describe(record, &step)))
    });
    broken.collect()
}

fn allowed(object: &Value) -> Vec<i64> {
    let spec = &object["spec"];
    let min = spec["minReplicaCount"].as_i64().unwrap_or(0);
    let annotations = &object["metadata"]["annotations"];
    let paused_at = annotations["autoscaling.keda.sh/paused-replicas"].as_str().and_then(|text| text.parse().ok());
    let original = object["status"]["originalReplicaCount"]
        .as_i64()
        .filter(|_| object["metadata"]["deletionTimestamp"].is_string());
    let idle = spec["idleReplicaCount"].as_i64();
    [Some(min), Some(min.max(1)), idle, paused_at, original].into_iter().flatten().collect()
}
