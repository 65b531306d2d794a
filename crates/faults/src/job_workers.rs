//! The Job controller, and the pods of Jobs, as far as a queue is drained: each Job takes one message when it ends.

use std::time::Duration;

use chrono::{DateTime, Utc};
use kedge_plane::{Call, PatchKind, Plane, Verb};
use serde_json::{Value, json};

use crate::driver::resource;
use crate::scenario::NAMESPACE;
use crate::source::Sources;

/// How long a Job runs: to its end comes a poll, whose response is on its way.
const RUNS_FOR: Duration = Duration::from_secs(30);

/// How often Jobs are checked.
const PAUSE: Duration = Duration::from_secs(1);

/// Ends Jobs in time, until dropped.
pub async fn run(plane: Plane, sources: Sources, query: &'static str) {
    loop {
        tokio::time::sleep(PAUSE).await;
        for job in plane.objects(&resource("Job"), Some(NAMESPACE)) {
            if !is_finished(&job) && has_run_long_enough(&plane, &job) {
                sources.add_value(query, -1.0);
                finish(&plane, &job).await;
            }
        }
    }
}

fn has_run_long_enough(plane: &Plane, job: &Value) -> bool {
    let created_at = job["metadata"]["creationTimestamp"].as_str();
    let created_at: Option<DateTime<Utc>> = created_at.and_then(|text| text.parse().ok());
    created_at.is_none_or(|created_at| (plane.now() - created_at).to_std().unwrap_or_default() >= RUNS_FOR)
}

async fn finish(plane: &Plane, job: &Value) {
    let now = plane.now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": now, "reason": "Done" });
    let conditions = json!([condition("SuccessCriteriaMet"), condition("Complete")]);
    let status =
        json!({ "conditions": conditions, "startTime": job["metadata"]["creationTimestamp"], "completionTime": now });
    let call = Call {
        namespace: Some(NAMESPACE.to_owned()),
        name: job["metadata"]["name"].as_str().map(str::to_owned),
        subresource: Some("status".to_owned()),
        body: Some(json!({ "status": status })),
        ..Call::new("job-controller", Verb::Patch(PatchKind::Merge), resource("Job"))
    };
    plane.call(call).await.unwrap_or_else(|error| panic!("a Job cannot end: {error}"));
}

/// Whether a Job has ended.
pub fn is_finished(job: &Value) -> bool {
    let mut conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Complete" && condition["status"] == "True")
}
