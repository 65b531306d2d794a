//! One reconcile: the steps, and when the next reconcile is due.

use std::sync::Arc;

use futures::future::BoxFuture;
use kedge_api::ScaledJob;
use kedge_api::names::events;
use kedge_cluster::stored::Unreadable;
use kedge_cluster::{EventType, ObjectKey, instant_after};
use kedge_core::policy::{Overrides, polling_interval};
use kedge_core::scaled_job::policy::JobPolicy;
use kedge_core::scaled_job::status::{Facts, PollFacts};
use kedge_core::selector::names::{VALUE_MAX_BYTES, check_value};
use kedge_core::validate::validate_triggers;
use tokio::time::Instant;

use super::{JobReconcileError, JobReconcileState, JobReconciler};
use crate::job_cache::LazyScaledJob;
use crate::poll_schedule::PollInput;
use crate::retries::PROBLEM_RECHECK;
use crate::scalers_cache::ObjectScalers;
use crate::slots::Slot;
use crate::unreadable::UnreadableObject;

impl JobReconciler {
    /// Reconciles an object; returns when the next reconcile is due.
    pub(crate) async fn reconcile(
        &self,
        key: &ObjectKey,
        state: &mut JobReconcileState,
        slot: &mut Slot,
    ) -> Option<Instant> {
        if let Some(unreadable) = self.cache.unreadable(key) {
            slot.hold().await;
            return self.settle_unreadable(key, &unreadable, state).await;
        }
        let Some(object) = self.cache.object(key) else {
            self.forget(key, state);
            return None;
        };
        if object.cached.uid.as_deref() != Some(state.uid.as_str()) || state.unreadable.is_some() {
            self.forget(key, state);
            *state = JobReconcileState::new(&object);
        }
        match self.reconcile_object(key, object, state, slot).await {
            Ok(next) => {
                state.retries.reset();
                next
            }
            Err(JobReconcileError::Interrupted) => {
                state.schedule.poll_again();
                None
            }
            Err(error) if error.is_conflict() => Some(state.retries.after_conflict(key, &error)),
            Err(error) => Some(state.retries.after_failure(key, &error, &state.schedule)),
        }
    }

    /// Settles an object that our types cannot read, once; returns when that is tried again.
    async fn settle_unreadable(
        &self,
        key: &ObjectKey,
        object: &Unreadable,
        state: &mut JobReconcileState,
    ) -> Option<Instant> {
        let unreadable = UnreadableObject { client: &self.client, events: &self.events, key, object };
        if unreadable.is_settled(state.unreadable.as_deref()) {
            return None;
        }
        self.forget(key, state);
        let again_at = Box::pin(unreadable.settle()).await;
        if again_at.is_none() {
            state.mark_unreadable(object);
        }
        again_at
    }

    /// Drops everything that is kept of an object.
    pub(crate) fn forget(&self, key: &ObjectKey, state: &mut JobReconcileState) {
        self.readings.forget(key);
        *state = JobReconcileState::default();
    }

    async fn reconcile_object(
        &self,
        key: &ObjectKey,
        object: LazyScaledJob,
        state: &mut JobReconcileState,
        slot: &mut Slot,
    ) -> Result<Option<Instant>, JobReconcileError> {
        state.is_quiet = false;
        if object.metadata.deletion_timestamp.is_some() {
            slot.hold().await;
            return self.finalize(key, &object, state).await.map(|()| None);
        }
        let object = self.ensure_finalizer(object, slot).await?;
        let policy = JobPolicy::from_spec(&object.spec, object.metadata.annotations.as_ref());
        if policy.is_paused {
            return self.hold_paused(key, &object, state, slot).await;
        }
        if policy.strategy.counts_pending() {
            self.watches.ensure_pods();
        }
        if let Some(problem) = problem_of(&object) {
            let facts = Facts { is_paused: false, problem: Some(&problem), triggers: None, poll: None };
            self.write_status(&object, &facts, state, slot).await?;
            return Ok(Some(instant_after(polling_interval(object.spec.polling_interval).max(PROBLEM_RECHECK))));
        }
        self.delete_outdated(&object, &policy, slot).await?;
        let scalers = self.ensure_scalers(&object, state, slot).await?;
        let poll = self.poll_if_due(&object, &policy, &scalers, state, slot).await?;
        let is_clean = self.delete_surplus(&object, &policy, slot).await;
        let problem = problem_of_scalers(&scalers);
        let triggers = Some(object.spec.triggers.as_slice());
        let facts = Facts { is_paused: false, problem: problem.as_deref(), triggers, poll: poll.as_ref() };
        let is_written = self.write_status(&object, &facts, state, slot).await?;
        state.is_quiet = is_clean && !is_written && poll.is_none_or(|poll| poll.create_errors.is_empty());
        let next = state.schedule.next_at.into_iter().chain(scalers.refresh_at).chain(state.postponed_until.take());
        Ok(next.min())
    }

    /// Polls the triggers and creates Jobs, if a poll is due.
    async fn poll_if_due(
        &self,
        object: &LazyScaledJob,
        policy: &JobPolicy,
        scalers: &Arc<ObjectScalers>,
        state: &mut JobReconcileState,
        slot: &mut Slot,
    ) -> Result<Option<PollFacts>, JobReconcileError> {
        // A pause is none of these: it ends before.
        let input = PollInput::new(object.cached.generation, &Overrides::from_annotations(None), scalers);
        if !state.schedule.is_due(&input) {
            return Ok(None);
        }
        let delay = state.schedule.start_poll(scalers.polling_interval, input);
        self.telemetry.record_delay(&scalers.key, delay);
        self.poll(object, policy, scalers, state, slot).await.map(Some)
    }

    /// A full pause: neither polls nor clean-up. Jobs that run continue.
    async fn hold_paused(
        &self,
        key: &ObjectKey,
        object: &LazyScaledJob,
        state: &mut JobReconcileState,
        slot: &mut Slot,
    ) -> Result<Option<Instant>, JobReconcileError> {
        self.telemetry.drop_loop(key);
        let scalers = self.readings.remove(key);
        scalers.iter().for_each(|scalers| scalers.drop_series());
        if scalers.is_some_and(|scalers| scalers.is_any_built()) {
            self.events.publish(&**object, EventType::Normal, events::SCALERS_STOPPED, "Stopped scalers watch");
        }
        state.schedule.suspend();
        let facts = Facts { is_paused: true, problem: None, triggers: None, poll: None };
        self.write_status(object, &facts, state, slot).await?;
        Ok(state.postponed_until.take())
    }

    /// Waits for sources without the slot. Ends if the object changes meanwhile: then it is reconciled again, and joins the queries in
    /// flight.
    pub(super) async fn wait_for_sources<T>(
        &self,
        object: &LazyScaledJob,
        slot: &mut Slot,
        sources: BoxFuture<'_, T>,
    ) -> Result<T, JobReconcileError> {
        slot.wait_outside(sources, || self.cache.is_changed(object)).await.ok_or(JobReconcileError::Interrupted)
    }
}

/// What is wrong with an object as it is written.
fn problem_of(object: &ScaledJob) -> Option<String> {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    if !check_value(name).is_empty() {
        return Some(format!(
            "the name has {} characters, and labels that hold it have at most {VALUE_MAX_BYTES}; create the object again with a shorter name",
            name.len()
        ));
    }
    let errors = validate_triggers(&object.spec.triggers, kedge_scalers::registry::class_of);
    let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let what = "ScaledJob doesn't have correct triggers specification";
    (!all.is_empty()).then(|| format!("{what}: {}", all.join("; ")))
}

/// Why triggers are not built. The others are polled all the same.
fn problem_of_scalers(scalers: &ObjectScalers) -> Option<String> {
    let errors = scalers.triggers.iter().filter_map(|trigger| trigger.scaler.as_ref().err());
    let all: Vec<String> = errors.map(ToString::to_string).collect();
    (!all.is_empty()).then(|| format!("Failed to ensure ScaledJob is correctly created: {}", all.join("; ")))
}
