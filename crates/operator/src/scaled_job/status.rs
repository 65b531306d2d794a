//! Writing the status: one patch if anything changed, and an event for each change of a condition. The rules are in
//! `kedge_core::scaled_job::status`.

use std::sync::Arc;

use kedge_api::ScaledJob;
use kedge_api::names::{conditions as condition_types, events, messages, reasons};
use kedge_api::scaled_job::ScaledJobStatus;
use kedge_cluster::merge_patch::merge_patch;
use kedge_core::scaled_job::status::{Facts, next_status};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::{JobReconcileError, JobReconcileState, JobReconciler};
use crate::cluster_cache::needs_reconcile;
use crate::condition_events::{Change, ConditionEvents};
use crate::job_cache::LazyScaledJob;
use crate::slots::Slot;

const CONDITION_EVENTS: ConditionEvents = ConditionEvents {
    check_failed: reasons::SCALED_JOB_CHECK_FAILED,
    ready: (reasons::SCALED_JOB_READY, "ScaledJob is ready for scaling"),
    changes: [
        Change {
            condition: condition_types::PAUSED,
            begins: (reasons::SCALED_JOB_PAUSED, messages::SCALED_JOB_PAUSED),
            ends: (reasons::SCALED_JOB_UNPAUSED, messages::SCALED_JOB_UNPAUSED),
        },
        Change {
            condition: condition_types::ACTIVE,
            begins: (events::SCALED_JOB_ACTIVE, messages::TRIGGERS_ACTIVE),
            ends: (events::SCALED_JOB_INACTIVE, messages::TRIGGERS_NOT_ACTIVE),
        },
    ],
};

impl JobReconciler {
    /// Writes the status that follows from the facts if it differs from the present one, and publishes the changes. Returns whether it
    /// differed. A status that changes too often is written later.
    pub(super) async fn write_status(
        &self,
        object: &LazyScaledJob,
        facts: &Facts<'_>,
        state: &mut JobReconcileState,
        slot: &mut Slot,
    ) -> Result<bool, JobReconcileError> {
        let none = ScaledJobStatus::default();
        let newer = self.newer(object);
        let object = newer.as_ref().unwrap_or(object);
        let old = object.status.as_ref().unwrap_or(&none);
        let new = next_status(old, facts);
        if *old == new {
            return Ok(false);
        }
        let value = |status: &ScaledJobStatus| serde_json::to_value(status).unwrap_or_default();
        let Some(change) = merge_patch(&value(old), &value(&new)) else { return Ok(false) };
        if let Err(until) = state.status_writes.take() {
            state.postponed_until = Some(state.postponed_until.map_or(until, |earlier| earlier.min(until)));
            return Ok(true);
        }
        slot.hold().await;
        // The resource version makes the patch fail if another client wrote the object meanwhile: the facts may be outdated.
        let patch = json!({ "metadata": { "resourceVersion": object.metadata.resource_version }, "status": change });
        let key = &object.cached.key;
        let api: Api<ScaledJob> = Api::namespaced(self.client.clone(), &key.namespace);
        let written = api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        self.cache.record_written_object(written.map_err(JobReconcileError::api("cannot write the status"))?);
        let (before, after) =
            (old.conditions.as_deref().unwrap_or_default(), new.conditions.as_deref().unwrap_or_default());
        for (event_type, reason, note) in CONDITION_EVENTS.of(before, after) {
            self.events.publish(&**object, event_type, reason, &note);
        }
        Ok(true)
    }

    /// The object as this reconcile wrote it already, if it did.
    fn newer(&self, object: &LazyScaledJob) -> Option<LazyScaledJob> {
        let newest = self.cache.object(&object.cached.key)?;
        let is_newer = !Arc::ptr_eq(&newest.cached, &object.cached);
        (is_newer && !needs_reconcile(&object.metadata, &newest.metadata)).then_some(newest)
    }
}
