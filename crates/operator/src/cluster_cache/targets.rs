//! The cached replicas of targets. Only targets that objects name are cached, so that this does not grow with the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kedge_cluster::{NamespacedName, ScaleTarget, Scope, TargetKind};
use serde::Deserialize;

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

/// The replicas of a workload, as its watch reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedReplicas {
    pub desired: i32,
    pub ready: i32,
}

/// The fields of a workload that are read: its name and its replicas.
#[derive(Clone, Debug, Deserialize)]
pub struct Workload {
    metadata: WorkloadMetadata,
    #[serde(default)]
    spec: WorkloadSpec,
    #[serde(default)]
    status: WorkloadStatus,
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

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkloadStatus {
    ready_replicas: Option<i32>,
}

impl Workload {
    pub(super) fn key(&self) -> NamespacedName {
        NamespacedName::new(&self.metadata.namespace, &self.metadata.name)
    }

    pub(super) fn replicas(&self) -> WatchedReplicas {
        WatchedReplicas { desired: self.spec.replicas.unwrap_or(1), ready: self.status.ready_replicas.unwrap_or(0) }
    }
}

#[derive(Debug)]
struct CachedTarget {
    kind: Arc<TargetKind>,
    replicas: CachedReplicas,
    /// The ready ones, where a watch shows them.
    ready: Option<i32>,
}

#[derive(Debug, Default)]
pub(super) struct Targets {
    /// Workloads of several kinds may have one name.
    by_name: BTreeMap<NamespacedName, Vec<CachedTarget>>,
    /// The kinds that may not be watched: what was read of their replicas may be outdated.
    unwatched: BTreeSet<(Arc<TargetKind>, Scope)>,
}

impl Targets {
    pub(super) fn get(&self, target: &ScaleTarget) -> CachedReplicas {
        let kinds = self.by_name.get(&target.key).map_or(&[][..], Vec::as_slice);
        match kinds.iter().find(|cached| cached.kind == target.kind) {
            Some(cached) if !self.is_unwatched(target) => cached.replicas,
            _ => CachedReplicas::Stale,
        }
    }

    /// Caches the replicas of a target; returns what was cached before.
    pub(super) fn record(&mut self, target: &ScaleTarget, replicas: CachedReplicas) -> CachedReplicas {
        let kinds = self.by_name.entry(target.key.clone()).or_insert_with(|| Vec::with_capacity(1));
        match kinds.iter_mut().find(|cached| cached.kind == target.kind) {
            Some(cached) => std::mem::replace(&mut cached.replicas, replicas),
            None => {
                kinds.push(CachedTarget { kind: target.kind.clone(), replicas, ready: None });
                CachedReplicas::Stale
            }
        }
    }

    /// Caches the ready replicas of a target that is cached.
    pub(super) fn record_ready(&mut self, target: &ScaleTarget, ready: Option<i32>) {
        let kinds = self.by_name.get_mut(&target.key).into_iter().flatten();
        kinds.filter(|cached| cached.kind == target.kind).for_each(|cached| cached.ready = ready);
    }

    /// The ready replicas of a target, as a watch showed them last.
    pub(super) fn ready(&self, target: &ScaleTarget) -> Option<i32> {
        let kinds = self.by_name.get(&target.key).into_iter().flatten();
        kinds.filter(|cached| cached.kind == target.kind).find_map(|cached| cached.ready)
    }

    /// Drops what is cached of workloads with this name.
    pub(super) fn forget(&mut self, name: &NamespacedName) {
        self.by_name.remove(name);
    }

    /// The cached targets of a kind within a scope.
    pub(super) fn of_kind(&self, kind: &Arc<TargetKind>, scope: &Scope) -> impl Iterator<Item = &NamespacedName> {
        let has_kind = move |kinds: &[CachedTarget]| kinds.iter().any(|cached| cached.kind == *kind);
        let inside =
            self.by_name.iter().filter(move |(name, kinds)| scope.includes(&name.namespace) && has_kind(kinds));
        inside.map(|(name, _)| name)
    }

    /// Notes that a kind may not be watched in this scope, until it is listed.
    pub(super) fn record_unwatched(&mut self, kind: &Arc<TargetKind>, scope: &Scope) {
        self.unwatched.insert((kind.clone(), scope.clone()));
    }

    pub(super) fn record_listed(&mut self, kind: &Arc<TargetKind>, scope: &Scope) {
        self.unwatched.remove(&(kind.clone(), scope.clone()));
    }

    fn is_unwatched(&self, target: &ScaleTarget) -> bool {
        self.unwatched.iter().any(|(kind, scope)| *kind == target.kind && scope.includes(&target.key.namespace))
    }
}
