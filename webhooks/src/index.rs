//! An in-memory index of what rules look up: ScaledObjects by target and by HPA name, HPAs by target, the requests of workloads,
//! and LimitRanges. Watches keep it up to date; an admission costs a few lookups, whatever the number of objects.

pub mod objects;
pub mod table;

use std::fmt::Debug;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use futures::future::{join, join_all};
use kedge_api::ScaledObject;
use kedge_cluster::{ListWatchEvent, ResourceQuery, list_watch};
use kedge_core::hpa::render::hpa_name;
use kube::Client;
use serde::de::DeserializeOwned;
use tokio::sync::watch as flag;

use crate::neighbours::{Hpa, Neighbours, OtherScaledObject, PodResources, ResourceSet, Workload, WorkloadKind};
use crate::rules::resource_requests::workload_to_check;
use objects::{
    HpaEntry, LimitRangeEntry, ScaledObjectEntry, Watched, WatchedHpa, WatchedLimitRange, WatchedScaledObject,
    WatchedWorkload, WorkloadEntry,
};
use table::Table;

/// The index key of a ScaledObject or HPA that is the name of its target.
const TARGET: usize = 0;
/// The index key of a ScaledObject that is the name of its HPA.
const HPA: usize = 1;

/// The number of watched kinds.
const KINDS: usize = 5;

/// The index. It has synced once every kind is listed in every namespace that it covers.
#[derive(Debug)]
pub struct Index {
    /// The namespaces that it covers; empty means all.
    namespaces: Vec<String>,
    objects: RwLock<Table<ScaledObjectEntry>>,
    hpas: RwLock<Table<HpaEntry>>,
    deployments: RwLock<Table<WorkloadEntry>>,
    stateful_sets: RwLock<Table<WorkloadEntry>>,
    limit_ranges: RwLock<Table<LimitRangeEntry>>,
    /// The number of initial lists that are pending.
    pending_lists: flag::Sender<usize>,
}

impl Default for Index {
    fn default() -> Self {
        Self::for_namespaces(Vec::new())
    }
}

impl Index {
    /// An index of these namespaces; empty means all.
    pub fn for_namespaces(namespaces: Vec<String>) -> Self {
        let lists = KINDS * namespaces.len().max(1);
        Self {
            namespaces,
            objects: RwLock::default(),
            hpas: RwLock::default(),
            deployments: RwLock::default(),
            stateful_sets: RwLock::default(),
            limit_ranges: RwLock::default(),
            pending_lists: flag::Sender::new(lists),
        }
    }

    /// Whether it covers a namespace.
    pub fn covers(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|known| known == namespace)
    }

    /// Other ScaledObjects of the namespace whose target has this name.
    fn same_target(&self, namespace: &str, target: &str, own: &str) -> Vec<OtherScaledObject> {
        let objects = read(&self.objects);
        let found = objects.find_by_key(namespace, TARGET, target).into_iter().filter(|(name, _)| *name != own);
        found.map(|(name, object)| object.as_other(name)).collect()
    }

    /// Other ScaledObjects of the namespace whose HPA has this name.
    fn same_hpa(&self, namespace: &str, hpa: &str, own: &str) -> Vec<Box<str>> {
        let objects = read(&self.objects);
        let found = objects.find_by_key(namespace, HPA, hpa).into_iter().filter(|(name, _)| *name != own);
        found.map(|(name, _)| name.into()).collect()
    }

    /// The HPAs of the namespace whose target has this name.
    fn hpas(&self, namespace: &str, target: &str) -> Vec<Hpa> {
        read(&self.hpas).find_by_key(namespace, TARGET, target).into_iter().map(|(name, hpa)| hpa.hpa(name)).collect()
    }

    /// What the pods of a workload request, if the index has it.
    pub fn pod_resources(&self, kind: WorkloadKind, namespace: &str, name: &str) -> Option<PodResources> {
        read(self.workloads(kind)).get(namespace, name).map(|workload| workload.0.clone())
    }

    /// The default requests of containers in the namespace.
    fn defaults(&self, namespace: &str) -> ResourceSet {
        let ranges = read(&self.limit_ranges);
        ranges.of_namespace(namespace).map(|range| range.0).fold(ResourceSet::default(), ResourceSet::union)
    }

    /// The neighbours of a ScaledObject, as far as the index has them.
    pub fn neighbours(&self, object: &ScaledObject) -> Neighbours {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let target = object.spec.scale_target_ref.name.as_str();
        let resources = workload_to_check(&object.spec).and_then(|kind| self.pod_resources(kind, namespace, target));
        Neighbours {
            unserved: Vec::new(),
            same_target: self.same_target(namespace, target, name),
            same_hpa: self.same_hpa(namespace, &hpa_name(object), name),
            hpas: self.hpas(namespace, target),
            workload: resources.map_or(Workload::Unknown, Workload::Found),
            defaults: self.defaults(namespace),
        }
    }

    /// Adds an object of a manifest, if rules look up its kind.
    pub fn add(&self, object: &serde_json::Value) {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        match (text("apiVersion"), text("kind")) {
            ("keda.sh/v1alpha1", "ScaledObject") => add::<WatchedScaledObject>(&self.objects, object),
            ("autoscaling/v2" | "autoscaling/v1", "HorizontalPodAutoscaler") => add::<WatchedHpa>(&self.hpas, object),
            ("apps/v1", "Deployment") => add::<WatchedWorkload>(&self.deployments, object),
            ("apps/v1", "StatefulSet") => add::<WatchedWorkload>(&self.stateful_sets, object),
            ("v1", "LimitRange") => add::<WatchedLimitRange>(&self.limit_ranges, object),
            _ => {}
        }
    }

    /// Whether every initial list has arrived.
    pub fn has_synced(&self) -> bool {
        *self.pending_lists.borrow() == 0
    }

    /// Waits until every initial list has arrived.
    pub async fn wait_until_synced(&self) {
        let mut pending_lists = self.pending_lists.subscribe();
        // The channel is open: `self` holds its sender.
        let _ = pending_lists.wait_for(|lists| *lists == 0).await;
    }

    /// Waits at most `limit` for the initial lists. Returns whether they have arrived.
    pub async fn wait_until_synced_within(&self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.wait_until_synced()).await.is_ok()
    }

    /// An empty index that has synced.
    #[cfg(test)]
    pub(crate) fn synced() -> Self {
        let index = Self::default();
        index.pending_lists.send_replace(0);
        index
    }

    /// Watches the cluster and updates the index. Never returns.
    pub async fn watch(self: Arc<Self>, client: Client) {
        if self.namespaces.is_empty() {
            return self.watch_scope(&client, None).await;
        }
        join_all(self.namespaces.iter().map(|namespace| self.watch_scope(&client, Some(namespace)))).await;
    }

    /// Watches all kinds, in one namespace or in the cluster.
    async fn watch_scope(&self, client: &Client, namespace: Option<&str>) {
        let watch = IndexWatch { index: self, client, namespace };
        let objects = watch.kind::<WatchedScaledObject>("/apis/keda.sh/v1alpha1", "scaledobjects", &self.objects);
        let hpas = watch.kind::<WatchedHpa>("/apis/autoscaling/v2", "horizontalpodautoscalers", &self.hpas);
        let deployments = watch.kind::<WatchedWorkload>("/apis/apps/v1", "deployments", &self.deployments);
        let sets = watch.kind::<WatchedWorkload>("/apis/apps/v1", "statefulsets", &self.stateful_sets);
        let ranges = watch.kind::<WatchedLimitRange>("/api/v1", "limitranges", &self.limit_ranges);
        join(join(objects, hpas), join(join(deployments, sets), ranges)).await;
    }

    fn workloads(&self, kind: WorkloadKind) -> &RwLock<Table<WorkloadEntry>> {
        match kind {
            WorkloadKind::Deployment => &self.deployments,
            WorkloadKind::StatefulSet => &self.stateful_sets,
        }
    }
}

/// The watches of an index in one namespace, or in the cluster.
struct IndexWatch<'a> {
    index: &'a Index,
    client: &'a Client,
    namespace: Option<&'a str>,
}

impl IndexWatch<'_> {
    /// Watches one kind.
    async fn kind<S>(&self, version: &str, resource: &str, table: &RwLock<Table<S::Entry>>)
    where
        S: Watched + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let path = match self.namespace {
            Some(namespace) => format!("{version}/namespaces/{namespace}/{resource}"),
            None => format!("{version}/{resource}"),
        };
        let query = ResourceQuery::all(path);
        let mut is_first_list = true;
        let handle = |event: ListWatchEvent<S>| {
            apply(table, self.namespace, &event);
            if matches!(event, ListWatchEvent::Listed(_)) && std::mem::replace(&mut is_first_list, false) {
                self.index.pending_lists.send_modify(|lists| *lists -= 1);
            }
        };
        list_watch(self.client.clone(), query, handle).await;
    }
}

/// Adds an object that can be decoded; `schema` violations report the others.
fn add<S: Watched + DeserializeOwned>(table: &RwLock<Table<S::Entry>>, object: &serde_json::Value) {
    if let Ok(object) = S::deserialize(object) {
        apply(table, None, &ListWatchEvent::Applied(object));
    }
}

/// Applies a watch event of a namespace, or of the cluster.
fn apply<S: Watched>(table: &RwLock<Table<S::Entry>>, watched: Option<&str>, event: &ListWatchEvent<S>) {
    let put = |table: &mut Table<S::Entry>, object: &S| {
        let metadata = object.metadata();
        table.put(&metadata.namespace, &metadata.name, object.entry());
    };
    match event {
        ListWatchEvent::Listed(all) => {
            let mut new = Table::default();
            all.iter().for_each(|object| put(&mut new, object));
            match watched {
                Some(namespace) => write(table).replace(namespace, new),
                None => *write(table) = new,
            }
        }
        ListWatchEvent::Applied(object) => put(&mut write(table), object),
        ListWatchEvent::Deleted(object) => write(table).remove(&object.metadata().namespace, &object.metadata().name),
    }
}

/// A poisoned lock is usable: each change of a table is one step.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
