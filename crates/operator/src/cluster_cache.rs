//! The cluster cache, filled by watches: ScaledObjects, HPAs, and the replicas of targets.

mod hpas;
mod objects;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::ScaledObject;
use kedge_cluster::stored::{Stored, Unreadable};
use kedge_cluster::{ListWatchEvent, NamespacedName, ObjectKey, ScalableKind, ScaleTarget, Scope, TargetKind};
use kedge_core::hpa::ownership::{HpaOwnership, check_ownership};
use kedge_core::hpa::render::hpa_name;
use kedge_core::rivals::rivals;
use serde::Deserialize;
use tokio::sync::watch as signal;

use crate::work_queue::WorkQueue;
pub use hpas::{CachedHpa, scaling_active};
use hpas::{Hpas, owner};
use objects::Objects;
use objects::is_later;
pub(crate) use objects::needs_reconcile;

/// The cached part of the cluster. A change enqueues the objects that it concerns.
#[derive(Debug)]
pub struct ClusterCache {
    cached: Mutex<Cached>,
    queue: Arc<WorkQueue<ObjectKey>>,
    /// Signals every change of objects, apart from changes of their status alone.
    changed: signal::Sender<()>,
}

#[derive(Debug, Default)]
struct Cached {
    scaled_objects: Objects<ScaledObject>,
    /// The ScaledObjects that our types cannot read.
    unreadable: BTreeMap<ObjectKey, Arc<Unreadable>>,
    hpas: Hpas,
    /// Only targets of objects are cached, so that this does not grow with the cluster.
    targets: BTreeMap<ScaleTarget, CachedReplicas>,
    /// The kinds of targets that may not be watched: what was read of their replicas may be outdated.
    unwatched: BTreeSet<(TargetKind, Scope)>,
}

impl Cached {
    fn is_unwatched(&self, target: &ScaleTarget) -> bool {
        self.unwatched.iter().any(|(kind, scope)| *kind == target.kind && scope.includes(&target.key.namespace))
    }
}

/// The cached replicas of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedReplicas {
    /// To be read: the target changed, or was never read.
    Stale,
    Known(i32),
    Missing,
}

/// What a watched workload shows of its replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicasIn {
    /// `spec.replicas` equals what `/scale` shows.
    Spec,
    /// Only `/scale` shows the replicas; a watch event makes them stale.
    ScaleOnly,
}

/// The cached fields of a workload: its name and its desired replicas.
#[derive(Clone, Debug, Deserialize)]
pub struct Workload {
    metadata: WorkloadMetadata,
    #[serde(default)]
    spec: WorkloadSpec,
}

#[derive(Clone, Debug, Deserialize)]
struct WorkloadMetadata {
    name: String,
    namespace: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct WorkloadSpec {
    replicas: Option<i32>,
}

impl ClusterCache {
    pub fn new(queue: Arc<WorkQueue<ObjectKey>>) -> Self {
        Self { cached: Mutex::default(), queue, changed: signal::Sender::new(()) }
    }

    /// Signals when objects are created, changed or deleted.
    pub fn changes(&self) -> signal::Receiver<()> {
        self.changed.subscribe()
    }

    pub fn objects(&self) -> Vec<Arc<ScaledObject>> {
        self.lock().scaled_objects.values().cloned().collect()
    }

    pub fn object(&self, key: &ObjectKey) -> Option<Arc<ScaledObject>> {
        self.lock().scaled_objects.get(key).cloned()
    }

    /// The object, if our types cannot read it.
    pub fn unreadable(&self, key: &ObjectKey) -> Option<Arc<Unreadable>> {
        self.lock().unreadable.get(key).cloned()
    }

    pub fn hpa(&self, key: &NamespacedName) -> Option<CachedHpa> {
        self.lock().hpas.get(key).cloned()
    }

    /// Enqueues every object.
    pub fn enqueue_all(&self) {
        let cached = self.lock();
        cached.scaled_objects.keys().chain(cached.unreadable.keys()).for_each(|key| self.queue.add_now(key.clone()));
    }

    /// The key and the trigger types of every object.
    pub fn triggers(&self) -> Vec<(ObjectKey, Vec<String>)> {
        let entry = |(key, object): (&ObjectKey, &Arc<ScaledObject>)| {
            (key.clone(), object.spec.triggers.iter().map(|trigger| trigger.r#type.clone()).collect())
        };
        self.lock().scaled_objects.iter().map(entry).collect()
    }

    /// The names of the objects that keep this object's target.
    pub fn rivals(&self, object: &ScaledObject) -> Vec<String> {
        let cached = self.lock();
        let target = NamespacedName::new(
            object.metadata.namespace.as_deref().unwrap_or_default(),
            &object.spec.scale_target_ref.name,
        );
        rivals(object, cached.scaled_objects.with_target(&target).map(|other| &**other))
    }

    /// The object's HPA, if it exists and is the object's own.
    pub fn own_hpa(&self, object: &ScaledObject) -> Option<Arc<HorizontalPodAutoscaler>> {
        let recorded = object.status.as_ref().and_then(|status| status.hpa_name.clone());
        let name = recorded.unwrap_or_else(|| hpa_name(object));
        let found = self.hpa(&NamespacedName::new(object.metadata.namespace.as_deref().unwrap_or_default(), name));
        found.map(|found| found.hpa).filter(|found| check_ownership(object, found) == HpaOwnership::Ours)
    }

    /// Caches an object as a write returned it, without waiting for the watch.
    pub fn record_written_object(&self, object: ScaledObject) {
        self.lock().scaled_objects.record_written(object);
    }

    /// The names of all HPAs that an object owns.
    pub fn hpas_of(&self, object: &ScaledObject) -> Vec<String> {
        self.lock().hpas.owned_by(&ObjectKey::from(object)).map(|key| key.name.clone()).collect()
    }

    /// All HPAs that an object owns.
    pub fn own_hpas(&self, owner: &ObjectKey) -> Vec<Arc<HorizontalPodAutoscaler>> {
        let cached = self.lock();
        cached.hpas.owned_by(owner).filter_map(|key| cached.hpas.get(key)).map(|cached| cached.hpa.clone()).collect()
    }

    /// Caches an HPA as a write returned it, without waiting for the watch.
    pub fn record_written_hpa(&self, hpa: HorizontalPodAutoscaler) {
        let key = NamespacedName::from_meta(&hpa.metadata);
        let mut cached = self.lock();
        let version = hpa.metadata.resource_version.as_deref();
        if cached.hpas.get(&key).is_none_or(|cached| is_later(version, cached.version.as_deref())) {
            cached.hpas.insert(hpa);
        }
    }

    pub fn record_deleted_hpa(&self, key: &NamespacedName) {
        self.lock().hpas.remove(key);
    }

    /// Caches a target from now on, and returns what is cached of it.
    pub fn track(&self, target: &ScaleTarget) -> CachedReplicas {
        let mut cached = self.lock();
        let replicas = *cached.targets.entry(target.clone()).or_insert(CachedReplicas::Stale);
        if cached.is_unwatched(target) { CachedReplicas::Stale } else { replicas }
    }

    /// The replicas of a target, if they are cached.
    pub fn replicas_of(&self, target: &ScaleTarget) -> Option<i32> {
        let cached = self.lock();
        match cached.targets.get(target)? {
            CachedReplicas::Known(replicas) if !cached.is_unwatched(target) => Some(*replicas),
            _ => None,
        }
    }

    /// Caches the replicas of a target as they were read or written.
    pub fn record_replicas(&self, target: &ScaleTarget, replicas: CachedReplicas) {
        if let Some(cached) = self.lock().targets.get_mut(target) {
            *cached = replicas;
        }
    }

    pub fn untrack(&self, target: &ScaleTarget) {
        self.lock().targets.remove(target);
    }

    /// Applies an event of the watch of ScaledObjects in this scope, of which some may be unreadable.
    pub fn apply_stored_event(&self, scope: &Scope, event: ListWatchEvent<Stored<ScaledObject>>) {
        let key = |one: &Unreadable| ObjectKey::from_meta(ScalableKind::ScaledObject, &one.metadata);
        let event = match event {
            ListWatchEvent::Listed(all) => {
                let (readable, unreadable) = Stored::split(all);
                self.lock().unreadable.retain(|key, _| !scope.includes(&key.namespace));
                unreadable.into_iter().for_each(|one| self.record_unreadable(key(&one), one));
                ListWatchEvent::Listed(readable)
            }
            ListWatchEvent::Applied(Stored::Unreadable(one)) => return self.record_unreadable(key(&one), *one),
            ListWatchEvent::Deleted(Stored::Unreadable(one)) => {
                let key = key(&one);
                self.lock().unreadable.remove(&key);
                return self.queue.add_now(key);
            }
            ListWatchEvent::Applied(Stored::Readable(object)) => {
                self.lock().unreadable.remove(&ObjectKey::from(&object));
                ListWatchEvent::Applied(object)
            }
            ListWatchEvent::Deleted(Stored::Readable(object)) => {
                self.lock().unreadable.remove(&ObjectKey::from(&object));
                ListWatchEvent::Deleted(object)
            }
        };
        self.apply_object_event(scope, event);
    }

    fn record_unreadable(&self, key: ObjectKey, object: Unreadable) {
        let mut cached = self.lock();
        cached.scaled_objects.remove(&key);
        cached.unreadable.insert(key.clone(), Arc::new(object));
        drop(cached);
        self.changed.send_replace(());
        self.queue.add_now(key);
    }

    /// Applies an event of the watch of ScaledObjects in this scope.
    pub fn apply_object_event(&self, scope: &Scope, event: ListWatchEvent<ScaledObject>) {
        let is_listed = matches!(event, ListWatchEvent::Listed(_));
        let concerned = self.lock().scaled_objects.apply_event(scope, event);
        if is_listed || !concerned.is_empty() {
            self.changed.send_replace(());
        }
        concerned.into_iter().for_each(|key| self.queue.add_now(key));
    }

    /// Applies an event of the watch of HPAs in this scope. HPAs without an owner of ours are not cached: one that has the name of ours is
    /// found when ours is created.
    pub fn apply_hpa_event(&self, scope: &Scope, event: ListWatchEvent<HorizontalPodAutoscaler>) {
        let mut cached = self.lock();
        let concerned: Vec<ObjectKey> = match event {
            ListWatchEvent::Listed(all) => {
                cached.hpas.replace_all(scope, all.into_iter().filter(|hpa| owner(hpa).is_some()))
            }
            ListWatchEvent::Applied(hpa)
                if owner(&hpa).is_none() && cached.hpas.get(&NamespacedName::from_meta(&hpa.metadata)).is_none() =>
            {
                Vec::new()
            }
            ListWatchEvent::Applied(hpa) => cached.hpas.insert(hpa),
            ListWatchEvent::Deleted(hpa) => {
                cached.hpas.remove(&NamespacedName::from_meta(&hpa.metadata));
                owner(&hpa).into_iter().collect()
            }
        };
        drop(cached);
        concerned.into_iter().for_each(|key| self.queue.add_now(key));
    }

    /// Notes that a kind of targets may not be watched in this scope. The next list ends that.
    pub fn record_unwatched(&self, kind: &TargetKind, scope: &Scope) {
        self.lock().unwatched.insert((kind.clone(), scope.clone()));
    }

    /// Applies an event of the watch of a kind of workloads in this scope.
    pub fn apply_workload_event(
        &self,
        scope: &Scope,
        kind: &TargetKind,
        replicas_in: ReplicasIn,
        event: ListWatchEvent<Workload>,
    ) {
        let target = |workload: &Workload| ScaleTarget {
            kind: kind.clone(),
            key: NamespacedName::new(&workload.metadata.namespace, &workload.metadata.name),
        };
        let replicas = |workload: &Workload| match replicas_in {
            ReplicasIn::Spec => CachedReplicas::Known(workload.spec.replicas.unwrap_or(1)),
            ReplicasIn::ScaleOnly => CachedReplicas::Stale,
        };
        let changes: Vec<(ScaleTarget, CachedReplicas)> = match event {
            ListWatchEvent::Listed(all) => {
                let all: BTreeMap<ScaleTarget, CachedReplicas> =
                    all.iter().map(|one| (target(one), replicas(one))).collect();
                let mut cached = self.lock();
                cached.unwatched.remove(&(kind.clone(), scope.clone()));
                let tracked = cached
                    .targets
                    .keys()
                    .filter(|target| target.kind == *kind && scope.includes(&target.key.namespace));
                tracked.map(|one| (one.clone(), all.get(one).copied().unwrap_or(CachedReplicas::Missing))).collect()
            }
            ListWatchEvent::Applied(workload) => vec![(target(&workload), replicas(&workload))],
            ListWatchEvent::Deleted(workload) => vec![(target(&workload), CachedReplicas::Missing)],
        };
        for (target, replicas) in changes {
            self.apply_target_change(&target, replicas);
        }
    }

    /// Applies a change of one target, and enqueues its objects when the target appears or disappears.
    pub fn apply_target_change(&self, target: &ScaleTarget, replicas: CachedReplicas) {
        let mut cached = self.lock();
        let Some(before) = cached.targets.get_mut(target) else { return };
        let appears = (*before == CachedReplicas::Missing) != (replicas == CachedReplicas::Missing)
            || replicas == CachedReplicas::Stale;
        *before = replicas;
        if !appears {
            return;
        }
        let concerned: Vec<ObjectKey> = cached.scaled_objects.keys_with_target(&target.key).cloned().collect();
        drop(cached);
        concerned.into_iter().for_each(|key| self.queue.add_now(key));
    }

    fn lock(&self) -> MutexGuard<'_, Cached> {
        self.cached.lock().expect("no holder of the lock panics")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(version: u32, generation: u32) -> ScaledObject {
        serde_json::from_value(json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": { "name": "web", "namespace": "shop", "resourceVersion": version.to_string(), "generation": generation },
            "spec": { "scaleTargetRef": { "name": "web" }, "triggers": [] },
        }))
        .unwrap()
    }

    fn cluster_cache() -> (ClusterCache, Arc<WorkQueue<ObjectKey>>) {
        let queue = Arc::new(WorkQueue::new());
        (ClusterCache::new(queue.clone()), queue)
    }

    #[test]
    fn an_old_response_does_not_hide_a_later_change() {
        let (cache, _) = cluster_cache();
        let key = ObjectKey::scaled_object("shop", "web");
        let version = || cache.object(&key).and_then(|object| object.metadata.resource_version.clone());
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Applied(object(7, 1)));
        cache.record_written_object(object(5, 1));
        assert_eq!(version().as_deref(), Some("7"));
        cache.record_written_object(object(9, 1));
        assert_eq!(version().as_deref(), Some("9"));
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Deleted(object(10, 1)));
        cache.record_written_object(object(9, 1));
        assert_eq!(version(), None, "what is gone stays gone");
    }

    #[test]
    fn the_replicas_of_a_target_that_cannot_be_watched_are_read_each_time() {
        let (cache, _) = cluster_cache();
        let target = crate::test_cluster::deployment("shop", "web");
        assert_eq!(cache.track(&target), CachedReplicas::Stale);
        cache.record_replicas(&target, CachedReplicas::Known(3));
        assert_eq!((cache.track(&target), cache.replicas_of(&target)), (CachedReplicas::Known(3), Some(3)));
        cache.record_unwatched(&target.kind, &Scope::Namespace("other".to_owned()));
        assert_eq!(cache.replicas_of(&target), Some(3), "only another namespace is not watched");
        cache.record_unwatched(&target.kind, &Scope::Cluster);
        assert_eq!((cache.track(&target), cache.replicas_of(&target)), (CachedReplicas::Stale, None));
        cache.apply_workload_event(&Scope::Cluster, &target.kind, ReplicasIn::Spec, ListWatchEvent::Listed(vec![]));
        assert_eq!(cache.track(&target), CachedReplicas::Missing, "the list shows it");
    }

    #[tokio::test(start_paused = true)]
    async fn only_changes_that_need_a_reconcile_enqueue_the_object() {
        let (cache, queue) = cluster_cache();
        let enqueued = async || tokio::time::timeout(std::time::Duration::from_secs(1), queue.next()).await.is_ok();
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Listed(vec![object(1, 1)]));
        assert!(enqueued().await, "a new object");
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Applied(object(2, 1)));
        assert!(!enqueued().await, "only its status changed");
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Applied(object(3, 2)));
        assert!(enqueued().await, "its spec changed");
        cache.apply_object_event(&Scope::Namespace("elsewhere".to_owned()), ListWatchEvent::Listed(vec![]));
        assert!(!enqueued().await, "another namespace was listed");
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Listed(vec![]));
        assert!(enqueued().await, "it is gone");
    }
}
