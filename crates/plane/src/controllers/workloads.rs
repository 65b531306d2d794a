//! Deployments, ReplicaSets and StatefulSets get their pods, and pods come to run. That pods go with their owners is the
//! plane's own doing.
//!
//! | module | what it holds |
//! |---|---|
//! | `index` | who owns what, kept from the log of changes |
//! | `deployments` | a ReplicaSet for each template, and the status over all of them |
//! | `replica_sets` | pods by number, and which of them go first |
//! | `stateful_sets` | pods by ordinal |
//! | `pods` | a pod from a template, and what is asked of pods |
//! | `kubelet` | pods that come to run, and that end |
//!
//! Left out against the real controllers: orphans are not adopted; `minReadySeconds` is zero; a rollout makes all new
//! pods at once and lets old ones go as new ones become ready, whatever the strategy says of surges; paused Deployments
//! go on; no progress deadline passes; revisions have no objects of their own and no annotations; no volume claims.

mod deployments;
mod index;
mod kubelet;
mod pods;
mod replica_sets;
mod stateful_sets;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::client::{ControllerClient, ObjectKey, PODS, RETRY_PAUSE, wait};
use crate::api::error::ApiError;
use crate::api::resource::Gvr;
use crate::plane::Plane;
use crate::storage::store::{Change, ChangeType};
use index::Index;
use kubelet::Kubelet;

static DEPLOYMENTS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("apps", "v1", "deployments"));
static REPLICA_SETS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("apps", "v1", "replicasets"));
static STATEFUL_SETS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("apps", "v1", "statefulsets"));

/// The kinds that create pods, in the order in which they are reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WorkloadKind {
    Deployment,
    ReplicaSet,
    StatefulSet,
}

impl WorkloadKind {
    const ALL: [Self; 3] = [Self::Deployment, Self::ReplicaSet, Self::StatefulSet];

    fn resource(self) -> &'static Gvr {
        match self {
            Self::Deployment => &DEPLOYMENTS,
            Self::ReplicaSet => &REPLICA_SETS,
            Self::StatefulSet => &STATEFUL_SETS,
        }
    }

    fn from_resource(resource: &Gvr) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.resource() == resource)
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "Deployment" => Some(Self::Deployment),
            "ReplicaSet" => Some(Self::ReplicaSet),
            "StatefulSet" => Some(Self::StatefulSet),
            _ => None,
        }
    }
}

/// The controllers of workloads.
#[derive(Debug)]
pub struct Workloads {
    plane: Plane,
    deployments: ControllerClient,
    replica_sets: ControllerClient,
    stateful_sets: ControllerClient,
    kubelet: Kubelet,
    index: Index,
    /// The last revision that was processed.
    seen: u64,
    /// What is to be reconciled.
    dirty: BTreeSet<(WorkloadKind, ObjectKey)>,
    /// What could not be brought in order, and when it is tried again.
    failed: Option<(Instant, BTreeSet<(WorkloadKind, ObjectKey)>)>,
}

impl Workloads {
    /// Pods are ready after `start_up`.
    pub fn new(plane: &Plane, start_up: Duration) -> Self {
        let client = |user| ControllerClient::new(plane, user);
        Self {
            plane: plane.clone(),
            deployments: client("system:serviceaccount:kube-system:deployment-controller"),
            replica_sets: client("system:serviceaccount:kube-system:replicaset-controller"),
            stateful_sets: client("system:serviceaccount:kube-system:statefulset-controller"),
            kubelet: Kubelet::new(client("system:node:node-0"), start_up),
            index: Index::default(),
            seen: 0,
            dirty: BTreeSet::new(),
            failed: None,
        }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) -> Infallible {
        let mut revision = self.plane.revision();
        loop {
            let newest = revision.see();
            self.notice(newest);
            self.act().await;
            wait(&mut revision, self.next_at()).await;
        }
    }

    /// Learns what has changed since the last time.
    fn notice(&mut self, newest: u64) {
        match self.plane.changes_since(self.seen) {
            Some(changes) => {
                self.seen = changes.last().map_or(newest, |change| change.revision);
                changes.iter().for_each(|change| self.note(change));
            }
            None => {
                self.seen = newest;
                self.note_everything();
            }
        }
    }

    fn note(&mut self, change: &Change) {
        let key = ObjectKey::new(change.namespace.as_deref().unwrap_or_default(), &change.name);
        self.index.note(change, &key);
        self.touch(&change.resource, &key, &change.after);
        if change.resource == *PODS {
            self.kubelet.note(&key, (change.change_type != ChangeType::Deleted).then_some(&*change.after));
        }
    }

    /// Starts over from the objects there are.
    fn note_everything(&mut self) {
        self.index = Index::default();
        for resource in [&*DEPLOYMENTS, &*REPLICA_SETS, &*STATEFUL_SETS, &*PODS] {
            for object in self.plane.objects(resource, None) {
                let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
                let key = ObjectKey::new(text("namespace"), text("name"));
                self.index.add(resource, &key, &object);
                self.touch(resource, &key, &object);
                if *resource == *PODS {
                    self.kubelet.note(&key, Some(&object));
                }
            }
        }
    }

    /// Enqueues changed objects and their owners.
    fn touch(&mut self, resource: &Gvr, key: &ObjectKey, object: &Value) {
        if let Some(kind) = WorkloadKind::from_resource(resource) {
            self.dirty.insert((kind, key.clone()));
        }
        if *resource != *PODS && *resource != *REPLICA_SETS {
            return;
        }
        for owner in index::owners(object) {
            if let (Some(kind), Some(name)) =
                (owner["kind"].as_str().and_then(WorkloadKind::named), owner["name"].as_str())
            {
                self.dirty.insert((kind, ObjectKey::new(&key.namespace, name)));
            }
        }
    }

    async fn act(&mut self) {
        if let Some((_, again)) = self.failed.take_if(|(at, _)| *at <= Instant::now()) {
            self.dirty.extend(again);
        }
        for (kind, key) in std::mem::take(&mut self.dirty) {
            if let Err(error) = self.sync(kind, &key).await {
                tracing::debug!(%error, ?kind, %key, "a workload is tried again");
                let again = || (Instant::now() + RETRY_PAUSE, BTreeSet::new());
                self.failed.get_or_insert_with(again).1.insert((kind, key));
            }
        }
        self.kubelet.act().await;
    }

    async fn sync(&self, kind: WorkloadKind, key: &ObjectKey) -> Result<(), ApiError> {
        match kind {
            WorkloadKind::Deployment => deployments::sync(&self.deployments, &self.index, key).await,
            WorkloadKind::ReplicaSet => replica_sets::sync(&self.replica_sets, &self.index, key).await,
            WorkloadKind::StatefulSet => stateful_sets::sync(&self.stateful_sets, &self.index, key).await,
        }
    }

    /// When there is something to do though nothing changes.
    fn next_at(&self) -> Option<Instant> {
        let again = self.failed.as_ref().map(|(at, _)| *at);
        [again, self.kubelet.next_at()].into_iter().flatten().min()
    }
}
