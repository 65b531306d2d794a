//! The cluster cache, filled by watches: ScaledObjects, HPAs, and the replicas of targets.

mod cached_object;
mod hpas;
mod objects;
mod small_set;
mod targets;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::ScaledObject;
use kedge_cluster::stored::{Stored, Unreadable};
use kedge_cluster::{ListWatchEvent, NamespacedName, ObjectKey, ScalableKind, ScaleTarget, Scope, TargetKind};
use kedge_core::hpa::ownership::{HpaOwnership, check_ownership};
use kedge_core::hpa::render::hpa_name;
use kedge_core::rivals::rivals;
use tokio::sync::watch as signal;

use crate::work_queue::WorkQueue;
pub(crate) use cached_object::authentications;
pub use cached_object::{Cached, CachedObject, Lazy, LazyObject};
use hpas::Hpas;
pub use hpas::{CachedHpa, ReducedHpa, Stabilized, scaling_active};
use objects::Objects;
pub(crate) use objects::{is_later, needs_reconcile};
use targets::Targets;
pub use targets::{CachedReplicas, ReplicasIn, WatchedReplicas, Workload};

/// Learns how targets scale, as watches report it.
pub trait ScalingObserver: std::fmt::Debug + Send + Sync {
    fn note_replicas(&self, object: &ObjectKey, replicas: WatchedReplicas);

    fn note_stabilized(&self, object: &ObjectKey, stabilized: Option<Stabilized>);
}

/// The cached part of the cluster. A change enqueues the objects that it concerns.
#[derive(Debug)]
pub struct ClusterCache {
    cached: Mutex<Contents>,
    queue: Arc<WorkQueue<ObjectKey>>,
    observer: Option<Arc<dyn ScalingObserver>>,
    /// Signals every change of objects, apart from changes of their status alone.
    changed: signal::Sender<()>,
}

#[derive(Debug, Default)]
struct Contents {
    scaled_objects: Objects,
    /// The ScaledObjects that our types cannot read.
    unreadable: BTreeMap<ObjectKey, Arc<Unreadable>>,
    hpas: Hpas,
    targets: Targets,
}

impl Contents {
    /// Changes what is cached of objects, and drops targets that no object names any more.
    fn change_objects<T>(&mut self, change: impl FnOnce(&mut Objects) -> T) -> T {
        let done = change(&mut self.scaled_objects);
        for name in self.scaled_objects.take_vacated() {
            self.targets.forget(&name);
        }
        done
    }
}

impl ClusterCache {
    pub fn new(queue: Arc<WorkQueue<ObjectKey>>) -> Self {
        Self { cached: Mutex::default(), queue, observer: None, changed: signal::Sender::new(()) }
    }

    /// Lets an observer learn what watches report.
    pub fn with_observer(self, observer: Option<Arc<dyn ScalingObserver>>) -> Self {
        Self { observer, ..self }
    }

    /// Signals when objects are created, changed or deleted.
    pub fn changes(&self) -> signal::Receiver<()> {
        self.changed.subscribe()
    }

    pub fn objects(&self) -> Vec<Arc<CachedObject>> {
        self.lock().scaled_objects.values().cloned().collect()
    }

    pub fn object(&self, key: &ObjectKey) -> Option<LazyObject> {
        self.lock().scaled_objects.get(key).cloned().map(LazyObject::from)
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

    /// The names of the objects that keep this object's target.
    pub fn rivals(&self, object: &LazyObject) -> Vec<String> {
        let others: Vec<_> = {
            let cached = self.lock();
            let all = cached.scaled_objects.with_target(&object.cached.target);
            all.filter(|other| other.key != object.cached.key).cloned().collect()
        };
        let others: Vec<ScaledObject> = others.iter().map(|other| other.read()).collect();
        rivals(object, others.iter())
    }

    /// Whether no other object has a target of the same name.
    pub fn is_alone(&self, object: &CachedObject) -> bool {
        self.lock().scaled_objects.keys_with_target(&object.target).all(|key| *key == object.key)
    }

    /// The object's HPA, if it exists and is the object's own.
    pub fn own_hpa(&self, object: &ScaledObject) -> Option<HorizontalPodAutoscaler> {
        let found = self.hpa(&recorded_hpa(object)).map(|found| found.hpa.read());
        found.filter(|found| check_ownership(object, found) == HpaOwnership::Ours)
    }

    /// Whether an HPA of the object scales its target.
    pub fn is_hpa_scaling(&self, key: &ObjectKey) -> bool {
        let cached = self.lock();
        cached.hpas.of(key).any(|found| found.hpa.scales_for(key))
    }

    /// Caches an object as a write returned it, without waiting for the watch.
    pub fn record_written_object(&self, object: ScaledObject) -> LazyObject {
        let cached = Arc::new(CachedObject::from(object.clone()));
        self.lock().change_objects(|objects| objects.record_written(cached.clone()));
        LazyObject::written(cached, object)
    }

    /// The names of all HPAs that an object owns.
    pub fn hpas_of(&self, object: &ScaledObject) -> Vec<Arc<str>> {
        self.lock().hpas.owned_by(&ObjectKey::from(object)).map(|key| key.name.clone()).collect()
    }

    /// Whether an object owns this HPA, as it is cached, and no other.
    pub fn is_only_hpa(&self, owner: &ObjectKey, hpa: &Arc<ReducedHpa>) -> bool {
        let cached = self.lock();
        let mut own = cached.hpas.of(owner);
        own.next().is_some_and(|own| Arc::ptr_eq(&own.hpa, hpa)) && own.next().is_none()
    }

    /// Caches an HPA as a write returned it, without waiting for the watch.
    pub fn record_written_hpa(&self, hpa: HorizontalPodAutoscaler) {
        let written = CachedHpa::from(hpa);
        let mut cached = self.lock();
        let is_newer = |cached: &CachedHpa| is_later(written.version.as_deref(), cached.version.as_deref());
        if cached.hpas.get(&written.hpa.key).is_none_or(is_newer) {
            cached.hpas.insert(written);
        }
    }

    pub fn record_deleted_hpa(&self, key: &NamespacedName) {
        self.lock().hpas.remove(key);
    }

    /// What is cached of a target's replicas.
    pub fn replicas(&self, target: &ScaleTarget) -> CachedReplicas {
        self.lock().targets.get(target)
    }

    /// The ready replicas of a target, where a watch shows them.
    pub fn ready_replicas(&self, target: &ScaleTarget) -> Option<i32> {
        self.lock().targets.ready(target)
    }

    /// Caches the replicas of a target as they were read or written.
    pub fn record_replicas(&self, target: &ScaleTarget, replicas: CachedReplicas) {
        let mut cached = self.lock();
        if cached.scaled_objects.has_target(&target.key) {
            cached.targets.record(target, replicas);
        }
    }

    /// Applies an event of the watch of ScaledObjects in this scope, of which some may be unreadable.
    pub fn apply_stored_event(&self, scope: &Scope, event: ListWatchEvent<Stored<CachedObject>>) {
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
                self.lock().unreadable.remove(&object.key);
                ListWatchEvent::Applied(object)
            }
            ListWatchEvent::Deleted(Stored::Readable(object)) => {
                self.lock().unreadable.remove(&object.key);
                ListWatchEvent::Deleted(object)
            }
        };
        self.apply_object_event(scope, event);
    }

    fn record_unreadable(&self, key: ObjectKey, object: Unreadable) {
        let mut cached = self.lock();
        cached.change_objects(|objects| objects.remove(&key));
        cached.unreadable.insert(key.clone(), Arc::new(object));
        drop(cached);
        self.changed.send_replace(());
        self.queue.add_now(key);
    }

    /// Applies an event of the watch of ScaledObjects in this scope.
    pub fn apply_object_event(&self, scope: &Scope, event: ListWatchEvent<CachedObject>) {
        let is_listed = matches!(event, ListWatchEvent::Listed(_));
        let concerned = self.lock().change_objects(|objects| objects.apply_event(scope, event));
        if is_listed || !concerned.is_empty() {
            self.changed.send_replace(());
        }
        concerned.into_iter().for_each(|key| self.queue.add_now(key));
    }

    /// Applies an event of the watch of HPAs in this scope. HPAs without an owner of ours are not cached: one that has the name of ours is
    /// found when ours is created.
    pub fn apply_hpa_event(&self, scope: &Scope, event: ListWatchEvent<CachedHpa>) {
        self.report_stabilized(&event);
        let mut cached = self.lock();
        let concerned: Vec<ObjectKey> = match event {
            ListWatchEvent::Listed(all) => {
                cached.hpas.replace_all(scope, all.into_iter().filter(|hpa| hpa.owner().is_some()))
            }
            ListWatchEvent::Applied(found) if found.owner().is_none() && cached.hpas.get(&found.hpa.key).is_none() => {
                Vec::new()
            }
            ListWatchEvent::Applied(found) => cached.hpas.insert(found),
            ListWatchEvent::Deleted(found) => {
                cached.hpas.remove(&found.hpa.key);
                found.owner().into_iter().cloned().collect()
            }
        };
        drop(cached);
        concerned.into_iter().for_each(|key| self.queue.add_now(key));
    }

    fn report_stabilized(&self, event: &ListWatchEvent<CachedHpa>) {
        let Some(observer) = &self.observer else { return };
        let found = match event {
            ListWatchEvent::Listed(all) => all.as_slice(),
            ListWatchEvent::Applied(found) | ListWatchEvent::Deleted(found) => std::slice::from_ref(found),
        };
        let is_deleted = matches!(event, ListWatchEvent::Deleted(_));
        for hpa in found {
            let stabilized = hpa.stabilized.filter(|_| !is_deleted);
            hpa.owner().into_iter().for_each(|owner| observer.note_stabilized(owner, stabilized));
        }
    }

    /// Whether the HPA controller waits before it scales the target of an object.
    pub(crate) fn is_stabilized(&self, key: &ObjectKey) -> bool {
        let cached = self.lock();
        cached.hpas.of(key).any(|found| found.stabilized.is_some())
    }

    /// Notes that a kind of targets may not be watched in this scope. The next list ends that.
    pub fn record_unwatched(&self, kind: &Arc<TargetKind>, scope: &Scope) {
        self.lock().targets.record_unwatched(kind, scope);
    }

    /// Applies an event of the watch of a kind of workloads in this scope.
    pub fn apply_workload_event(
        &self,
        scope: &Scope,
        kind: &Arc<TargetKind>,
        shown: ReplicasIn,
        event: ListWatchEvent<Workload>,
    ) {
        let mut cached = self.lock();
        let Contents { scaled_objects, targets, .. } = &mut *cached;
        let is_named = |(key, _): &(NamespacedName, Option<WatchedReplicas>)| scaled_objects.has_target(key);
        let changes: BTreeMap<NamespacedName, Option<WatchedReplicas>> = match event {
            ListWatchEvent::Listed(all) => {
                targets.record_listed(kind, scope);
                let missing = targets.of_kind(kind, scope).map(|name| (name.clone(), None));
                let listed = all.iter().map(|one| (one.key(), Some(one.replicas())));
                missing.chain(listed).filter(is_named).collect()
            }
            ListWatchEvent::Applied(one) => [(one.key(), Some(one.replicas()))].into_iter().filter(is_named).collect(),
            ListWatchEvent::Deleted(one) => [(one.key(), None)].into_iter().filter(is_named).collect(),
        };
        let (mut concerned, mut noted) = (Vec::new(), Vec::new());
        for (key, watched) in changes {
            let target = ScaleTarget { kind: kind.clone(), key };
            let replicas = match (watched, shown) {
                (None, _) => CachedReplicas::Missing,
                (Some(watched), ReplicasIn::Spec) => CachedReplicas::Known(watched.desired),
                (Some(_), ReplicasIn::ScaleOnly) => CachedReplicas::Stale,
            };
            let before = targets.record(&target, replicas);
            targets.record_ready(&target, watched.filter(|_| shown == ReplicasIn::Spec).map(|watched| watched.ready));
            if let (Some(_), Some(watched), ReplicasIn::Spec) = (&self.observer, watched, shown) {
                noted.extend(scaled_objects.keys_with_target(&target.key).map(|key| (key.clone(), watched)));
            }
            let appears = (before == CachedReplicas::Missing) != (replicas == CachedReplicas::Missing);
            if appears || replicas == CachedReplicas::Stale {
                concerned.extend(scaled_objects.keys_with_target(&target.key).cloned());
            }
        }
        drop(cached);
        // Observers have locks of their own, so that they are called without ours.
        if let Some(observer) = &self.observer {
            noted.iter().for_each(|(key, watched)| observer.note_replicas(key, *watched));
        }
        concerned.into_iter().for_each(|key| self.queue.add_now(key));
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.cached.lock().expect("no holder of the lock panics")
    }
}

/// The name of the object's HPA: as its status records it, or as it will be.
fn recorded_hpa(object: &ScaledObject) -> NamespacedName {
    let recorded = object.status.as_ref().and_then(|status| status.hpa_name.clone());
    let name = recorded.unwrap_or_else(|| hpa_name(object));
    NamespacedName::new(object.metadata.namespace.as_deref().unwrap_or_default(), name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(version: u32, generation: u32) -> CachedObject {
        scaled_object(version, generation).into()
    }

    fn scaled_object(version: u32, generation: u32) -> ScaledObject {
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
        cache.record_written_object(scaled_object(5, 1));
        assert_eq!(version().as_deref(), Some("7"));
        cache.record_written_object(scaled_object(9, 1));
        assert_eq!(version().as_deref(), Some("9"));
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Deleted(object(10, 1)));
        cache.record_written_object(scaled_object(9, 1));
        assert_eq!(version(), None, "what is gone stays gone");
    }

    #[test]
    fn an_object_is_alone_until_another_has_a_target_of_the_same_name() {
        let (cache, _) = cluster_cache();
        let named = |name: &str| {
            let mut object = scaled_object(1, 1);
            object.metadata.name = Some(name.to_owned());
            CachedObject::from(object)
        };
        let is_alone = || cache.is_alone(&named("web"));
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Applied(named("web")));
        assert!(is_alone());
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Applied(named("other")));
        assert!(!is_alone());
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Deleted(named("other")));
        assert!(is_alone());
    }

    #[test]
    fn the_replicas_of_a_target_that_cannot_be_watched_are_read_each_time() {
        let (cache, _) = cluster_cache();
        let target = crate::test_cluster::deployment("shop", "web");
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Applied(object(1, 1)));
        assert_eq!(cache.replicas(&target), CachedReplicas::Stale);
        cache.record_replicas(&target, CachedReplicas::Known(3));
        assert_eq!(cache.replicas(&target), CachedReplicas::Known(3));
        cache.record_unwatched(&target.kind, &Scope::Namespace("other".to_owned()));
        assert_eq!(cache.replicas(&target), CachedReplicas::Known(3), "only another namespace is not watched");
        cache.record_unwatched(&target.kind, &Scope::Cluster);
        assert_eq!(cache.replicas(&target), CachedReplicas::Stale);
        cache.apply_workload_event(&Scope::Cluster, &target.kind, ReplicasIn::Spec, ListWatchEvent::Listed(vec![]));
        assert_eq!(cache.replicas(&target), CachedReplicas::Missing, "the list shows it");
    }

    #[test]
    fn only_workloads_that_objects_name_are_cached() {
        let (cache, _) = cluster_cache();
        let target = crate::test_cluster::deployment("shop", "web");
        let workload = |name: &str| {
            let workload = json!({ "metadata": { "name": name, "namespace": "shop" }, "spec": { "replicas": 3 } });
            serde_json::from_value::<Workload>(workload).unwrap()
        };
        let list = || {
            let all = ListWatchEvent::Listed(vec![workload("other"), workload("web")]);
            cache.apply_workload_event(&Scope::Cluster, &target.kind, ReplicasIn::Spec, all);
            cache.replicas(&target)
        };
        assert_eq!(list(), CachedReplicas::Stale, "no object names it");
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Listed(vec![object(1, 1)]));
        assert_eq!(list(), CachedReplicas::Known(3));
        assert_eq!(cache.replicas(&crate::test_cluster::deployment("shop", "other")), CachedReplicas::Stale);
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Applied(object(2, 2)));
        assert_eq!(cache.replicas(&target), CachedReplicas::Known(3), "the object still names it");
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Deleted(object(3, 2)));
        assert_eq!(cache.replicas(&target), CachedReplicas::Stale, "no object names it any more");
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

    /// Asks the cache in return.
    #[derive(Debug, Default)]
    struct Asking(std::sync::OnceLock<Arc<ClusterCache>>, Mutex<Vec<i32>>);

    impl ScalingObserver for Asking {
        fn note_replicas(&self, object: &ObjectKey, replicas: WatchedReplicas) {
            assert!(!self.0.get().unwrap().is_stabilized(object));
            self.1.lock().unwrap().push(replicas.ready);
        }

        fn note_stabilized(&self, _: &ObjectKey, _: Option<Stabilized>) {}
    }

    #[test]
    fn an_observer_may_ask_the_cache() {
        let observer = Arc::new(Asking::default());
        let cache = Arc::new(ClusterCache::new(Arc::new(WorkQueue::new())).with_observer(Some(observer.clone())));
        observer.0.set(cache.clone()).unwrap();
        let target = crate::test_cluster::deployment("shop", "web");
        cache.apply_object_event(&Scope::Cluster, ListWatchEvent::Listed(vec![object(1, 1)]));
        let workload = json!({
            "metadata": { "name": "web", "namespace": "shop" }, "spec": { "replicas": 3 }, "status": { "readyReplicas": 2 },
        });
        let listed = ListWatchEvent::Listed(vec![serde_json::from_value(workload).unwrap()]);
        cache.apply_workload_event(&Scope::Cluster, &target.kind, ReplicasIn::Spec, listed);
        assert_eq!(*observer.1.lock().unwrap(), [2]);
        assert_eq!(cache.ready_replicas(&target), Some(2));
    }
}
