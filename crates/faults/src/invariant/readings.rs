//! A target is scaled in only on recent readings of all its triggers.

use std::time::Duration;

use super::{RunRecord, describe, is_operator};

/// The greatest age of a reading behind a step: the scalers cache keeps readings for a second, and a request takes time.
const FRESH: Duration = Duration::from_secs(4);

/// Scaling in needs a recent response of every source; by the operator also that none of them is active.
pub(super) fn scale_in_needs_readings(record: &RunRecord) -> Vec<String> {
    if record.scenario.expects.may_scale_in_without_readings {
        return Vec::new();
    }
    let mut broken = Vec::new();
    for step in record.steps().filter(|step| step.to < step.from && step.change.by != "user") {
        let Some(object) = record.object_known_at(&step) else { continue };
        let annotations = &object["metadata"]["annotations"];
        let requested = annotations["autoscaling.keda.sh/paused-replicas"].is_string()
            || object["metadata"]["deletionTimestamp"].is_string();
        let above_max = object["spec"]["maxReplicaCount"].as_i64().is_some_and(|max| step.from > max);
        if requested || above_max {
            continue;
        }
        for query in RunRecord::queries(object) {
            let recent = |at| step.issued_at.checked_duration_since(at).is_some_and(|age| age <= FRESH);
            let readings = record.served.iter().filter(|one| one.query == query && recent(one.at));
            let known: Vec<f64> = readings.filter_map(|one| one.value).collect();
            if known.is_empty() {
                broken.push(format!("{}, and {query} had no recent reading", describe(record, &step)));
            } else if is_operator(&step.change.by) && known.iter().all(|value| *value > 0.0) {
                broken.push(format!("{}, and {query} was active", describe(record, &step)));
            }
        }
    }
    broken
}
