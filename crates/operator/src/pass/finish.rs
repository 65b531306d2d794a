//! The end of an object: its HPA goes, its target gets back what it had if that was asked for, and then the finalizer goes.

use kedge_api::ScaledObject;
use kedge_api::names::{FINALIZER, events};
use serde_json::json;
use tracing::warn;

use super::{Memory, PassError, Passes};
use kedge_cluster::EventType;
use kedge_cluster::ObjectKey;
use kedge_cluster::target::TargetError;

impl Passes {
    pub(super) async fn finish(
        &self,
        key: &ObjectKey,
        object: &ScaledObject,
        memory: &mut Memory,
    ) -> Result<(), PassError> {
        let finalizers = object.metadata.finalizers.clone().unwrap_or_default();
        if !finalizers.iter().any(|one| one == FINALIZER) {
            return Ok(());
        }
        if self.board.get(key).is_some_and(|board| board.is_built_at_all()) {
            self.events.publish(object, EventType::Normal, events::SCALERS_STOPPED, "Stopped scalers watch").await;
        }
        self.forget(key, memory);
        // First, so that it does not scale the target again after the restoring.
        self.delete_own_hpas(object, None).await?;
        self.restore(object).await?;
        self.events
            .publish(object, EventType::Warning, events::SCALED_OBJECT_DELETED, "ScaledObject was deleted")
            .await;
        let left: Vec<&String> = finalizers.iter().filter(|one| *one != FINALIZER).collect();
        let patch = json!({ "metadata": { "resourceVersion": object.metadata.resource_version, "finalizers": left } });
        match self.patch_object(object, &patch).await {
            Err(PassError::Api { source, .. }) if matches!(&*source, kube::Error::Api(status) if status.code == 404) => {
                Ok(())
            }
            done => done.map(drop),
        }
    }

    /// Gives the target the replicas it had when the object was first seen, if the object asks for that.
    async fn restore(&self, object: &ScaledObject) -> Result<(), PassError> {
        let asked = object.spec.advanced.as_ref().and_then(|advanced| advanced.restore_to_original_replica_count);
        let original = object.status.as_ref().and_then(|status| status.original_replica_count);
        let (Some(true), Some(original)) = (asked, original) else { return Ok(()) };
        match self.set_replicas(object, original).await {
            // A target that is gone, or was never there, has nothing to get back.
            Err(PassError::Target(
                error @ (TargetError::Missing { .. } | TargetError::NoScale { .. } | TargetError::UnknownKind { .. }),
            )) => {
                warn!(name = object.metadata.name, error = %error, "replicas not restored");
                Ok(())
            }
            done => done,
        }
    }
}
