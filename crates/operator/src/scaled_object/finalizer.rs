//! The finalizer and the label of a managed object, and its deletion: the HPA is deleted, the target gets its original replicas back if the
//! object asks for that, then the finalizer is removed.

use std::sync::Arc;

use kedge_api::ScaledObject;
use kedge_api::names::{FINALIZER, events, labels};
use kedge_cluster::api_error::is_not_found;
use kedge_cluster::{EventType, ObjectKey, TargetError};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tracing::warn;

use super::{ReconcileError, ReconcileState, Reconciler};

impl Reconciler {
    /// Adds the finalizer and the label with the object's name where they are missing, in one write.
    pub(super) async fn ensure_marks(&self, object: Arc<ScaledObject>) -> Result<Arc<ScaledObject>, ReconcileError> {
        let meta = &object.metadata;
        let name = meta.name.clone().unwrap_or_default();
        let finalizers = meta.finalizers.clone().unwrap_or_default();
        let labelled = meta.labels.as_ref().and_then(|labels| labels.get(labels::SCALED_OBJECT_NAME)) == Some(&name);
        if finalizers.iter().any(|one| one == FINALIZER) && labelled {
            return Ok(object);
        }
        let mut wanted = finalizers;
        if !wanted.iter().any(|one| one == FINALIZER) {
            wanted.push(FINALIZER.to_owned());
        }
        // The resource version makes the patch fail if another client changed the finalizers meanwhile.
        let patch = json!({ "metadata": {
            "resourceVersion": meta.resource_version,
            "finalizers": wanted,
            "labels": { labels::SCALED_OBJECT_NAME: name },
        }});
        let marked = self.patch_object(&object, &patch).await?;
        Ok(Arc::new(marked))
    }

    /// Cleans up after a deleted object, and removes the finalizer.
    pub(super) async fn finalize(
        &self,
        key: &ObjectKey,
        object: &ScaledObject,
        state: &mut ReconcileState,
    ) -> Result<(), ReconcileError> {
        let finalizers = object.metadata.finalizers.clone().unwrap_or_default();
        if !finalizers.iter().any(|one| one == FINALIZER) {
            return Ok(());
        }
        if self.readings.get(key).is_some_and(|scalers| scalers.is_any_built()) {
            self.events.publish(object, EventType::Normal, events::SCALERS_STOPPED, "Stopped scalers watch").await;
        }
        self.forget(key, state);
        // First, so that the HPA does not scale the target again after its replicas were restored.
        self.delete_own_hpas(object, None).await?;
        self.restore_replicas(object).await?;
        self.events
            .publish(object, EventType::Warning, events::SCALED_OBJECT_DELETED, "ScaledObject was deleted")
            .await;
        let left: Vec<&String> = finalizers.iter().filter(|one| *one != FINALIZER).collect();
        let patch = json!({ "metadata": { "resourceVersion": object.metadata.resource_version, "finalizers": left } });
        match self.patch_object(object, &patch).await {
            Err(ReconcileError::Api { source, .. }) if is_not_found(&source) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Gives the target its original replicas, if the object asks for that.
    async fn restore_replicas(&self, object: &ScaledObject) -> Result<(), ReconcileError> {
        let asked = object.spec.advanced.as_ref().and_then(|advanced| advanced.restore_to_original_replica_count);
        let original = object.status.as_ref().and_then(|status| status.original_replica_count);
        let (Some(true), Some(original)) = (asked, original) else { return Ok(()) };
        match self.set_replicas(object, original).await {
            // A target that does not exist has nothing to restore.
            Err(ReconcileError::Target(
                error @ (TargetError::Missing { .. } | TargetError::NoScale { .. } | TargetError::UnknownKind { .. }),
            )) => {
                warn!(name = object.metadata.name, error = %error, "replicas not restored");
                Ok(())
            }
            done => done,
        }
    }

    /// Patches the object itself, and caches the result at once.
    async fn patch_object(
        &self,
        object: &ScaledObject,
        patch: &serde_json::Value,
    ) -> Result<ScaledObject, ReconcileError> {
        let (namespace, name) = (object.metadata.namespace.as_deref(), object.metadata.name.as_deref());
        let api: Api<ScaledObject> = Api::namespaced(self.client.clone(), namespace.unwrap_or_default());
        let written = api.patch(name.unwrap_or_default(), &PatchParams::default(), &Patch::Merge(patch)).await;
        let written = written.map_err(ReconcileError::api("cannot mark the ScaledObject"))?;
        self.cluster.record_written_object(written.clone());
        Ok(written)
    }
}
