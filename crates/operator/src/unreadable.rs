//! Objects that our types cannot read: stored under another CRD, they have a value that is not known. Each gets a condition and an
//! event, and can be deleted; what it scales is left alone.

use k8s_openapi::api::core::v1::ObjectReference;
use kedge_api::names::{self, FINALIZER, conditions, events, reasons};
use kedge_cluster::api_error::{is_conflict, is_not_found};
use kedge_cluster::stored::Unreadable;
use kedge_cluster::{EventPublisher, EventType, ObjectKey, ScalableKind, instant_after};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::warn;

use crate::retries::PROBLEM_RECHECK;

/// An unreadable object, and how to write it.
pub(crate) struct UnreadableObject<'a> {
    pub(crate) client: &'a Client,
    pub(crate) events: &'a EventPublisher,
    pub(crate) key: &'a ObjectKey,
    pub(crate) object: &'a Unreadable,
}

/// What is said of objects of one kind.
struct Words {
    check_failed: &'static str,
    deleted: &'static str,
    /// What became of what the object scales.
    kept: &'static str,
    resource: &'static str,
}

const SCALED_OBJECT: Words = Words {
    check_failed: reasons::SCALED_OBJECT_CHECK_FAILED,
    deleted: events::SCALED_OBJECT_DELETED,
    kept: "so its target keeps its replicas",
    resource: "scaledobjects",
};

const SCALED_JOB: Words = Words {
    check_failed: reasons::SCALED_JOB_CHECK_FAILED,
    deleted: events::SCALED_JOB_DELETED,
    kept: "and its Jobs are deleted with it",
    resource: "scaledjobs",
};

impl UnreadableObject<'_> {
    /// Whether it was reported with this error, and is not being deleted.
    pub(crate) fn is_settled(&self, reported: Option<&str>) -> bool {
        reported == Some(self.object.error.as_str()) && self.object.metadata.deletion_timestamp.is_none()
    }

    /// Reports it, or lets it be deleted. Returns when that is tried again, if it failed.
    pub(crate) async fn settle(&self) -> Option<Instant> {
        let done = match self.object.metadata.deletion_timestamp {
            Some(_) => self.remove_finalizer().await,
            None => self.report().await,
        };
        let error = done.err()?;
        warn!(namespace = %self.key.namespace, name = %self.key.name, error = %error, "unreadable object not reported; retrying");
        Some(instant_after(PROBLEM_RECHECK))
    }

    async fn report(&self) -> Result<(), kube::Error> {
        let (kind, error) = (self.key.kind.as_str(), &self.object.error);
        let message = format!("the {kind} cannot be read: {error}; correct the field, and apply it again");
        let reason = self.words().check_failed;
        let patch = json!({ "status": { "conditions": conditions_of(reason, &message) } });
        let written = self.api().patch_status(&self.key.name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        self.publish(reason, &message);
        written.map(drop)
    }

    /// Removes the finalizer of a deleted object. What has it as owner is deleted with it.
    async fn remove_finalizer(&self) -> Result<(), kube::Error> {
        let finalizers = self.object.metadata.finalizers.clone().unwrap_or_default();
        let left: Vec<&String> = finalizers.iter().filter(|one| *one != FINALIZER).collect();
        if left.len() == finalizers.len() {
            return Ok(());
        }
        let Words { deleted, kept, .. } = self.words();
        self.publish(deleted, &format!("{} was deleted; it could not be read, {kept}", self.key.kind.as_str()));
        let version = &self.object.metadata.resource_version;
        let patch = json!({ "metadata": { "resourceVersion": version, "finalizers": left } });
        match self.api().patch(&self.key.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Err(error) if is_not_found(&error) || is_conflict(&error) => Ok(()),
            done => done.map(drop),
        }
    }

    fn publish(&self, reason: &str, note: &str) {
        let meta = &self.object.metadata;
        let reference = ObjectReference {
            api_version: Some(format!("{}/{}", names::GROUP, names::VERSION)),
            kind: Some(self.key.kind.as_str().to_owned()),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            ..ObjectReference::default()
        };
        self.events.publish_for(reference, EventType::Warning, reason, note);
    }

    fn words(&self) -> Words {
        match self.key.kind {
            ScalableKind::ScaledObject => SCALED_OBJECT,
            ScalableKind::ScaledJob => SCALED_JOB,
        }
    }

    fn api(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(names::GROUP, names::VERSION, self.key.kind.as_str());
        let resource = ApiResource::from_gvk_with_plural(&kind, self.words().resource);
        Api::namespaced_with(self.client.clone(), &self.key.namespace, &resource)
    }
}

/// The conditions of an object that cannot be read.
fn conditions_of(reason: &str, message: &str) -> Value {
    let unknown = |kind: &str| json!({ "type": kind, "status": "Unknown" });
    json!([
        { "type": conditions::READY, "status": "False", "reason": reason, "message": message },
        unknown(conditions::ACTIVE),
        unknown(conditions::FALLBACK),
        unknown(conditions::PAUSED),
    ])
}
