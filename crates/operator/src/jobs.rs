//! ScaledJobs are not run yet. Each is told so, once, instead of being met with silence.

use std::sync::Arc;

use kedge_api::names::reasons;
use kedge_api::{Condition, ScaledJob};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::sync::mpsc;
use tracing::warn;

use kedge_cluster::ObjectKey;
use kedge_cluster::Scope;
use kedge_cluster::{ListWatchEvent, ResourceQuery, list_watch};

/// What each is told.
pub const MESSAGE: &str =
    "ScaledJobs are not run by this version of Kedge; keep KEDA for them, or use a ScaledObject with a Deployment";

/// Watches ScaledJobs, and tells those that have not been told. Never returns.
pub async fn decline(client: Client, scopes: Vec<Scope>) {
    let (found, mut untold) = mpsc::unbounded_channel::<Arc<ScaledJob>>();
    let mut watches = tokio::task::JoinSet::new();
    for scope in scopes {
        let found = found.clone();
        let path = scope.path("/apis/keda.sh/v1alpha1", "scaledjobs");
        let subject = ResourceQuery::all(path);
        let tell = move |seen: ListWatchEvent<ScaledJob>| {
            let jobs = match seen {
                ListWatchEvent::Listed(all) => all,
                ListWatchEvent::Applied(job) => vec![job],
                ListWatchEvent::Deleted(_) => Vec::new(),
            };
            // Fails only when nobody listens any more.
            jobs.into_iter().filter(|job| !is_told(job)).for_each(|job| drop(found.send(Arc::new(job))));
        };
        watches.spawn(list_watch(client.clone(), subject, tell));
    }
    while let Some(job) = untold.recv().await {
        let key = ObjectKey::from_meta(&job.metadata);
        let api: Api<ScaledJob> = Api::namespaced(client.clone(), &key.namespace);
        let patch = json!({ "status": { "conditions": [condition()] } });
        if let Err(error) = api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            warn!(namespace = key.namespace, name = key.name, error = %error, "ScaledJob not told that it is not run");
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

fn is_told(job: &ScaledJob) -> bool {
    job.status.iter().flat_map(|status| status.conditions.iter().flatten()).any(|found| *found == condition())
}
