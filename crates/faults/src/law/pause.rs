//! A paused object is not scaled.

use serde_json::Value;

use super::{Evidence, told};
use crate::fault::Fault;

/// The operator takes no step that an annotation forbids, which it could have read before.
pub(super) fn a_pause_is_kept(evidence: &Evidence) -> Vec<String> {
    // A read that shows the past cannot show a pause of the present.
    if evidence.has(|fault| matches!(fault, Fault::Stale { .. })) {
        return Vec::new();
    }
    let broken = evidence.own_steps().filter_map(|step| {
        let object = evidence.object_behind(&step)?;
        if object["metadata"]["deletionTimestamp"].is_string() {
            return None;
        }
        let why = forbids(object, step.from, step.to)?;
        Some(format!("{}, although {why}", told(evidence, &step)))
    });
    broken.collect()
}

fn forbids(object: &Value, from: i64, to: i64) -> Option<String> {
    let notes = &object["metadata"]["annotations"];
    let note = |key: &str| notes[format!("autoscaling.keda.sh/{key}")].as_str();
    if let Some(number) = note("paused-replicas") {
        return (number != to.to_string()).then(|| format!("it is paused at {number}"));
    }
    if note("paused") == Some("true") {
        return Some("it is paused".to_owned());
    }
    let in_and_smaller = note("paused-scale-in") == Some("true") && to < from;
    let out_and_larger = note("paused-scale-out") == Some("true") && to > from;
    (in_and_smaller || out_and_larger).then(|| "that direction is paused".to_owned())
}
