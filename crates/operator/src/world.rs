//! What the operator knows of the cluster, kept fresh by watches: the objects, the HPAs, and the replicas of targets.

mod hpas;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_api::ScaledObject;
use serde::Deserialize;
use tokio::sync::watch as signal;

use crate::queue::Queue;
use hpas::{Hpas, owner};
use kedge_cluster::ListWatchEvent;
use kedge_cluster::{ObjectKey, Scope};
use kedge_cluster::{ScaleTarget, TargetKind};

/// The known part of the cluster. Changes wake the objects that they concern.
#[derive(Debug)]
pub struct World {
    known: Mutex<Known>,
    queue: Arc<Queue<ObjectKey>>,
    /// Told of every change of objects that is not only one of their status.
    changed: signal::Sender<()>,
}

#[derive(Debug, Default)]
struct Known {
    objects: BTreeMap<ObjectKey, Arc<ScaledObject>>,
    hpas: Hpas,
    /// Only targets of objects are kept, so that this does not grow with the cluster.
    targets: BTreeMap<ScaleTarget, TargetSeen>,
}

/// What is known of a target's replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetSeen {
    /// To be read: it changed, or was never read.
    Unread,
    Replicas(i32),
    Missing,
}

/// What a watched workload tells of its replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// `spec.replicas` is what `/scale` says.
    Replicas,
    /// Only that something changed.
    Change,
}

/// Takes everything within the scope out of a map.
fn take_scope<T>(scope: &Scope, map: &mut BTreeMap<ObjectKey, T>) -> BTreeMap<ObjectKey, T> {
    let (inside, outside) = std::mem::take(map).into_iter().partition(|(key, _)| scope.includes(&key.namespace));
    *map = outside;
    inside
}

/// As much of a workload as is needed: who it is, and how many replicas it asks for.
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

impl World {
    pub fn new(queue: Arc<Queue<ObjectKey>>) -> Self {
        Self { known: Mutex::default(), queue, changed: signal::Sender::new(()) }
    }

    /// Told when objects come, change or go.
    pub fn changes(&self) -> signal::Receiver<()> {
        self.changed.subscribe()
    }

    pub fn objects(&self) -> Vec<Arc<ScaledObject>> {
        self.lock().objects.values().cloned().collect()
    }

    pub fn object(&self, key: &ObjectKey) -> Option<Arc<ScaledObject>> {
        self.lock().objects.get(key).cloned()
    }

    pub fn hpa(&self, key: &ObjectKey) -> Option<Arc<HorizontalPodAutoscaler>> {
        self.lock().hpas.get(key).cloned()
    }

    /// Makes every object due.
    pub fn wake_all(&self) {
        self.lock().objects.keys().for_each(|key| self.queue.add_now(key.clone()));
    }

    /// The namespace and the trigger types of every object.
    pub fn triggers(&self) -> Vec<(String, Vec<String>)> {
        let of = |(key, object): (&ObjectKey, &Arc<ScaledObject>)| {
            (key.namespace.clone(), object.spec.triggers.iter().map(|trigger| trigger.r#type.clone()).collect())
        };
        self.lock().objects.iter().map(of).collect()
    }

    /// Other objects of the namespace that scale the same target.
    pub fn rivals(&self, object: &ScaledObject) -> Vec<String> {
        let own = ObjectKey::from_meta(&object.metadata);
        let same = |other: &ScaledObject| {
            let (a, b) = (&object.spec.scale_target_ref, &other.spec.scale_target_ref);
            a.name == b.name && a.api_version_and_kind() == b.api_version_and_kind()
        };
        let known = self.lock();
        let others = known.objects.iter().filter(|(key, other)| {
            key.namespace == own.namespace && **key != own && other.metadata.deletion_timestamp.is_none() && same(other)
        });
        // The older object keeps the target.
        others
            .filter(|(key, other)| {
                (other.metadata.creation_timestamp.as_ref().map(|time| time.0), &key.name)
                    < (object.metadata.creation_timestamp.as_ref().map(|time| time.0), &own.name)
            })
            .map(|(key, _)| key.name.clone())
            .collect()
    }

    /// Takes an object that we wrote, without waiting for the watch.
    pub fn wrote_object(&self, object: ScaledObject) {
        let key = ObjectKey::from_meta(&object.metadata);
        let mut known = self.lock();
        // The watch may have told of a later change already, or of the end.
        if known.objects.get(&key).is_some_and(|seen| is_later(&object.metadata, &seen.metadata)) {
            known.objects.insert(key, Arc::new(object));
        }
    }

    /// Takes word that an object is gone, without waiting for the watch.
    pub fn lost_object(&self, key: &ObjectKey) {
        self.lock().objects.remove(key);
        self.changed.send_replace(());
    }

    /// The names of all HPAs that an object owns.
    pub fn hpas_of(&self, object: &ScaledObject) -> Vec<String> {
        self.lock().hpas.of(&ObjectKey::from_meta(&object.metadata)).map(|key| key.name.clone()).collect()
    }

    /// Takes an HPA that we wrote, without waiting for the watch.
    pub fn wrote_hpa(&self, hpa: HorizontalPodAutoscaler) {
        let key = ObjectKey::from_meta(&hpa.metadata);
        let mut known = self.lock();
        if known.hpas.get(&key).is_none_or(|seen| is_later(&hpa.metadata, &seen.metadata)) {
            known.hpas.insert(Arc::new(hpa));
        }
    }

    pub fn deleted_hpa(&self, key: &ObjectKey) {
        self.lock().hpas.remove(key);
    }

    /// Keeps an eye on a target from now on, and answers what is known of it.
    pub fn track(&self, target: &ScaleTarget) -> TargetSeen {
        *self.lock().targets.entry(target.clone()).or_insert(TargetSeen::Unread)
    }

    /// The replicas of a target, if they are known.
    pub fn replicas_of(&self, target: &ScaleTarget) -> Option<i32> {
        match self.lock().targets.get(target)? {
            TargetSeen::Replicas(replicas) => Some(*replicas),
            TargetSeen::Unread | TargetSeen::Missing => None,
        }
    }

    /// Takes what was read of a target.
    pub fn read_target(&self, target: &ScaleTarget, seen: TargetSeen) {
        if let Some(known) = self.lock().targets.get_mut(target) {
            *known = seen;
        }
    }

    pub fn untrack(&self, target: &ScaleTarget) {
        self.lock().targets.remove(target);
    }

    /// Takes what the watch of ScaledObjects saw in this scope.
    pub fn see_object(&self, scope: &Scope, seen: ListWatchEvent<ScaledObject>) {
        match seen {
            ListWatchEvent::Listed(all) => {
                let all: BTreeMap<ObjectKey, Arc<ScaledObject>> =
                    all.into_iter().map(|object| (ObjectKey::from_meta(&object.metadata), Arc::new(object))).collect();
                let old = {
                    let mut known = self.lock();
                    let old = take_scope(scope, &mut known.objects);
                    known.objects.extend(all.clone());
                    old
                };
                old.keys().filter(|key| !all.contains_key(*key)).for_each(|key| self.queue.add_now(key.clone()));
                for (key, object) in &all {
                    if old.get(key).is_none_or(|old| concerns_us(old, object)) {
                        self.queue.add_now(key.clone());
                    }
                }
                self.changed.send_replace(());
            }
            ListWatchEvent::Applied(object) => {
                let key = ObjectKey::from_meta(&object.metadata);
                let object = Arc::new(object);
                let old = self.lock().objects.insert(key.clone(), object.clone());
                if old.is_none_or(|old| concerns_us(&old, &object)) {
                    self.queue.add_now(key);
                    self.changed.send_replace(());
                }
            }
            ListWatchEvent::Deleted(object) => {
                let key = ObjectKey::from_meta(&object.metadata);
                self.lock().objects.remove(&key);
                self.queue.add_now(key);
                self.changed.send_replace(());
            }
        }
    }

    /// Takes what the watch of HPAs saw in this scope. Those that no ScaledObject controls are not kept: one that stands in
    /// the way of ours is found when ours is created.
    pub fn see_hpa(&self, scope: &Scope, seen: ListWatchEvent<HorizontalPodAutoscaler>) {
        let mut known = self.lock();
        let woken: Vec<ObjectKey> = match seen {
            ListWatchEvent::Listed(all) => {
                let ours: Vec<_> = all.into_iter().filter(|hpa| owner(hpa).is_some()).map(Arc::new).collect();
                let old = known.hpas.take(scope);
                ours.iter().for_each(|hpa| drop(known.hpas.insert(hpa.clone())));
                old.iter().chain(&ours).filter_map(|hpa| owner(hpa)).collect()
            }
            ListWatchEvent::Applied(hpa)
                if owner(&hpa).is_none() && known.hpas.get(&ObjectKey::from_meta(&hpa.metadata)).is_none() =>
            {
                Vec::new()
            }
            ListWatchEvent::Applied(hpa) => {
                let owner = owner(&hpa);
                let hpa = Arc::new(hpa);
                let old = known.hpas.insert(hpa.clone());
                let changed = old.as_ref().is_none_or(|old| says_other(old, &hpa));
                let before = old.as_deref().and_then(hpas::owner);
                owner.into_iter().chain(before).filter(|_| changed).collect()
            }
            ListWatchEvent::Deleted(hpa) => {
                known.hpas.remove(&ObjectKey::from_meta(&hpa.metadata));
                owner(&hpa).into_iter().collect()
            }
        };
        drop(known);
        woken.into_iter().for_each(|key| self.queue.add_now(key));
    }

    /// Takes what the watch of a kind of workloads saw in this scope.
    pub fn see_workload(&self, scope: &Scope, kind: &TargetKind, trust: Trust, seen: ListWatchEvent<Workload>) {
        let target = |workload: &Workload| ScaleTarget {
            kind: kind.clone(),
            key: ObjectKey::new(&workload.metadata.namespace, &workload.metadata.name),
        };
        let replicas = |workload: &Workload| match trust {
            Trust::Replicas => TargetSeen::Replicas(workload.spec.replicas.unwrap_or(1)),
            Trust::Change => TargetSeen::Unread,
        };
        let changes: Vec<(ScaleTarget, TargetSeen)> = match seen {
            ListWatchEvent::Listed(all) => {
                let all: BTreeMap<ScaleTarget, TargetSeen> =
                    all.iter().map(|one| (target(one), replicas(one))).collect();
                let known = self.lock();
                let tracked =
                    known.targets.keys().filter(|target| target.kind == *kind && scope.includes(&target.key.namespace));
                tracked.map(|one| (one.clone(), all.get(one).copied().unwrap_or(TargetSeen::Missing))).collect()
            }
            ListWatchEvent::Applied(workload) => vec![(target(&workload), replicas(&workload))],
            ListWatchEvent::Deleted(workload) => vec![(target(&workload), TargetSeen::Missing)],
        };
        for (target, seen) in changes {
            self.see_target(&target, seen);
        }
    }

    /// Takes what a watch says of one target, and wakes its objects when it appears or disappears.
    pub fn see_target(&self, target: &ScaleTarget, seen: TargetSeen) {
        let mut known = self.lock();
        let Some(before) = known.targets.get_mut(target) else { return };
        let appears = (*before == TargetSeen::Missing) != (seen == TargetSeen::Missing) || seen == TargetSeen::Unread;
        *before = seen;
        if !appears {
            return;
        }
        let concerned = known.objects.iter().filter(|(key, object)| {
            key.namespace == target.key.namespace && object.spec.scale_target_ref.name == target.key.name
        });
        let concerned: Vec<ObjectKey> = concerned.map(|(key, _)| key.clone()).collect();
        drop(known);
        concerned.into_iter().for_each(|key| self.queue.add_now(key));
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("nobody panics holding it")
    }
}

/// Whether one version of an object came after another. Versions of one resource are numbers that grow.
fn is_later(new: &ObjectMeta, old: &ObjectMeta) -> bool {
    let number = |meta: &ObjectMeta| meta.resource_version.as_ref().and_then(|version| version.parse::<u64>().ok());
    number(new).zip(number(old)).is_none_or(|(new, old)| new > old)
}

/// Whether a change of an object is a reason to look at it: anything but its status.
pub(crate) fn concerns_us(old: &ScaledObject, new: &ScaledObject) -> bool {
    let of = |object: &ScaledObject| {
        let meta = &object.metadata;
        (
            meta.uid.clone(),
            meta.generation,
            meta.annotations.clone(),
            meta.labels.clone(),
            meta.finalizers.clone(),
            meta.deletion_timestamp.is_some(),
        )
    };
    of(old) != of(new)
}

/// Whether an HPA says something else, apart from numbers that move all the time.
fn says_other(old: &HorizontalPodAutoscaler, new: &HorizontalPodAutoscaler) -> bool {
    let of = |hpa: &HorizontalPodAutoscaler| {
        let meta = &hpa.metadata;
        (
            hpa.spec.clone(),
            meta.uid.clone(),
            meta.labels.clone(),
            meta.annotations.clone(),
            meta.owner_references.clone(),
            scaling_active(hpa),
        )
    };
    of(old) != of(new)
}

/// The HPA's own word on whether it scales: status, reason, message.
pub fn scaling_active(hpa: &HorizontalPodAutoscaler) -> Option<(String, String, String)> {
    let conditions = hpa.status.as_ref()?.conditions.as_ref()?;
    let found = conditions.iter().find(|condition| condition.type_ == "ScalingActive")?;
    Some((found.status.clone(), found.reason.clone().unwrap_or_default(), found.message.clone().unwrap_or_default()))
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

    fn world() -> (World, Arc<Queue<ObjectKey>>) {
        let queue = Arc::new(Queue::new());
        (World::new(queue.clone()), queue)
    }

    #[test]
    fn an_old_answer_does_not_hide_a_later_change() {
        let (world, _) = world();
        let key = ObjectKey::new("shop", "web");
        let version = || world.object(&key).and_then(|object| object.metadata.resource_version.clone());
        world.see_object(&Scope::Cluster, ListWatchEvent::Applied(object(7, 1)));
        world.wrote_object(object(5, 1));
        assert_eq!(version().as_deref(), Some("7"));
        world.wrote_object(object(9, 1));
        assert_eq!(version().as_deref(), Some("9"));
        world.see_object(&Scope::Cluster, ListWatchEvent::Deleted(object(10, 1)));
        world.wrote_object(object(9, 1));
        assert_eq!(version(), None, "what is gone stays gone");
    }

    #[tokio::test(start_paused = true)]
    async fn only_changes_that_concern_us_wake_an_object() {
        let (world, queue) = world();
        let woken = async || tokio::time::timeout(std::time::Duration::from_secs(1), queue.next()).await.is_ok();
        world.see_object(&Scope::Cluster, ListWatchEvent::Listed(vec![object(1, 1)]));
        assert!(woken().await, "a new object");
        world.see_object(&Scope::Cluster, ListWatchEvent::Applied(object(2, 1)));
        assert!(!woken().await, "only its status changed");
        world.see_object(&Scope::Cluster, ListWatchEvent::Applied(object(3, 2)));
        assert!(woken().await, "its spec changed");
        world.see_object(&Scope::Namespace("elsewhere".to_owned()), ListWatchEvent::Listed(vec![]));
        assert!(!woken().await, "another namespace was listed");
        world.see_object(&Scope::Cluster, ListWatchEvent::Listed(vec![]));
        assert!(woken().await, "it is gone");
    }
}
