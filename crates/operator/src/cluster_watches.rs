//! The watches that fill the cluster cache: ScaledObjects, HPAs, and each kind of workload once an object scales it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use kedge_cluster::api_error::is_denied;
use kedge_cluster::stored::Stored;
use kedge_cluster::{ListWatchEvent, Projection, ResourceQuery, Scope, TargetKind, list_watch_reporting};
use kube::Client;
use tokio::sync::watch as signal;
use tokio::task::JoinSet;

use crate::cluster_cache::{CachedHpa, CachedObject, ClusterCache, ReplicasIn, Workload};

/// Runs watches until it is dropped.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct ClusterWatches {
    client: Client,
    cluster: Arc<ClusterCache>,
    scopes: Vec<Scope>,
    tasks: Mutex<JoinSet<()>>,
    kinds: Mutex<BTreeSet<Arc<TargetKind>>>,
    /// How many watches were started, and have not listed yet.
    unlisted: signal::Sender<usize>,
}

impl ClusterWatches {
    /// Starts the watches that are always needed. `selector` limits the managed objects.
    pub fn start(
        client: Client,
        cluster: Arc<ClusterCache>,
        scopes: Vec<Scope>,
        selector: Option<String>,
    ) -> Arc<Self> {
        let (tasks, kinds, unlisted) = Default::default();
        let watches = Arc::new(Self { client, cluster, scopes, tasks, kinds, unlisted });
        for scope in &watches.scopes {
            watches.watch_objects(scope, selector.clone());
            let (cluster, within) = (watches.cluster.clone(), scope.clone());
            let path = scope.path("/apis/autoscaling/v2", "horizontalpodautoscalers");
            let apply = move |event| cluster.apply_hpa_event(&within, event);
            watches.spawn::<CachedHpa>(ResourceQuery::all(path), apply, |_| false);
        }
        watches
    }

    /// Waits until everything has been listed once: until then, a missing object may exist.
    pub async fn listed(&self) {
        // Fails only when the sender is dropped, and `self` holds it.
        let _ = self.unlisted.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Watches this kind of target from now on.
    pub fn ensure(&self, kind: &Arc<TargetKind>) {
        let mut kinds = self.kinds.lock().expect("no holder of the lock panics");
        if kinds.contains(kind) {
            return;
        }
        kinds.insert(kind.clone());
        drop(kinds);
        let (projection, shown) = match kind.is_built_in() {
            true => (Projection::Object, ReplicasIn::Spec),
            false => (Projection::Metadata, ReplicasIn::ScaleOnly),
        };
        for scope in &self.scopes {
            let query = ResourceQuery { projection, ..ResourceQuery::all(scope.path(&kind.prefix(), &kind.resource)) };
            let (cluster, of_kind, within) = (self.cluster.clone(), kind.clone(), scope.clone());
            let on_failure = move |error: &kube::Error| {
                let is_denied = is_denied(error);
                if is_denied {
                    cluster.record_unwatched(&of_kind, &within);
                }
                is_denied
            };
            let (cluster, kind, within) = (self.cluster.clone(), kind.clone(), scope.clone());
            let apply = move |event| cluster.apply_workload_event(&within, &kind, shown, event);
            self.spawn::<Workload>(query, apply, on_failure);
        }
    }

    /// Watches ScaledObjects, and the built-in kinds of their targets: after the objects are cached, so that the first list of a kind
    /// shows the replicas of all of them.
    fn watch_objects(self: &Arc<Self>, scope: &Scope, selector: Option<String>) {
        let path = scope.path("/apis/keda.sh/v1alpha1", "scaledobjects");
        let query = ResourceQuery { label_selector: selector, ..ResourceQuery::all(path) };
        let (watches, within) = (Arc::downgrade(self), scope.clone());
        let apply = move |event: ListWatchEvent<Stored<CachedObject>>| {
            let Some(watches) = Weak::upgrade(&watches) else { return };
            let kinds = built_in_kinds(&event);
            watches.cluster.apply_stored_event(&within, event);
            kinds.iter().for_each(|kind| watches.ensure(kind));
        };
        self.spawn::<Stored<CachedObject>>(query, apply, |_| false);
    }

    /// Starts a watch. `on_failure` returns whether it cannot be listed, and is not waited for.
    fn spawn<T>(
        &self,
        query: ResourceQuery,
        mut apply: impl FnMut(ListWatchEvent<T>) + Send + 'static,
        mut on_failure: impl FnMut(&kube::Error) -> bool + Send + 'static,
    ) where
        T: Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
    {
        self.unlisted.send_modify(|count| *count += 1);
        let first = Arc::new(FirstList { is_done: AtomicBool::new(false), unlisted: self.unlisted.clone() });
        let on_event = {
            let first = first.clone();
            move |event: ListWatchEvent<T>| {
                apply(event);
                first.record();
            }
        };
        let on_failure = move |error: &kube::Error| {
            if on_failure(error) {
                first.record();
            }
        };
        let watch = list_watch_reporting(self.client.clone(), query, on_event, on_failure);
        self.tasks.lock().expect("no holder of the lock panics").spawn(watch);
    }
}

/// The first list of a watch.
struct FirstList {
    is_done: AtomicBool,
    unlisted: signal::Sender<usize>,
}

impl FirstList {
    /// Records that it is done, or cannot be done.
    fn record(&self) {
        if !self.is_done.swap(true, Ordering::Relaxed) {
            self.unlisted.send_modify(|count| *count -= 1);
        }
    }
}

/// The kinds of the targets in an event that every cluster has.
fn built_in_kinds(event: &ListWatchEvent<Stored<CachedObject>>) -> BTreeSet<Arc<TargetKind>> {
    let kind = |stored: &Stored<CachedObject>| match stored {
        Stored::Readable(object) => object.target_kind.clone(),
        Stored::Unreadable(_) => None,
    };
    match event {
        ListWatchEvent::Listed(all) => all.iter().filter_map(kind).collect(),
        ListWatchEvent::Applied(one) => kind(one).into_iter().collect(),
        ListWatchEvent::Deleted(_) => BTreeSet::new(),
    }
}
