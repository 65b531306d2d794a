//! ScaledJobs are not run yet. Each gets a Ready condition that says so.

use std::sync::Arc;

use kedge_api::names::reasons;
use kedge_api::{Condition, ScaledJob};
use kedge_cluster::{ListWatchEvent, ObjectKey, ResourceQuery, Scope, list_watch};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::sync::mpsc;
use tracing::warn;

/// The message of the condition.
pub const MESSAGE: &str = "ScaledJobs are not run by this operator; start it with --scaled-jobs, keep KEDA for them, or use a ScaledObject with a Deployment";

/// Watches the ScaledJobs that match the label selector, and writes the condition to those that lack it. Never returns.
pub async fn report_unsupported(client: Client, scopes: Vec<Scope>, selector: Option<String>) {
    let (sender, mut unreported) = mpsc::unbounded_channel::<Arc<ScaledJob>>();
    let mut watches = tokio::task::JoinSet::new();
    for scope in scopes {
        let sender = sender.clone();
        let all = ResourceQuery::all(scope.path("/apis/keda.sh/v1alpha1", "scaledjobs"));
        let query = ResourceQuery { label_selector: selector.clone(), ..all };
        let on_event = move |event: ListWatchEvent<ScaledJob>| {
            let jobs = match event {
                ListWatchEvent::Listed(all) => all,
                ListWatchEvent::Applied(job) => vec![job],
                ListWatchEvent::Deleted(_) => Vec::new(),
            };
            // Sending fails only once the receiver is dropped, which ends this task too.
            jobs.into_iter().filter(|job| !is_reported(job)).for_each(|job| drop(sender.send(Arc::new(job))));
        };
        watches.spawn(list_watch(client.clone(), query, on_event));
    }
    while let Some(job) = unreported.recv().await {
        let key = ObjectKey::from(&*job);
        let api: Api<ScaledJob> = Api::namespaced(client.clone(), &key.namespace);
        let patch = json!({ "status": { "conditions": [condition()] } });
        if let Err(error) = api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            warn!(namespace = %key.namespace, name = %key.name, error = %error, "status of ScaledJob not written");
        }
    }
}

fn condition() -> Condition {
    Condition {
        r#type: kedge_api::names::conditions::READY.to_owned(),
        status: "False".to_owned(),
        reason: Some(reasons::SCALED_JOB_CHECK_FAILED.to_owned()),
        message: Some(MESSAGE.to_owned()),
    }
}

fn is_reported(job: &ScaledJob) -> bool {
    job.status.iter().flat_map(|status| status.conditions.iter().flatten()).any(|found| *found == condition())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::test_cluster::TestCluster;

    #[tokio::test(start_paused = true)]
    async fn only_jobs_that_match_the_selector_are_reported() {
        let cluster = TestCluster::new();
        let path = |name: &str| format!("/apis/keda.sh/v1alpha1/namespaces/shop/scaledjobs/{name}");
        for team in ["a", "b"] {
            let template = json!({ "spec": { "containers": [{ "name": "main", "image": "main" }] } });
            let cron = json!({ "timezone": "UTC", "start": "0 1 * * *", "end": "0 2 * * *", "desiredReplicas": "1" });
            let triggers = json!([{ "type": "cron", "metadata": cron }]);
            let spec = json!({ "jobTargetRef": { "template": template }, "triggers": triggers });
            cluster.apply(&path(team), json!({ "metadata": { "labels": { "team": team } }, "spec": spec }));
        }
        let selector = Some("team=a".to_owned());
        let reporting = tokio::spawn(report_unsupported(cluster.client(), vec![Scope::Cluster], selector));
        tokio::time::sleep(Duration::from_secs(10)).await;
        let is_reported = |name: &str| cluster.object(&path(name)).unwrap()["status"]["conditions"].is_array();
        assert_eq!((is_reported("a"), is_reported("b")), (true, false));
        reporting.abort();
    }
}
