//! Writing the status: one patch if anything changed, and an event for each change of a condition. The rules are in
//! `kedge_core::scaled_job::status`.

use kedge_api::names::{conditions as condition_types, events, messages, reasons};
use kedge_api::scaled_job::ScaledJobStatus;
use kedge_api::{Condition, ScaledJob};
use kedge_cluster::EventType;
use kedge_cluster::merge_patch::merge_patch;
use kedge_core::scaled_job::status::{Facts, next_status};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::{JobReconcileError, JobReconcileState, JobReconciler};
use crate::job_cache::LazyScaledJob;
use crate::slots::Slot;

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
        // It may have been written since this reconcile began.
        let newest = self.cache.object(&object.cached.key).filter(|_| !self.cache.is_changed(object));
        let object = newest.as_ref().unwrap_or(object);
        let old = object.status.as_ref().unwrap_or(&none);
        let new = next_status(old, facts);
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
        let conditions = |status: &ScaledJobStatus| status.conditions.clone().unwrap_or_default();
        for (event_type, reason, note) in condition_events(&conditions(old), &conditions(&new)) {
            self.events.publish(&**object, event_type, reason, &note);
        }
        Ok(true)
    }
}

/// The events for a change of conditions.
fn condition_events(before: &[Condition], after: &[Condition]) -> Vec<(EventType, &'static str, String)> {
    let find = |conditions: &[Condition], kind: &str| conditions.iter().find(|one| one.r#type == kind).cloned();
    let mut found = Vec::new();
    if let Some(ready) = find(after, condition_types::READY) {
        let old = find(before, condition_types::READY);
        let has_failed = ready.reason.as_deref() == Some(reasons::SCALED_JOB_CHECK_FAILED);
        if has_failed && old.as_ref().is_none_or(|old| old.message != ready.message) {
            let note = ready.message.clone().unwrap_or_default();
            found.push((EventType::Warning, reasons::SCALED_JOB_CHECK_FAILED, note));
        }
        if ready.status == "True" && old.is_none_or(|old| old.status != "True") {
            found.push((EventType::Normal, reasons::SCALED_JOB_READY, "ScaledJob is ready for scaling".to_owned()));
        }
    }
    let is_true = |conditions: &[Condition], kind: &str| find(conditions, kind).is_some_and(|one| one.status == "True");
    let pairs = [
        (
            condition_types::PAUSED,
            (reasons::SCALED_JOB_PAUSED, messages::SCALED_JOB_PAUSED),
            (reasons::SCALED_JOB_UNPAUSED, messages::SCALED_JOB_UNPAUSED),
        ),
        (
            condition_types::ACTIVE,
            (events::SCALED_JOB_ACTIVE, messages::TRIGGERS_ACTIVE),
            (events::SCALED_JOB_INACTIVE, messages::TRIGGERS_NOT_ACTIVE),
        ),
    ];
    for (kind, begins, ends) in pairs {
        match (is_true(before, kind), is_true(after, kind)) {
            (false, true) => found.push((EventType::Normal, begins.0, begins.1.to_owned())),
            (true, false) => found.push((EventType::Normal, ends.0, ends.1.to_owned())),
            _ => {}
        }
    }
    found
}
