//! Writing the status: one patch if anything changed, and an event for each change of a condition. The rules are in `kedge_core::status`.

use std::sync::Arc;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::ScaledObject;
use kedge_api::names::{conditions as condition_types, events, messages, reasons};
use kedge_api::scaled_object::ScaledObjectStatus;
use kedge_cluster::merge_patch::merge_patch;
use kedge_cluster::{NamespacedName, ObjectKey};
use kedge_core::conditions::{FallbackState, HpaState};
use kedge_core::fallback::Failures;
use kedge_core::policy::Policy;
use kedge_core::status::{Facts, PauseFacts, PollFacts, ScalersFacts, TargetFacts, next_status, with_target};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::reconcile::{Progress, Scaled, problem_of};
use super::state::{EnsuredHpa, Reported};
use super::subject::{HpaStep, Subject};
use super::target::{FoundTarget, target_facts};
use super::{ReconcileError, ReconcileState, Reconciler};
use crate::cluster_cache::{CachedHpa, LazyObject, needs_reconcile, scaling_active};
use crate::condition_events::{Change, ConditionEvents};
use crate::scalers_cache::ObjectScalers;
use crate::slots::Slot;

const CONDITION_EVENTS: ConditionEvents = ConditionEvents {
    check_failed: reasons::SCALED_OBJECT_CHECK_FAILED,
    ready: (reasons::SCALED_OBJECT_READY, "ScaledObject is ready for scaling"),
    changes: [
        Change {
            condition: condition_types::PAUSED,
            begins: (reasons::SCALED_OBJECT_PAUSED, messages::SCALED_OBJECT_PAUSED),
            ends: (reasons::SCALED_OBJECT_UNPAUSED, messages::SCALED_OBJECT_UNPAUSED),
        },
        Change {
            condition: condition_types::FALLBACK,
            begins: (events::SCALED_OBJECT_FALLBACK_ACTIVATED, "ScaledObject fallback is active"),
            ends: (events::SCALED_OBJECT_FALLBACK_DEACTIVATED, "ScaledObject fallback is no longer active"),
        },
    ],
};

/// What came of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Unchanged,
    Changed,
    /// It was written too often within the last minute.
    Postponed,
}

/// What the status says of an object that has scalers.
struct ScaledView<'a> {
    target: TargetFacts,
    scalers: &'a ObjectScalers,
    hpa: &'a HpaStep,
    poll: Option<&'a PollFacts>,
}

impl Reconciler {
    /// Reports a reconcile of an object that is not paused.
    pub(super) async fn report(
        &self,
        object: &LazyObject,
        policy: &Policy,
        progress: &mut Progress,
        problem: Option<&str>,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Result<(), ReconcileError> {
        if is_reported(progress, problem, state) {
            return Ok(());
        }
        slot.hold().await;
        let written = self.newer(object);
        let object = written.as_ref().unwrap_or(object);
        // Before the facts: a reading of the metrics API may change these meanwhile, and is reported the next time.
        let seen = reported_failures(progress);
        let written = match &*progress {
            Progress::Scaled(Scaled { target, scalers, hpa, poll }) => {
                let view = ScaledView { target: target.facts(), scalers, hpa, poll: poll.as_ref() };
                Box::pin(self.write_scaled_status(object, policy, &view, problem, state)).await?
            }
            Progress::Blocked(blocked) => {
                let (target, hpa) = (blocked.target.as_ref().map(FoundTarget::facts), self.hpa_of(object, None));
                let hpa = hpa.map(|cached| cached.hpa.read());
                let facts = Facts {
                    overrides: &policy.overrides,
                    problem,
                    pause: PauseFacts::NotPaused,
                    target: target.as_ref(),
                    triggers: blocked.lists_triggers.then_some(object.spec.triggers.as_slice()),
                    scalers: None,
                    poll: None,
                    fallback: unread_fallback(object),
                    hpa: hpa_state(hpa.as_ref()),
                };
                Box::pin(self.write_status(object, &facts, state)).await?
            }
        };
        if let (Written::Unchanged, None, Progress::Scaled(scaled), Some((fallback, failures)), Some(ensured)) =
            (written, problem, progress, seen, &mut state.ensured_hpa)
        {
            ensured.reported = Some(Reported { poll: scaled.poll.take(), fallback, failures });
        }
        Ok(())
    }

    /// The object as this reconcile wrote it already, if it did.
    fn newer(&self, object: &LazyObject) -> Option<LazyObject> {
        let newest = self.cluster.object(&object.cached.key)?;
        let is_newer = !Arc::ptr_eq(&newest.cached, &object.cached);
        (is_newer && !needs_reconcile(&object.metadata, &newest.metadata)).then_some(newest)
    }

    /// The object's HPA as it is cached: the one that was ensured, or the one that the status names.
    fn hpa_of(&self, object: &ScaledObject, ensured: Option<&str>) -> Option<CachedHpa> {
        let recorded = object.status.as_ref().and_then(|status| status.hpa_name.as_deref());
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        self.cluster.hpa(&NamespacedName::new(namespace, ensured.or(recorded)?))
    }

    /// Writes the status of an object that has scalers.
    async fn write_scaled_status(
        &self,
        object: &LazyObject,
        policy: &Policy,
        view: &ScaledView<'_>,
        problem: Option<&str>,
        state: &mut ReconcileState,
    ) -> Result<Written, ReconcileError> {
        let hpa = self.hpa_of(object, view.hpa.name()).map(|cached| cached.hpa.read());
        let scalers = scalers_facts(view);
        let facts = Facts {
            overrides: &policy.overrides,
            problem,
            pause: PauseFacts::NotPaused,
            target: Some(&view.target),
            triggers: Some(object.spec.triggers.as_slice()),
            scalers: Some(&scalers),
            poll: view.poll,
            fallback: view.scalers.fallback_state(),
            hpa: hpa_state(hpa.as_ref()),
        };
        self.write_status(object, &facts, state).await
    }

    /// Records the target and its original replicas before the target is scaled for the first time.
    pub(super) async fn record_target(
        &self,
        object: &mut LazyObject,
        target: &FoundTarget,
    ) -> Result<(), ReconcileError> {
        let recorded = object.status.as_ref().and_then(|status| status.original_replica_count);
        if recorded.is_some() || target.live_replicas.is_none() {
            return Ok(());
        }
        let old = object.status.clone().unwrap_or_default();
        if let Some(written) = self.patch_status(object, &old, &with_target(&old, &target.facts())).await? {
            *object = written;
        }
        Ok(())
    }

    /// Records the activity of an object before its target is activated: a process that ends after that step would leave the next one
    /// no cooldown. The status is that after the activation, so that one write does. Confirms that the object is unchanged, too.
    pub(super) async fn record_activation(
        &self,
        Subject { object, policy, target, scalers, hpa }: Subject<'_>,
        poll: &PollFacts,
        state: &mut ReconcileState,
    ) -> Result<(), ReconcileError> {
        if let Some(hpa) = hpa {
            let view = ScaledView { target: target_facts(target, None), scalers, hpa, poll: Some(poll) };
            let problem = problem_of(scalers, hpa);
            let written = self.write_scaled_status(object, policy, &view, problem.as_deref(), state).await;
            if let Ok(Written::Changed) = written {
                return Ok(());
            }
        }
        // A status that cannot be written does not prevent the activation.
        self.confirm(object).await
    }

    /// Writes the status that follows from the facts if it differs from the present one, and publishes the changes. A status that
    /// changes too often is written later.
    pub(super) async fn write_status(
        &self,
        object: &ScaledObject,
        facts: &Facts<'_>,
        state: &mut ReconcileState,
    ) -> Result<Written, ReconcileError> {
        let none = ScaledObjectStatus::default();
        let old = object.status.as_ref().unwrap_or(&none);
        let new = next_status(old, facts, self.clock.now());
        if let Err(until) = state.status_writes.check() {
            state.postpone(until);
            return Ok(Written::Postponed);
        }
        if self.patch_status(object, old, &new).await?.is_none() {
            return Ok(Written::Unchanged);
        }
        state.status_writes.count();
        let (before, after) =
            (old.conditions.as_deref().unwrap_or_default(), new.conditions.as_deref().unwrap_or_default());
        for (event_type, reason, note) in CONDITION_EVENTS.of(before, after) {
            self.events.publish(object, event_type, reason, &note);
        }
        Ok(Written::Changed)
    }

    /// Patches the status if it changed; returns the object as it is then.
    async fn patch_status(
        &self,
        object: &ScaledObject,
        old: &ScaledObjectStatus,
        new: &ScaledObjectStatus,
    ) -> Result<Option<LazyObject>, ReconcileError> {
        if old == new {
            return Ok(None);
        }
        let value = |status: &ScaledObjectStatus| serde_json::to_value(status).unwrap_or_default();
        let Some(change) = merge_patch(&value(old), &value(new)) else { return Ok(None) };
        // The resource version makes the patch fail if another client wrote the object meanwhile: the facts may be outdated.
        let patch = json!({ "metadata": { "resourceVersion": object.metadata.resource_version }, "status": change });
        let key = ObjectKey::from(object);
        let api: Api<ScaledObject> = Api::namespaced(self.client.clone(), &key.namespace);
        let written = api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        let written = written.map_err(ReconcileError::api("cannot write the status"))?;
        Ok(Some(self.cluster.record_written_object(written)))
    }
}

/// Whether a reconcile found nothing that differs from the last report, which changed nothing in the status.
fn is_reported(progress: &Progress, problem: Option<&str>, state: &ReconcileState) -> bool {
    let Progress::Scaled(Scaled { target, scalers, poll, .. }) = progress else { return false };
    let Some(EnsuredHpa { reported: Some(reported), .. }) = &state.ensured_hpa else { return false };
    problem.is_none()
        && target.live_replicas.is_none()
        && reported.fallback == scalers.fallback_state()
        && scalers.metrics().map(|(_, metric)| metric.failures()).eq(reported.failures.iter().copied())
        && match (poll, &reported.poll) {
            (None, None) => true,
            (Some(poll), Some(reported)) => poll.is_reported_as(reported),
            _ => false,
        }
}

/// What a report depends on that readings of the metrics API change, too: the fallback, and the failures of each metric.
fn reported_failures(progress: &Progress) -> Option<(FallbackState, Vec<Failures>)> {
    let Progress::Scaled(Scaled { scalers, .. }) = progress else { return None };
    Some((scalers.fallback_state(), scalers.metrics().map(|(_, metric)| metric.failures()).collect()))
}

/// The state of the fallback while no trigger has been read.
pub(super) fn unread_fallback(object: &ScaledObject) -> FallbackState {
    if object.spec.fallback.is_some() { FallbackState::NotYetKnown } else { FallbackState::Absent }
}

fn hpa_state(hpa: Option<&HorizontalPodAutoscaler>) -> HpaState<'_> {
    match hpa.and_then(scaling_active) {
        None => HpaState::Unknown,
        Some(("True", _, _)) => HpaState::Scaling,
        Some((_, reason, message)) => HpaState::NotScaling { reason, message },
    }
}

fn scalers_facts(view: &ScaledView<'_>) -> ScalersFacts {
    let scalers = view.scalers;
    let specs = scalers.triggers.iter().flat_map(|trigger| trigger.specs.read());
    let failures = || scalers.metrics().map(|(_, metric)| (metric.name.clone(), metric.failures())).collect();
    ScalersFacts {
        is_any_built: scalers.is_any_built(),
        hpa_name: view.hpa.name().map(str::to_owned),
        has_composite: scalers.composite.is_some(),
        external_metrics: scalers.metrics().map(|(_, metric)| metric.name.clone()).collect(),
        resource_metrics: specs.filter_map(|spec| spec.resource.map(|resource| resource.name)).collect(),
        failures: scalers.fallback.as_ref().map(|_| failures()),
    }
}
