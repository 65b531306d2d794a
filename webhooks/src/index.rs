//! What rules look up, for a whole cluster, in memory: ScaledObjects by target and by HPA name, HPAs by target, the requests
//! of workloads, and LimitRanges. Kept fresh by watches; an admission costs some look-ups, however many objects there are.

pub mod seen;
pub mod table;

use std::fmt::Debug;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use futures::future::join;
use kedge_operator::watch::{self, Extent, Subject, watch};
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

/// The index. It is complete once every kind has been listed.
#[derive(Debug)]
pub struct Index {
    objects: RwLock<Table<KeptObject>>,
    hpas: RwLock<Table<KeptHpa>>,
    deployments: RwLock<Table<KeptWorkload>>,
    stateful_sets: RwLock<Table<KeptWorkload>>,
    limit_ranges: RwLock<Table<KeptLimitRange>>,
    listed: flag::Sender<[bool; KINDS]>,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            objects: RwLock::default(),
            hpas: RwLock::default(),
            deployments: RwLock::default(),
            stateful_sets: RwLock::default(),
            limit_ranges: RwLock::default(),
            listed: flag::Sender::new([false; KINDS]),
        }
    }
}

impl Index {
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

    /// Whether every kind has been listed.
    pub fn is_complete(&self) -> bool {
        self.listed.borrow().iter().all(|listed| *listed)
    }

    /// Waits until every kind has been listed.
    pub async fn until_complete(&self) {
        let mut listed = self.listed.subscribe();
        // It cannot be closed: the sender is our own.
        let _ = listed.wait_for(|kinds| kinds.iter().all(|listed| *listed)).await;
    }

    /// The same; false if that takes too long.
    pub async fn wait_until_complete(&self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.until_complete()).await.is_ok()
    }

    /// One that has listed everything and found nothing.
    #[cfg(test)]
    pub(crate) fn complete() -> Self {
        let index = Self::default();
        index.listed.send_replace([true; KINDS]);
        index
    }

    /// Keeps it fresh. Never returns.
    pub async fn watch(self: Arc<Self>, client: Client) {
        let objects = self
            .follow::<SeenObject>(client.clone(), 0, "/apis/keda.sh/v1alpha1/scaledobjects", |index| &index.objects);
        let hpas =
            self.follow::<SeenHpa>(client.clone(), 1, "/apis/autoscaling/v2/horizontalpodautoscalers", |index| {
                &index.hpas
            });
        let deployments =
            self.follow::<SeenWorkload>(client.clone(), 2, "/apis/apps/v1/deployments", |index| &index.deployments);
        let sets =
            self.follow::<SeenWorkload>(client.clone(), 3, "/apis/apps/v1/statefulsets", |index| &index.stateful_sets);
        let ranges = self.follow::<SeenLimitRange>(client, 4, "/api/v1/limitranges", |index| &index.limit_ranges);
        join(join(objects, hpas), join(join(deployments, sets), ranges)).await;
    }

    /// Follows one kind.
    async fn follow<S>(&self, client: Client, kind: usize, path: &str, table: impl Fn(&Self) -> &RwLock<Table<S::Kept>>)
    where
        S: Seen + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let subject = Subject { path: path.to_owned(), selector: None, fields: None, extent: Extent::Whole };
        let tell = |seen: watch::Seen<S>| {
            apply(table(self), &seen);
            if matches!(seen, watch::Seen::All(_)) {
                self.listed.send_if_modified(|listed| !std::mem::replace(&mut listed[kind], true));
            }
        };
        watch(client, subject, tell).await;
    }

    fn workloads(&self, kind: WorkloadKind) -> &RwLock<Table<KeptWorkload>> {
        match kind {
            WorkloadKind::Deployment => &self.deployments,
            WorkloadKind::StatefulSet => &self.stateful_sets,
        }
    }
}

/// Adds one, unless it cannot be read: that is told elsewhere.
fn add<S: Seen + DeserializeOwned>(table: &RwLock<Table<S::Kept>>, object: &serde_json::Value) {
    if let Ok(seen) = S::deserialize(object) {
        apply(table, &watch::Seen::Applied(seen));
    }
}

fn apply<S: Seen>(table: &RwLock<Table<S::Kept>>, seen: &watch::Seen<S>) {
    let put = |table: &mut Table<S::Kept>, object: &S| {
        let place = object.place();
        table.put(&place.namespace, &place.name, object.kept());
    };
    match seen {
        watch::Seen::All(all) => {
            let mut new = Table::default();
            all.iter().for_each(|object| put(&mut new, object));
            *write(table) = new;
        }
        watch::Seen::Applied(object) => put(&mut write(table), object),
        watch::Seen::Deleted(object) => write(table).remove(&object.place().namespace, &object.place().name),
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
