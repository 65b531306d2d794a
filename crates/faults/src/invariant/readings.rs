//! A target is scaled in only on recent readings of all its triggers.

use std::time::Duration;

use super::{RunRecord, describe, is_operator};

/// The greatest age of a reading behind a step: the scalers cache keeps readings for a second, and a request takes time.
const FRESH: Duration = Duration::from_secs(4);

/// The same where the API server is slow: the operator discards readings that are older than ten seconds.
const FRESH_IF_SLOW: Duration = Duration::from_secs(14);

/// Scaling in needs a recent response of every source; by the operator also that none of them is active.
pub(super) fn scale_in_needs_readings(record: &RunRecord) -> Vec<String> {
    let mut broken = Vec::new();
    for step in record.steps().filter(|step| step.to < step.from && step.change.by != "user") {
        let Some(object) = record.object_known_at(&step) else { continue };
        let annotations = &object["metadata"]["annotations"];
        let requested = annotations["autoscaling.keda.sh/paused-replicas"].is_string()
            || object["metadata"]["deletionTimestamp"].is_string();
        let above_max = object["spec"]["maxReplicaCount"].as_i64().is_some_and(|max| step.from > max);
        // A fallback replaces the readings, and its replicas are the least that it leads to.
        let by_fallback = object["spec"]["fallback"]["replicas"].as_i64().is_some_and(|replicas| step.to >= replicas);
        if requested || above_max || by_fallback {
            continue;
        }
        let age_max = if record.has_slow_api_server() { FRESH_IF_SLOW } else { FRESH };
        for query in RunRecord::queries(object) {
            let recent = |at| step.issued_at.checked_duration_since(at).is_some_and(|age| age <= age_max);
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
