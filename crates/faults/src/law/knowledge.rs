//! Nothing becomes smaller on missing knowledge.

use std::time::Duration;

use super::{Evidence, is_operator, told};

/// How old an answer may be that a step is taken on: readings are kept for a second, and a request takes a moment.
const FRESH: Duration = Duration::from_secs(4);

/// A target becomes smaller only if every source has just answered; by the operator only if none of them asks for work.
pub(super) fn shrinks_only_on_knowledge(evidence: &Evidence) -> Vec<String> {
    if evidence.scenario.expects.may_shrink_blindly {
        return Vec::new();
    }
    let mut broken = Vec::new();
    for step in evidence.steps().filter(|step| step.to < step.from && step.change.by != "user") {
        let Some(object) = evidence.object_behind(&step) else { continue };
        let notes = &object["metadata"]["annotations"];
        let on_order = notes["autoscaling.keda.sh/paused-replicas"].is_string()
            || object["metadata"]["deletionTimestamp"].is_string();
        let above_max = object["spec"]["maxReplicaCount"].as_i64().is_some_and(|max| step.from > max);
        if on_order || above_max {
            continue;
        }
        for question in Evidence::questions(object) {
            let recent = |at| step.issued_at.checked_duration_since(at).is_some_and(|age| age <= FRESH);
            let answers = evidence.served.iter().filter(|one| one.question == question && recent(one.at));
            let known: Vec<f64> = answers.filter_map(|one| one.value).collect();
            if known.is_empty() {
                broken.push(format!("{}, and {question} had not answered", told(evidence, &step)));
            } else if is_operator(&step.change.by) && known.iter().all(|value| *value > 0.0) {
                broken.push(format!("{}, and {question} asked for work", told(evidence, &step)));
            }
        }
    }
    broken
}
