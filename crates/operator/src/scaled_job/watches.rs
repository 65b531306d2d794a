//! The watches that fill the cache of ScaledJobs: the objects, the Jobs, and their pods once a strategy counts Jobs that have not started.

use std::sync::{Arc, Mutex};

use kedge_api::names::labels;
use kedge_cluster::stored::Stored;
use kedge_cluster::{ResourceQuery, Scope, list_watch};
use kube::Client;
use tokio::task::JoinSet;

use crate::job_cache::{CachedScaledJob, JobCache, WatchedJob, WatchedPod};

/// Runs watches until it is dropped.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct JobWatches {
    client: Client,
    cache: Arc<JobCache>,
    scopes: Vec<Scope>,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    tasks: JoinSet<()>,
    includes_pods: bool,
}

impl JobWatches {
    /// Starts the watches of ScaledJobs and Jobs. `selector` limits the managed objects.
    pub fn start(client: Client, cache: Arc<JobCache>, scopes: Vec<Scope>, selector: Option<String>) -> Arc<Self> {
        let watches = Arc::new(Self { client, cache, scopes, running: Mutex::default() });
        let mut running = watches.running.lock().expect("no holder of the lock panics");
        for scope in &watches.scopes {
            let path = scope.path("/apis/keda.sh/v1alpha1", "scaledjobs");
            let query = ResourceQuery { label_selector: selector.clone(), ..ResourceQuery::all(path) };
            let (cache, within) = (watches.cache.clone(), scope.clone());
            let apply = move |event| cache.apply_object_event(&within, event);
            running.tasks.spawn(list_watch::<Stored<CachedScaledJob>>(watches.client.clone(), query, apply));
            let query = tracked(scope.path("/apis/batch/v1", "jobs"));
            let (cache, within) = (watches.cache.clone(), scope.clone());
            let apply = move |event| cache.apply_job_event(&within, event);
            running.tasks.spawn(list_watch::<WatchedJob>(watches.client.clone(), query, apply));
        }
        drop(running);
        watches
    }

    /// Watches the pods of Jobs from now on.
    pub fn ensure_pods(&self) {
        let mut running = self.running.lock().expect("no holder of the lock panics");
        if std::mem::replace(&mut running.includes_pods, true) {
            return;
        }
        for scope in &self.scopes {
            let (cache, within) = (self.cache.clone(), scope.clone());
            let apply = move |event| cache.apply_pod_event(&within, event);
            let query = tracked(scope.path("/api/v1", "pods"));
            running.tasks.spawn(list_watch::<WatchedPod>(self.client.clone(), query, apply));
        }
    }
}

/// What has the label of a ScaledJob.
fn tracked(path: String) -> ResourceQuery {
    ResourceQuery { label_selector: Some(labels::SCALED_JOB_NAME.to_owned()), ..ResourceQuery::all(path) }
}
