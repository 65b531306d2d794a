//! What rules look up, for a whole cluster, in memory: ScaledObjects by target and by HPA name, HPAs by target, the requests
//! of workloads, and LimitRanges. Kept fresh by watches; an admission costs some look-ups, however many objects there are.

pub mod seen;
pub mod table;

use std::fmt::Debug;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use futures::future::{join, join_all};
use kedge_cluster::{ListWatchEvent, ResourceQuery, list_watch};
use kube::Client;
use serde::de::DeserializeOwned;
use tokio::sync::watch as flag;

use crate::neighbours::{Amounts, Container, Hpa, Rival, WorkloadKind};
use seen::{
    KeptHpa, KeptLimitRange, KeptObject, KeptWorkload, Seen, SeenHpa, SeenLimitRange, SeenObject, SeenWorkload,
};
use table::Table;

/// Where a ScaledObject holds the name of its target, and an HPA that of its own.
const TARGET: usize = 0;
/// Where a ScaledObject holds the name of its HPA.
const HPA: usize = 1;

/// How many kinds are watched.
const KINDS: usize = 5;

/// The index. It is complete once every kind has been listed, in every namespace that it covers.
#[derive(Debug)]
pub struct Index {
    /// The namespaces it covers; none is all.
    namespaces: Vec<String>,
    objects: RwLock<Table<KeptObject>>,
    hpas: RwLock<Table<KeptHpa>>,
    deployments: RwLock<Table<KeptWorkload>>,
    stateful_sets: RwLock<Table<KeptWorkload>>,
    limit_ranges: RwLock<Table<KeptLimitRange>>,
    /// How many lists have not arrived yet.
    awaited: flag::Sender<usize>,
}

impl Default for Index {
    fn default() -> Self {
        Self::covering(Vec::new())
    }
}

impl Index {
    /// One of these namespaces; none is all.
    pub fn covering(namespaces: Vec<String>) -> Self {
        let lists = KINDS * namespaces.len().max(1);
        Self {
            namespaces,
            objects: RwLock::default(),
            hpas: RwLock::default(),
            deployments: RwLock::default(),
            stateful_sets: RwLock::default(),
            limit_ranges: RwLock::default(),
            awaited: flag::Sender::new(lists),
        }
    }

    /// Whether it knows what is in a namespace.
    pub fn covers(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|known| known == namespace)
    }

    /// Other ScaledObjects of the namespace whose target has this name.
    pub fn same_target(&self, namespace: &str, target: &str, own: &str) -> Vec<Rival> {
        let objects = read(&self.objects);
        let found = objects.holding(namespace, TARGET, target).into_iter().filter(|(name, _)| *name != own);
        found.map(|(name, object)| object.rival(name)).collect()
    }

    /// Other ScaledObjects of the namespace whose HPA has this name.
    pub fn same_hpa(&self, namespace: &str, hpa: &str, own: &str) -> Vec<Box<str>> {
        let objects = read(&self.objects);
        let found = objects.holding(namespace, HPA, hpa).into_iter().filter(|(name, _)| *name != own);
        found.map(|(name, _)| name.into()).collect()
    }

    /// The HPAs of the namespace whose target has this name.
    pub fn hpas(&self, namespace: &str, target: &str) -> Vec<Hpa> {
        read(&self.hpas).holding(namespace, TARGET, target).into_iter().map(|(name, hpa)| hpa.hpa(name)).collect()
    }

    /// The containers of a workload, if it has been seen.
    pub fn containers(&self, kind: WorkloadKind, namespace: &str, name: &str) -> Option<Vec<Container>> {
        read(self.workloads(kind)).get(namespace, name).map(|workload| workload.0.to_vec())
    }

    /// What containers of the namespace get that ask for nothing.
    pub fn defaults(&self, namespace: &str) -> Amounts {
        let ranges = read(&self.limit_ranges);
        ranges.of_namespace(namespace).map(|range| range.0).fold(Amounts::default(), Amounts::and)
    }

    /// Takes an object that stands in a file, if rules ask for its kind.
    pub fn add(&self, object: &serde_json::Value) {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        match (text("apiVersion"), text("kind")) {
            ("keda.sh/v1alpha1", "ScaledObject") => add::<SeenObject>(&self.objects, object),
            ("autoscaling/v2" | "autoscaling/v1", "HorizontalPodAutoscaler") => add::<SeenHpa>(&self.hpas, object),
            ("apps/v1", "Deployment") => add::<SeenWorkload>(&self.deployments, object),
            ("apps/v1", "StatefulSet") => add::<SeenWorkload>(&self.stateful_sets, object),
            ("v1", "LimitRange") => add::<SeenLimitRange>(&self.limit_ranges, object),
            _ => {}
        }
    }

    /// Whether every list has arrived.
    pub fn is_complete(&self) -> bool {
        *self.awaited.borrow() == 0
    }

    /// Waits until every list has arrived.
    pub async fn until_complete(&self) {
        let mut awaited = self.awaited.subscribe();
        // It cannot be closed: the sender is our own.
        let _ = awaited.wait_for(|lists| *lists == 0).await;
    }

    /// The same; false if that takes too long.
    pub async fn wait_until_complete(&self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.until_complete()).await.is_ok()
    }

    /// One that has listed everything and found nothing.
    #[cfg(test)]
    pub(crate) fn complete() -> Self {
        let index = Self::default();
        index.awaited.send_replace(0);
        index
    }

    /// Keeps it fresh. Never returns.
    pub async fn watch(self: Arc<Self>, client: Client) {
        if self.namespaces.is_empty() {
            return self.watch_place(&client, None).await;
        }
        join_all(self.namespaces.iter().map(|namespace| self.watch_place(&client, Some(namespace)))).await;
    }

    /// Follows all kinds, in one namespace or everywhere.
    async fn watch_place(&self, client: &Client, place: Option<&str>) {
        let follow = Follow { index: self, client, place };
        let objects = follow.kind::<SeenObject>("/apis/keda.sh/v1alpha1", "scaledobjects", &self.objects);
        let hpas = follow.kind::<SeenHpa>("/apis/autoscaling/v2", "horizontalpodautoscalers", &self.hpas);
        let deployments = follow.kind::<SeenWorkload>("/apis/apps/v1", "deployments", &self.deployments);
        let sets = follow.kind::<SeenWorkload>("/apis/apps/v1", "statefulsets", &self.stateful_sets);
        let ranges = follow.kind::<SeenLimitRange>("/api/v1", "limitranges", &self.limit_ranges);
        join(join(objects, hpas), join(join(deployments, sets), ranges)).await;
    }

    fn workloads(&self, kind: WorkloadKind) -> &RwLock<Table<KeptWorkload>> {
        match kind {
            WorkloadKind::Deployment => &self.deployments,
            WorkloadKind::StatefulSet => &self.stateful_sets,
        }
    }
}

/// What is followed for an index: one place, in one cluster.
struct Follow<'a> {
    index: &'a Index,
    client: &'a Client,
    place: Option<&'a str>,
}

impl Follow<'_> {
    /// Follows one kind.
    async fn kind<S>(&self, version: &str, resource: &str, table: &RwLock<Table<S::Kept>>)
    where
        S: Seen + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let path = match self.place {
            Some(namespace) => format!("{version}/namespaces/{namespace}/{resource}"),
            None => format!("{version}/{resource}"),
        };
        let subject = ResourceQuery::all(path);
        let mut is_awaited = true;
        let tell = |seen: ListWatchEvent<S>| {
            apply(table, self.place, &seen);
            if matches!(seen, ListWatchEvent::Listed(_)) && std::mem::replace(&mut is_awaited, false) {
                self.index.awaited.send_modify(|lists| *lists -= 1);
            }
        };
        list_watch(self.client.clone(), subject, tell).await;
    }
}

/// Adds one, unless it cannot be read: that is told elsewhere.
fn add<S: Seen + DeserializeOwned>(table: &RwLock<Table<S::Kept>>, object: &serde_json::Value) {
    if let Ok(seen) = S::deserialize(object) {
        apply(table, None, &ListWatchEvent::Applied(seen));
    }
}

/// Takes what a watch of a place, or of everything, has told.
fn apply<S: Seen>(table: &RwLock<Table<S::Kept>>, watched: Option<&str>, seen: &ListWatchEvent<S>) {
    let put = |table: &mut Table<S::Kept>, object: &S| {
        let place = object.place();
        table.put(&place.namespace, &place.name, object.kept());
    };
    match seen {
        ListWatchEvent::Listed(all) => {
            let mut new = Table::default();
            all.iter().for_each(|object| put(&mut new, object));
            match watched {
                Some(namespace) => write(table).replace(namespace, new),
                None => *write(table) = new,
            }
        }
        ListWatchEvent::Applied(object) => put(&mut write(table), object),
        ListWatchEvent::Deleted(object) => write(table).remove(&object.place().namespace, &object.place().name),
    }
}

/// A panic elsewhere leaves a table as good as it was: each change is one step.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
