//! The watches that keep the world fresh: ScaledObjects, HPAs, the workloads of the apps group, and further kinds as soon as
//! some object scales one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::ScaledObject;
use kube::Client;
use tokio::sync::watch as signal;
use tokio::task::JoinSet;

use crate::world::{Trust, Workload, World};
use kedge_cluster::Scope;
use kedge_cluster::target::TargetKind;
use kedge_cluster::{ListWatchEvent, Projection, ResourceQuery, list_watch};

/// Runs watches until it is dropped.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Watches {
    client: Client,
    world: Arc<World>,
    scopes: Vec<Scope>,
    tasks: Mutex<JoinSet<()>>,
    kinds: Mutex<BTreeSet<TargetKind>>,
    listed: signal::Sender<usize>,
}

impl Watches {
    /// Starts the watches that are always needed. `selector` limits the objects that are looked after.
    pub fn start(client: Client, world: Arc<World>, scopes: Vec<Scope>, selector: Option<String>) -> Self {
        let (listed, _) = signal::channel(0);
        let (tasks, kinds) = (Mutex::default(), Mutex::default());
        let watches = Self { client, world, scopes, tasks, kinds, listed };
        for scope in watches.scopes.clone() {
            let world = watches.world.clone();
            let path = scope.path("/apis/keda.sh/v1alpha1", "scaledobjects");
            let within = scope.clone();
            watches.spawn::<ScaledObject>(path, selector.clone(), Projection::Object, move |seen| {
                world.see_object(&within, seen)
            });
            let world = watches.world.clone();
            let path = scope.path("/apis/autoscaling/v2", "horizontalpodautoscalers");
            watches.spawn::<HorizontalPodAutoscaler>(path, None, Projection::Object, move |seen| {
                world.see_hpa(&scope, seen)
            });
        }
        for (kind, resource) in
            [("Deployment", "deployments"), ("StatefulSet", "statefulsets"), ("ReplicaSet", "replicasets")]
        {
            let text = |text: &str| text.to_owned();
            let kind =
                TargetKind { group: text("apps"), version: text("v1"), kind: text(kind), resource: text(resource) };
            watches.watch_kind(&kind, Trust::Replicas);
        }
        watches
    }

    /// Waits until everything has been listed once: what is not known before that may still be there.
    pub async fn listed(&self) {
        let all = self.scopes.len() * 5;
        let mut listed = self.listed.subscribe();
        // Fails only when the sender is gone, and it is ours.
        let _ = listed.wait_for(|count| *count >= all).await;
    }

    /// Sees to it that changes of this kind of target are noticed.
    pub fn ensure(&self, kind: &TargetKind) {
        self.watch_kind(kind, Trust::Change);
    }

    fn watch_kind(&self, kind: &TargetKind, trust: Trust) {
        if !self.kinds.lock().expect("nobody panics holding it").insert(kind.clone()) {
            return;
        }
        let projection = if trust == Trust::Replicas { Projection::Object } else { Projection::Metadata };
        for scope in self.scopes.clone() {
            let (world, kind) = (self.world.clone(), kind.clone());
            let path = scope.path(&kind.prefix(), &kind.resource);
            self.spawn::<Workload>(path, None, projection, move |seen| world.see_workload(&scope, &kind, trust, seen));
        }
    }

    fn spawn<T>(
        &self,
        path: String,
        selector: Option<String>,
        projection: Projection,
        mut tell: impl FnMut(ListWatchEvent<T>) + Send + 'static,
    ) where
        T: Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
    {
        let listed = self.listed.clone();
        let mut first = true;
        let told = move |seen: ListWatchEvent<T>| {
            let all = matches!(seen, ListWatchEvent::Listed(_));
            tell(seen);
            if std::mem::take(&mut first) && all {
                listed.send_modify(|count| *count += 1);
            }
        };
        let client = self.client.clone();
        let subject = ResourceQuery { path, label_selector: selector, field_selector: None, projection };
        self.tasks.lock().expect("nobody panics holding it").spawn(list_watch(client, subject, told));
    }
}
