//! The authentication objects themselves: each is marked with the finalizer, and its status lists the ScaledObjects and ScaledJobs that
//! refer to it. What is written follows from what is there now, so nothing stale stays.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kedge_api::authentication::TriggerAuthenticationStatus;
use kedge_api::names::{self, FINALIZER, events};
use kedge_core::credentials::{Reference, ReferenceKind, usage};
use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch as signal};
use tokio::task::JoinSet;
use tracing::warn;

use super::read::path;
use crate::cluster_cache::ClusterCache;
use crate::job_cache::JobCache;
use crate::telemetry::Telemetry;
use kedge_cluster::Scope;
use kedge_cluster::api_error::is_conflict;
use kedge_cluster::{EventPublisher, EventType, ObjectKey};
use kedge_cluster::{ListWatchEvent, Projection, ResourceQuery, list_watch};

/// How long changes are gathered before they are acted upon.
const GATHER: Duration = Duration::from_millis(300);

/// The pause after a write that failed.
const AGAIN: Duration = Duration::from_secs(15);

/// Maintains the finalizer and the status of authentication objects.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Usage {
    pub telemetry: Arc<Telemetry>,
    pub client: Client,
    pub events: Arc<EventPublisher>,
    pub cluster: Arc<ClusterCache>,
    /// Where ScaledJobs are run.
    pub jobs: Option<Arc<JobCache>>,
    pub scopes: Vec<Scope>,
    /// Which authentication objects are maintained, as a label selector.
    pub selector: Option<String>,
    pub coverage: WatchCoverage,
}

/// Which ScaledObjects are watched. Where not all are, the names of unwatched ones must stay in the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchCoverage {
    Everything,
    /// Only some namespaces: all that can refer to their own objects.
    SomeNamespaces,
    SomeObjects,
}

/// As much of an authentication object as is needed here.
#[derive(Clone, Debug, Deserialize)]
struct ObservedAuthentication {
    metadata: ObjectMeta,
    status: Option<TriggerAuthenticationStatus>,
}

/// When an object was created, what it refers to, and its key.
type User<'a> = (Option<Timestamp>, &'a [Reference], &'a ObjectKey);

type AuthenticationEvent = (ReferenceKind, Scope, ListWatchEvent<ObservedAuthentication>);

impl WatchCoverage {
    /// The coverage of watches of these namespaces, all if there is none, with this label selector.
    pub fn new(namespaces: &[String], selector: Option<&str>) -> Self {
        match (selector, namespaces) {
            (Some(_), _) => Self::SomeObjects,
            (None, []) => Self::Everything,
            (None, _) => Self::SomeNamespaces,
        }
    }

    /// Whether every object that can refer to this kind is watched.
    fn covers(self, kind: &ReferenceKind) -> bool {
        match self {
            Self::Everything => true,
            Self::SomeNamespaces => *kind == ReferenceKind::TriggerAuthentication,
            Self::SomeObjects => false,
        }
    }
}

/// The numbers of authentication objects, by the label of their type and their namespace.
fn counts<'a>(known: impl Iterator<Item = &'a Reference>) -> BTreeMap<(&'static str, String), i64> {
    let mut counts = BTreeMap::new();
    for reference in known {
        let labels = match reference.kind {
            ReferenceKind::TriggerAuthentication => ("trigger_authentication", reference.namespace.clone()),
            // KEDA: objects without a namespace count for this one.
            _ => ("cluster_trigger_authentication", "default".to_owned()),
        };
        *counts.entry(labels).or_default() += 1;
    }
    counts
}

impl Usage {
    /// Watches and writes. Never returns.
    pub async fn run(self: Arc<Self>) {
        let (sender, mut events) = mpsc::unbounded_channel();
        let _watches = self.watch(&sender);
        let mut changes = self.cluster.changes();
        let mut job_changes = self.jobs.as_ref().map(|jobs| jobs.changes());
        let mut known = BTreeMap::new();
        let mut failed = false;
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => self.apply_event(&mut known, event),
                _ = changes.changed() => {}
                _ = changed(&mut job_changes) => {}
                () = tokio::time::sleep(AGAIN), if failed => {}
            }
            tokio::time::sleep(GATHER).await;
            while let Ok(event) = events.try_recv() {
                self.apply_event(&mut known, event);
            }
            changes.mark_unchanged();
            job_changes.iter_mut().for_each(signal::Receiver::mark_unchanged);
            self.telemetry.set_authentications(counts(known.keys()));
            failed = !self.update_all(&mut known).await;
        }
    }

    fn watch(&self, sender: &mpsc::UnboundedSender<AuthenticationEvent>) -> JoinSet<()> {
        let prefix = format!("/apis/{}/{}", names::GROUP, names::VERSION);
        let cluster = (ReferenceKind::ClusterTriggerAuthentication, Scope::Cluster, "clustertriggerauthentications");
        let own = self
            .scopes
            .iter()
            .map(|scope| (ReferenceKind::TriggerAuthentication, scope.clone(), "triggerauthentications"));
        let mut watches = JoinSet::new();
        for (kind, scope, resource) in own.chain([cluster]) {
            let (sender, path) = (sender.clone(), scope.path(&prefix, resource));
            let selector = self.selector.clone();
            let query =
                ResourceQuery { path, label_selector: selector, field_selector: None, projection: Projection::Object };
            // Sending fails only once the receiver is dropped.
            let on_event = move |event| drop(sender.send((kind.clone(), scope.clone(), event)));
            watches.spawn(list_watch(self.client.clone(), query, on_event));
        }
        watches
    }

    /// Applies a watch event, and publishes changes.
    fn apply_event(
        &self,
        known: &mut BTreeMap<Reference, ObservedAuthentication>,
        (kind, scope, event): AuthenticationEvent,
    ) {
        let named = |authentication: &ObservedAuthentication| {
            let meta = &authentication.metadata;
            Reference::new(
                kind.clone(),
                meta.namespace.clone().unwrap_or_default(),
                meta.name.clone().unwrap_or_default(),
            )
        };
        match event {
            ListWatchEvent::Listed(all) => {
                let inside = |reference: &Reference| scope.includes(&reference.namespace);
                let all: BTreeMap<Reference, ObservedAuthentication> =
                    all.into_iter().map(|authentication| (named(&authentication), authentication)).collect();
                known
                    .retain(|reference, _| reference.kind != kind || !inside(reference) || all.contains_key(reference));
                for (reference, authentication) in all {
                    self.take(known, reference, authentication);
                }
            }
            ListWatchEvent::Applied(authentication) => self.take(known, named(&authentication), authentication),
            ListWatchEvent::Deleted(authentication) => drop(known.remove(&named(&authentication))),
        }
    }

    /// Records an object as it is now, and publishes a change of its spec.
    fn take(
        &self,
        known: &mut BTreeMap<Reference, ObservedAuthentication>,
        reference: Reference,
        authentication: ObservedAuthentication,
    ) {
        let before = known.insert(reference.clone(), authentication.clone());
        if before.is_some_and(|before| is_changed(&before.metadata, &authentication.metadata)) {
            let reason = match reference.kind {
                ReferenceKind::TriggerAuthentication => events::TRIGGER_AUTHENTICATION_UPDATED,
                _ => events::CLUSTER_TRIGGER_AUTHENTICATION_UPDATED,
            };
            let note = format!("{} {} is updated", reference.kind, reference.name);
            self.publish(&reference, &authentication, reason, &note);
        }
    }

    /// Updates all of them. Returns whether every write succeeded.
    async fn update_all(&self, known: &mut BTreeMap<Reference, ObservedAuthentication>) -> bool {
        let objects = self.cluster.objects();
        let objects = objects.iter().map(|one| (one.created_at, &*one.authentications, &one.key));
        let jobs = self.jobs.as_ref().map(|jobs| jobs.objects());
        let jobs = jobs.as_ref().map(|jobs| jobs.iter().map(|one| (one.created_at, &*one.authentications, &one.key)));
        let (objects, jobs) = (users(objects), jobs.map(users));
        let mut all_done = true;
        for (reference, authentication) in known {
            let of = |users: &BTreeMap<Reference, Vec<String>>| users.get(reference).cloned().unwrap_or_default();
            match self.update(reference, authentication, of(&objects), jobs.as_ref().map(of)).await {
                Ok(()) => {}
                // It is deleted, or its next watch event follows.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => {
                    all_done = false;
                    if !is_conflict(&error) {
                        warn!(object = %reference, error = %error, "authentication object not updated; retrying");
                    }
                }
            }
        }
        all_done
    }

    async fn update(
        &self,
        reference: &Reference,
        authentication: &mut ObservedAuthentication,
        objects: Vec<String>,
        jobs: Option<Vec<String>>,
    ) -> Result<(), kube::Error> {
        let is_marked = authentication.metadata.finalizers.iter().flatten().any(|one| one == FINALIZER);
        let (added, deleted) = match reference.kind {
            ReferenceKind::TriggerAuthentication => {
                (events::TRIGGER_AUTHENTICATION_ADDED, events::TRIGGER_AUTHENTICATION_DELETED)
            }
            _ => (events::CLUSTER_TRIGGER_AUTHENTICATION_ADDED, events::CLUSTER_TRIGGER_AUTHENTICATION_DELETED),
        };
        if authentication.metadata.deletion_timestamp.is_some() {
            if is_marked {
                let note = format!("{} was deleted", reference.kind);
                self.mark(reference, authentication, |finalizers| finalizers.retain(|one| one != FINALIZER)).await?;
                self.publish(reference, authentication, deleted, &note);
            }
            return Ok(());
        }
        if !is_marked {
            self.mark(reference, authentication, |finalizers| finalizers.push(FINALIZER.to_owned())).await?;
            self.publish(reference, authentication, added, &format!("New {} configured", reference.kind));
        }
        let status = authentication.status.clone().unwrap_or_default();
        let mut change = serde_json::Map::new();
        let lists = [("scaledobjects", status.scaledobjects, Some(objects)), ("scaledjobs", status.scaledjobs, jobs)];
        for (field, before, users) in lists {
            let before = before.as_deref();
            let Some(mut users) = users else { continue };
            if !self.coverage.covers(&reference.kind) {
                users.extend(before.unwrap_or_default().split(',').filter(|name| !name.is_empty()).map(str::to_owned));
            }
            let listed = usage::render_users(before, &users);
            if listed.as_deref() != before.filter(|before| !before.is_empty()) {
                change.insert(field.to_owned(), json!(listed));
            }
        }
        if !change.is_empty() {
            self.patch(reference, authentication, Some("status"), &json!({ "status": change })).await?;
        }
        Ok(())
    }

    /// Changes the finalizers unless another client wrote the object since it was read.
    async fn mark(
        &self,
        reference: &Reference,
        authentication: &mut ObservedAuthentication,
        change: impl FnOnce(&mut Vec<String>),
    ) -> Result<(), kube::Error> {
        let mut finalizers = authentication.metadata.finalizers.clone().unwrap_or_default();
        change(&mut finalizers);
        let version = &authentication.metadata.resource_version;
        let patch = json!({ "metadata": { "resourceVersion": version, "finalizers": finalizers } });
        self.patch(reference, authentication, None, &patch).await
    }

    async fn patch(
        &self,
        reference: &Reference,
        authentication: &mut ObservedAuthentication,
        subresource: Option<&str>,
        patch: &Value,
    ) -> Result<(), kube::Error> {
        let (request, params) = (Request::new(path(reference)), PatchParams::default());
        let request = match subresource {
            Some(subresource) => request.patch_subresource(subresource, &reference.name, &params, &Patch::Merge(patch)),
            None => request.patch(&reference.name, &params, &Patch::Merge(patch)),
        };
        let request = request.map_err(kube::Error::BuildRequest)?;
        *authentication = self.client.request::<ObservedAuthentication>(request).await?;
        Ok(())
    }

    fn publish(&self, reference: &Reference, authentication: &ObservedAuthentication, reason: &str, note: &str) {
        let object = ObjectReference {
            api_version: Some(format!("{}/{}", names::GROUP, names::VERSION)),
            kind: Some(reference.kind.to_string()),
            name: Some(reference.name.clone()),
            namespace: authentication.metadata.namespace.clone(),
            uid: authentication.metadata.uid.clone(),
            resource_version: authentication.metadata.resource_version.clone(),
            ..ObjectReference::default()
        };
        self.events.publish_for(object, EventType::Normal, reason, note);
    }
}

/// Whether the spec changed.
fn is_changed(before: &ObjectMeta, after: &ObjectMeta) -> bool {
    before.uid == after.uid && before.generation != after.generation && after.deletion_timestamp.is_none()
}

/// The names of the objects that refer to each reference, oldest first.
fn users<'a>(objects: impl Iterator<Item = User<'a>>) -> BTreeMap<Reference, Vec<String>> {
    let mut referring: Vec<_> = objects.filter(|(_, references, _)| !references.is_empty()).collect();
    referring.sort_by_key(|(created_at, _, _)| *created_at);
    let mut users: BTreeMap<Reference, Vec<String>> = BTreeMap::new();
    for (_, references, key) in referring {
        for reference in references {
            users.entry(reference.clone()).or_default().push(key.name.to_string());
        }
    }
    users
}

/// Waits for a change, for ever where there is nothing to change.
async fn changed(changes: &mut Option<signal::Receiver<()>>) {
    match changes {
        // Fails only when the sender is dropped, and this side holds it.
        Some(changes) => drop(changes.changed().await),
        None => std::future::pending().await,
    }
}
