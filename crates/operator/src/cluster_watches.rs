//! The watches that fill the cluster cache: ScaledObjects, HPAs, the workloads of the apps group, and each further kind once an object
//! scales it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::ScaledObject;
use kedge_cluster::api_error::is_denied;
use kedge_cluster::stored::Stored;
use kedge_cluster::{ListWatchEvent, Projection, ResourceQuery, Scope, TargetKind, list_watch_reporting};
use kube::Client;
use tokio::sync::watch as signal;
use tokio::task::JoinSet;

use crate::cluster_cache::{ClusterCache, ReplicasIn, Workload};

/// Runs watches until it is dropped.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct ClusterWatches {
    client: Client,
    cluster: Arc<ClusterCache>,
    scopes: Vec<Scope>,
    tasks: Mutex<JoinSet<()>>,
    kinds: Mutex<BTreeSet<TargetKind>>,
    listed: signal::Sender<usize>,
}

impl ClusterWatches {
    /// Starts the watches that are always needed. `selector` limits the managed objects.
    pub fn start(client: Client, cluster: Arc<ClusterCache>, scopes: Vec<Scope>, selector: Option<String>) -> Self {
        let (listed, _) = signal::channel(0);
        let (tasks, kinds) = (Mutex::default(), Mutex::default());
        let watches = Self { client, cluster, scopes, tasks, kinds, listed };
        for scope in watches.scopes.clone() {
            let cluster = watches.cluster.clone();
            let path = scope.path("/apis/keda.sh/v1alpha1", "scaledobjects");
            let within = scope.clone();
            watches.spawn::<Stored<ScaledObject>>(path, selector.clone(), Projection::Object, move |event| {
                cluster.apply_stored_event(&within, event)
            });
            let cluster = watches.cluster.clone();
            let path = scope.path("/apis/autoscaling/v2", "horizontalpodautoscalers");
            watches.spawn::<HorizontalPodAutoscaler>(path, None, Projection::Object, move |event| {
                cluster.apply_hpa_event(&scope, event)
            });
        }
        for (kind, resource) in
            [("Deployment", "deployments"), ("StatefulSet", "statefulsets"), ("ReplicaSet", "replicasets")]
        {
            let text = |text: &str| text.to_owned();
            let kind =
                TargetKind { group: text("apps"), version: text("v1"), kind: text(kind), resource: text(resource) };
            watches.watch_kind(&kind, ReplicasIn::Spec);
        }
        watches
    }

    /// Waits until everything has been listed once: until then, a missing object may exist.
    pub async fn listed(&self) {
        let all = self.scopes.len() * 5;
        let mut listed = self.listed.subscribe();
        // Fails only when the sender is dropped, and `self` holds it.
        let _ = listed.wait_for(|count| *count >= all).await;
    }

    /// Watches this kind of target from now on.
    pub fn ensure(&self, kind: &TargetKind) {
        self.watch_kind(kind, ReplicasIn::ScaleOnly);
    }

    fn watch_kind(&self, kind: &TargetKind, replicas_in: ReplicasIn) {
        if !self.kinds.lock().expect("no holder of the lock panics").insert(kind.clone()) {
            return;
        }
        let projection = if replicas_in == ReplicasIn::Spec { Projection::Object } else { Projection::Metadata };
        for scope in self.scopes.clone() {
            let path = scope.path(&kind.prefix(), &kind.resource);
            let (cluster, of_kind, within) = (self.cluster.clone(), kind.clone(), scope.clone());
            let on_failure = move |error: &kube::Error| {
                if is_denied(error) {
                    cluster.record_unwatched(&of_kind, &within);
                }
            };
            let (cluster, kind) = (self.cluster.clone(), kind.clone());
            let apply = move |event| cluster.apply_workload_event(&scope, &kind, replicas_in, event);
            self.spawn_reporting::<Workload>(path, None, projection, apply, on_failure);
        }
    }

    fn spawn<T>(
        &self,
        path: String,
        selector: Option<String>,
        projection: Projection,
        apply: impl FnMut(ListWatchEvent<T>) + Send + 'static,
    ) where
        T: Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
    {
        self.spawn_reporting(path, selector, projection, apply, |_| {});
    }

    fn spawn_reporting<T>(
        &self,
        path: String,
        selector: Option<String>,
        projection: Projection,
        mut apply: impl FnMut(ListWatchEvent<T>) + Send + 'static,
        on_failure: impl FnMut(&kube::Error) + Send + 'static,
    ) where
        T: Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
    {
        let listed = self.listed.clone();
        let mut first = true;
        let on_event = move |event: ListWatchEvent<T>| {
            let is_list = matches!(event, ListWatchEvent::Listed(_));
            apply(event);
            if std::mem::take(&mut first) && is_list {
                listed.send_modify(|count| *count += 1);
            }
        };
        let client = self.client.clone();
        let query = ResourceQuery { path, label_selector: selector, field_selector: None, projection };
        self.tasks
            .lock()
            .expect("no holder of the lock panics")
            .spawn(list_watch_reporting(client, query, on_event, on_failure));
    }
}
