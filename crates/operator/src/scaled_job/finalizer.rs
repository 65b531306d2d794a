//! The finalizer of a managed ScaledJob, and its deletion. Its Jobs have it as owner, and are deleted with it.

use kedge_api::ScaledJob;
use kedge_api::names::{FINALIZER, events};
use kedge_cluster::api_error::is_not_found;
use kedge_cluster::{EventType, ObjectKey};
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use super::{JobReconcileError, JobReconcileState, JobReconciler};
use crate::job_cache::LazyScaledJob;
use crate::slots::Slot;

impl JobReconciler {
    /// Adds the finalizer where it is missing. Nothing else is written, so that the generation stays.
    pub(super) async fn ensure_finalizer(
        &self,
        object: LazyScaledJob,
        slot: &mut Slot,
    ) -> Result<LazyScaledJob, JobReconcileError> {
        let mut finalizers = object.metadata.finalizers.clone().unwrap_or_default();
        if finalizers.iter().any(|one| one == FINALIZER) {
            return Ok(object);
        }
        slot.hold().await;
        finalizers.push(FINALIZER.to_owned());
        self.patch_finalizers(&object, json!(finalizers)).await
    }

    /// Removes the finalizer of a deleted object.
    pub(super) async fn finalize(
        &self,
        key: &ObjectKey,
        object: &LazyScaledJob,
        state: &mut JobReconcileState,
    ) -> Result<(), JobReconcileError> {
        let finalizers = object.metadata.finalizers.clone().unwrap_or_default();
        let left: Vec<&String> = finalizers.iter().filter(|one| *one != FINALIZER).collect();
        if left.len() == finalizers.len() {
            return Ok(());
        }
        if self.readings.get(key).is_some_and(|scalers| scalers.is_any_built()) {
            self.events.publish(&**object, EventType::Normal, events::SCALERS_STOPPED, "Stopped scalers watch");
        }
        let (uid, failures) = (std::mem::take(&mut state.uid), state.retries.failures);
        self.forget(key, state);
        (state.uid, state.retries.failures) = (uid, failures);
        match self.patch_finalizers(object, json!(left)).await {
            Err(JobReconcileError::Api { source, .. }) if is_not_found(&source) => {}
            done => drop(done?),
        }
        self.events.publish(&**object, EventType::Warning, events::SCALED_JOB_DELETED, "ScaledJob was deleted");
        Ok(())
    }

    /// Patches the finalizers unless another client wrote the object meanwhile, and caches the result at once.
    async fn patch_finalizers(
        &self,
        object: &LazyScaledJob,
        finalizers: Value,
    ) -> Result<LazyScaledJob, JobReconcileError> {
        let key = &object.cached.key;
        let api: Api<ScaledJob> = Api::namespaced(self.client.clone(), &key.namespace);
        let version = &object.metadata.resource_version;
        let patch = json!({ "metadata": { "resourceVersion": version, "finalizers": finalizers } });
        let written = api.patch(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        let written = written.map_err(JobReconcileError::api("cannot mark the ScaledJob"))?;
        Ok(self.cache.record_written_object(written))
    }
}
