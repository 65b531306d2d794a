//! ScaledObjects that our types cannot read: stored under another CRD, they have a value that is not known. Each gets a condition and an
//! event, and can be deleted; its target is left alone.

use k8s_openapi::api::core::v1::ObjectReference;
use kedge_api::ScaledObject;
use kedge_api::names::{FINALIZER, conditions, events, reasons};
use kedge_cluster::api_error::{is_conflict, is_not_found};
use kedge_cluster::stored::Unreadable;
use kedge_cluster::{EventType, ObjectKey, instant_after};
use kube::Resource;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::warn;

use super::reconcile::PROBLEM_RECHECK;
use super::{ReconcileError, ReconcileState, Reconciler};

impl Reconciler {
    /// Reports an unreadable object, or lets it be deleted; returns when the next reconcile is due.
    pub(super) async fn reconcile_unreadable(
        &self,
        key: &ObjectKey,
        object: &Unreadable,
        state: &mut ReconcileState,
    ) -> Option<Instant> {
        if state.unreadable.as_ref() == Some(&object.error) && object.metadata.deletion_timestamp.is_none() {
            return None;
        }
        self.forget(key, state);
        let done = match object.metadata.deletion_timestamp {
            Some(_) => self.remove_finalizer(key, object).await,
            None => self.report_unreadable(key, object).await,
        };
        match done {
            Ok(()) => {
                state.mark_unreadable(&object.metadata, object.error.clone());
                None
            }
            Err(error) => {
                warn!(namespace = %key.namespace, name = %key.name, error = %error, "unreadable object not reported; retrying");
                Some(instant_after(PROBLEM_RECHECK))
            }
        }
    }

    async fn report_unreadable(&self, key: &ObjectKey, object: &Unreadable) -> Result<(), ReconcileError> {
        let message =
            format!("the ScaledObject cannot be read: {}; correct the field, and apply it again", object.error);
        let patch = json!({ "status": { "conditions": unreadable_conditions(&message) } });
        let api = self.unreadable_objects(key);
        let written = api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        self.publish_unreadable(object, reasons::SCALED_OBJECT_CHECK_FAILED, &message);
        written.map(drop).map_err(ReconcileError::api("cannot write the status"))
    }

    /// Removes the finalizer of a deleted object. Its HPA has it as owner, and is deleted with it.
    async fn remove_finalizer(&self, key: &ObjectKey, object: &Unreadable) -> Result<(), ReconcileError> {
        let finalizers = object.metadata.finalizers.clone().unwrap_or_default();
        let left: Vec<&String> = finalizers.iter().filter(|one| *one != FINALIZER).collect();
        if left.len() == finalizers.len() {
            return Ok(());
        }
        let note = "ScaledObject was deleted; it could not be read, so its target keeps its replicas";
        self.publish_unreadable(object, events::SCALED_OBJECT_DELETED, note);
        let patch = json!({ "metadata": { "resourceVersion": object.metadata.resource_version, "finalizers": left } });
        match self.unreadable_objects(key).patch(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Err(error) if is_not_found(&error) || is_conflict(&error) => Ok(()),
            done => done.map(drop).map_err(ReconcileError::api("cannot remove the finalizer")),
        }
    }

    fn publish_unreadable(&self, object: &Unreadable, reason: &str, note: &str) {
        let reference = ObjectReference {
            api_version: Some(ScaledObject::api_version(&()).into_owned()),
            kind: Some(ScaledObject::kind(&()).into_owned()),
            namespace: object.metadata.namespace.clone(),
            name: object.metadata.name.clone(),
            uid: object.metadata.uid.clone(),
            ..ObjectReference::default()
        };
        self.events.publish_for(reference, EventType::Warning, reason, note);
    }

    fn unreadable_objects(&self, key: &ObjectKey) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &key.namespace, &ApiResource::erase::<ScaledObject>(&()))
    }
}

/// The conditions of an object that cannot be read.
fn unreadable_conditions(message: &str) -> Value {
    let unknown = |kind: &str| json!({ "type": kind, "status": "Unknown" });
    json!([
        { "type": conditions::READY, "status": "False", "reason": reasons::SCALED_OBJECT_CHECK_FAILED, "message": message },
        unknown(conditions::ACTIVE),
        unknown(conditions::FALLBACK),
        unknown(conditions::PAUSED),
    ])
}
