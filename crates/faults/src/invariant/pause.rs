//! A paused object is not scaled.

use serde_json::Value;

use super::{RunRecord, describe};
use crate::fault::Fault;

/// The operator takes no step that an annotation it could know forbids.
pub(super) fn paused_objects_are_not_scaled(record: &RunRecord) -> Vec<String> {
    // A stale read does not show a pause that began later.
    if record.has(|fault| matches!(fault, Fault::Stale { .. })) {
        return Vec::new();
    }
    let broken = record.own_steps().filter_map(|step| {
        let object = record.object_known_at(&step)?;
        if object["metadata"]["deletionTimestamp"].is_string() {
            return None;
        }
        let why = forbids(object, step.from, step.to)?;
        Some(format!("{}, although {why}", describe(record, &step)))
    });
    broken.collect()
}

fn forbids(object: &Value, from: i64, to: i64) -> Option<String> {
    let annotations = &object["metadata"]["annotations"];
    let annotation = |key: &str| annotations[format!("autoscaling.keda.sh/{key}")].as_str();
    if let Some(number) = annotation("paused-replicas") {
        return (number != to.to_string()).then(|| format!("it is paused at {number}"));
    }
    if annotation("paused") == Some("true") {
        return Some("it is paused".to_owned());
    }
    let in_and_smaller = annotation("paused-scale-in") == Some("true") && to < from;
    let out_and_larger = annotation("paused-scale-out") == Some("true") && to > from;
    (in_and_smaller || out_and_larger).then(|| "that direction is paused".to_owned())
}
