//! One reconcile: the steps, their results, and when the next reconcile is due.

use std::sync::Arc;

use futures::future::BoxFuture;
use kedge_api::ScaledObject;
use kedge_cluster::stored::Unreadable;
use kedge_cluster::{ObjectKey, instant_after};
use kedge_core::policy::{Policy, polling_interval};
use kedge_core::selector::names::VALUE_MAX_BYTES;
use kedge_core::status::PollFacts;
use kedge_core::validate::ValidationStep;
use kube::api::Api;
use tokio::time::Instant;

use super::state::EnsuredHpa;
use super::subject::{HpaStep, Subject};
use super::target::{FoundTarget, TargetStep};
use super::{ReconcileError, ReconcileState, Reconciler, can_be_label_value};
use crate::cluster_cache::{CachedReplicas, LazyObject, needs_reconcile};
use crate::poll_schedule::PollInput;
use crate::retries::PROBLEM_RECHECK;
use crate::scalers_cache::ObjectScalers;
use crate::slots::Slot;
use crate::unreadable::UnreadableObject;
use crate::validation::check_spec;

/// How far a reconcile of an object that is not paused got.
#[derive(Debug)]
pub(super) enum Progress {
    /// The scalers were not reached.
    Blocked(Blocked),
    Scaled(Scaled),
}

/// Why the scalers were not reached.
#[derive(Debug, Default)]
pub(super) struct Blocked {
    pub(super) problem: Option<String>,
    pub(super) target: Option<FoundTarget>,
    /// Whether the triggers are valid, so that the status lists them.
    pub(super) lists_triggers: bool,
}

/// What the steps after the target found and did.
#[derive(Debug)]
pub(super) struct Scaled {
    pub(super) target: FoundTarget,
    pub(super) scalers: Arc<ObjectScalers>,
    pub(super) hpa: HpaStep,
    /// `None` where no poll was due.
    pub(super) poll: Option<PollFacts>,
}

/// The progress, and the error that ended it, if one did.
type Steps = (Progress, Result<(), ReconcileError>);

/// Why an object does not work as it should: the triggers that are not built, or else the HPA.
pub(super) fn problem_of(scalers: &ObjectScalers, hpa: &HpaStep) -> Option<String> {
    let errors = scalers.triggers.iter().filter_map(|trigger| trigger.scaler.as_ref().err());
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    if errors.is_empty() { hpa.problem().map(str::to_owned) } else { Some(errors.join("; ")) }
}

impl Progress {
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Self::Blocked(blocked) => blocked.problem.clone(),
            Self::Scaled(scaled) => problem_of(&scaled.scalers, &scaled.hpa),
        }
    }
}

impl Reconciler {
    /// Reconciles an object; returns when the next reconcile is due.
    pub(crate) async fn reconcile(
        &self,
        key: &ObjectKey,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Option<Instant> {
        if let Some(unreadable) = self.cluster.unreadable(key) {
            slot.hold().await;
            return self.settle_unreadable(key, &unreadable, state).await;
        }
        let Some(object) = self.cluster.object(key) else {
            self.forget(key, state);
            self.readings.leadership.forget(key);
            return None;
        };
        if object.cached.uid.as_deref() != Some(state.uid.as_str()) || state.unreadable.is_some() {
            self.forget(key, state);
            *state = ReconcileState::new(&object, self.clock.now());
        }
        match self.reconcile_object(key, object, state, slot).await {
            Ok(next) => {
                state.retries.reset();
                self.readings.leadership.record_reconciled(key);
                next
            }
            Err(ReconcileError::Interrupted) => {
                state.schedule.poll_again();
                None
            }
            // Objects that became due before this moment, new ones without an HPA among them, come before its first poll.
            Err(ReconcileError::Begun) => Some(Instant::now()),
            Err(error) if error.is_conflict() => {
                state.schedule.poll_again();
                Some(state.retries.after_conflict(key, &error))
            }
            Err(error) => Some(state.retries.after_failure(key, &error, &state.schedule)),
        }
    }

    /// Settles an object that our types cannot read, once; returns when that is tried again.
    async fn settle_unreadable(
        &self,
        key: &ObjectKey,
        object: &Unreadable,
        state: &mut ReconcileState,
    ) -> Option<Instant> {
        let unreadable = UnreadableObject { client: &self.client, events: &self.events, key, object };
        if unreadable.is_settled(state.unreadable.as_deref()) {
            return None;
        }
        self.forget(key, state);
        let again_at = Box::pin(unreadable.settle()).await;
        if again_at.is_none() {
            state.mark_unreadable(&object.metadata, object.error.clone());
        }
        again_at
    }

    /// Drops everything that is kept of an object.
    pub(crate) fn forget(&self, key: &ObjectKey, state: &mut ReconcileState) {
        self.readings.forget(key);
        if let Some(histories) = &self.histories {
            histories.forget(key);
        }
        *state = ReconcileState::default();
    }

    async fn reconcile_object(
        &self,
        key: &ObjectKey,
        object: LazyObject,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Result<Option<Instant>, ReconcileError> {
        if let Some((policy, target)) = self.unchanged_target(&object, state) {
            let (scaled, outcome) = self.scale(&object, &policy, target, state, slot).await?;
            return self.finish(&object, &policy, (Progress::Scaled(scaled), outcome), state, slot).await;
        }
        slot.hold().await;
        if object.metadata.deletion_timestamp.is_some() {
            return Box::pin(self.finalize(key, &object, state)).await.map(|()| None);
        }
        let mut object = self.ensure_marks(object).await?;
        let policy = Policy::from_spec(&object.spec, object.metadata.annotations.as_ref());
        self.telemetry.record_paused(key, policy.overrides.is_paused());
        if policy.overrides.is_fully_paused() {
            return Box::pin(self.hold_paused(key, &object, &policy, state)).await;
        }
        let steps = self.run_steps(key, &mut object, &policy, state, slot).await;
        self.finish(&object, &policy, steps, state, slot).await
    }

    /// Reports what the steps found and did; returns when the next reconcile is due.
    async fn finish(
        &self,
        object: &LazyObject,
        policy: &Policy,
        (mut progress, outcome): Steps,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Result<Option<Instant>, ReconcileError> {
        if outcome.as_ref().is_err_and(ReconcileError::is_outdated) {
            return outcome.map(|()| None);
        }
        let problem = progress.problem().or_else(|| outcome.as_ref().err().map(ToString::to_string));
        self.report(object, policy, &mut progress, problem.as_deref(), state, slot).await?;
        outcome?;
        let next = next_reconcile(object, state, &progress);
        Ok(next.into_iter().chain(state.postponed_until.take()).min())
    }

    /// Checks the spec, finds the target, and continues with the scalers. The object may be written meanwhile.
    async fn run_steps(
        &self,
        key: &ObjectKey,
        object: &mut LazyObject,
        policy: &Policy,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Steps {
        let blocked = |blocked: Blocked, outcome| (Progress::Blocked(blocked), outcome);
        if !can_be_label_value(&key.name) {
            let problem = Some(format!(
                "the name has {} characters, and labels that hold it have at most {VALUE_MAX_BYTES}; create the object again with a shorter name",
                key.name.len()
            ));
            return blocked(Blocked { problem, ..Blocked::default() }, Ok(()));
        }
        if let Some(invalid) = check_spec(&object.spec) {
            // KEDA: the status names the target all the same, and the triggers if only the formula is invalid.
            let problem = Some(invalid.message);
            return match self.find_target(key, object).await {
                Ok(TargetStep::Found(target)) => {
                    let lists_triggers = invalid.step == ValidationStep::Modifiers;
                    blocked(Blocked { problem, target: Some(target), lists_triggers }, Ok(()))
                }
                Ok(TargetStep::Unusable(_)) => blocked(Blocked { problem, ..Blocked::default() }, Ok(())),
                Err(error) => blocked(Blocked { problem, ..Blocked::default() }, Err(error)),
            };
        }
        if let Some(rival) = self.cluster.rivals(object).first() {
            let target = &object.spec.scale_target_ref.name;
            let problem = Some(format!(
                "the workload '{target}' is already managed by the ScaledObject '{rival}'; delete one of them, or choose another target"
            ));
            return blocked(Blocked { problem, ..Blocked::default() }, Ok(()));
        }
        let target = match self.find_target(key, object).await {
            Ok(TargetStep::Found(target)) => target,
            Ok(TargetStep::Unusable(problem)) => {
                return blocked(Blocked { problem: Some(problem), ..Blocked::default() }, Ok(()));
            }
            Err(error) => return blocked(Blocked::default(), Err(error)),
        };
        if let Err(error) = self.record_target(object, &target).await {
            return blocked(Blocked { target: Some(target), ..Blocked::default() }, Err(error));
        }
        match self.scale(object, policy, target, state, slot).await {
            Ok((scaled, outcome)) => (Progress::Scaled(scaled), outcome),
            Err(error) => blocked(Blocked::default(), Err(error)),
        }
    }

    /// What the steps before the scalers found the last time, if they would find the same: the object is unchanged, no other has its
    /// target, and the target exists.
    fn unchanged_target(&self, object: &LazyObject, state: &ReconcileState) -> Option<(Policy, FoundTarget)> {
        let EnsuredHpa { object: ensured, policy, target, .. } = state.ensured_hpa.as_ref()?;
        let is_unchanged = Arc::ptr_eq(ensured, &object.cached)
            && self.cluster.is_alone(ensured)
            && matches!(self.cluster.replicas(target), CachedReplicas::Known(_));
        is_unchanged.then(|| (policy.clone(), FoundTarget { target: target.clone(), live_replicas: None }))
    }

    /// Ensures the scalers and the HPA, and acts on a push, or polls when it is time. An error if the wait for sources was interrupted.
    async fn scale(
        &self,
        object: &LazyObject,
        policy: &Policy,
        target: FoundTarget,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Result<(Scaled, Result<(), ReconcileError>), ReconcileError> {
        let mut scalers = self.ensure_scalers(object, &target.target, state, slot).await?;
        let is_pushed = scalers.is_pushed();
        let mut input = PollInput::new(object.cached.generation, &policy.overrides, &scalers);
        let is_due = !is_pushed && (state.schedule.is_due(&input) || scalers.has_changed_metrics());
        if is_due && scalers.needs_rebuild() {
            scalers = self.rebuild_scalers(object, scalers, state, slot).await?;
            input = PollInput::new(object.cached.generation, &policy.overrides, &scalers);
        }
        // An HPA that cannot be written is reported, and does not keep a target from being activated or deactivated.
        let subject = Subject { object, policy, target: &target.target, scalers: &scalers, hpa: None };
        let ensured = match self.unchanged_hpa(subject, state) {
            Some(unchanged) => Ok(unchanged),
            None => {
                slot.hold().await;
                Box::pin(self.ensure_hpa(subject, state)).await
            }
        };
        let (hpa, mut outcome) = match ensured {
            Ok(step) => (step, Ok(())),
            Err(error) => (HpaStep::NotWritten { problem: error.to_string() }, Err(error)),
        };
        let subject = Subject { hpa: Some(&hpa), ..subject };
        if matches!(hpa, HpaStep::Created { .. }) && !is_pushed {
            return Err(ReconcileError::Begun);
        }
        let polled = if is_pushed {
            Some(Box::pin(self.act_on_push(subject, state, slot)).await)
        } else if is_due {
            let delay = state.schedule.start_poll(scalers.polling_interval, input);
            self.telemetry.record_delay(&scalers.key, delay);
            Some(self.poll(subject, state, slot).await)
        } else {
            None
        };
        let poll = polled.transpose().unwrap_or_else(|error| {
            outcome = Err(error);
            None
        });
        Ok((Scaled { target, scalers, hpa, poll }, outcome))
    }

    /// Waits for sources without the slot. Ends if the object changes meanwhile, or a source pushes: then it is reconciled again, and
    /// joins the queries in flight.
    pub(super) async fn wait_for_sources<T>(
        &self,
        object: &LazyObject,
        slot: &mut Slot,
        sources: BoxFuture<'_, T>,
    ) -> Result<T, ReconcileError> {
        let key = &object.cached.key;
        let is_changed = || match self.cluster.object(key) {
            Some(now) if Arc::ptr_eq(&now.cached, &object.cached) => false,
            Some(now) => needs_reconcile(&object.metadata, &now.metadata),
            None => true,
        };
        let has_push = || {
            let scalers = self.readings.get(key);
            scalers.is_some_and(|scalers| scalers.is_pushed() || scalers.has_changed_metrics())
        };
        slot.wait_outside(sources, || is_changed() || has_push()).await.ok_or(ReconcileError::Interrupted)
    }

    /// Confirms, before its target is written, that the object is unchanged: the watch may be behind, and a user may have paused it.
    pub(super) async fn confirm(&self, object: &ScaledObject) -> Result<(), ReconcileError> {
        let key = ObjectKey::from(object);
        let api: Api<ScaledObject> = Api::namespaced(self.client.clone(), &key.namespace);
        let live = api.get_opt(&key.name).await.map_err(ReconcileError::api("cannot read the ScaledObject"))?;
        // Its watch reports a deletion soon; a stale read is no proof of one.
        let live = live.ok_or(ReconcileError::Changed)?;
        let changed = needs_reconcile(&object.metadata, &live.metadata);
        self.cluster.record_written_object(live);
        if changed { Err(ReconcileError::Changed) } else { Ok(()) }
    }
}

/// When to reconcile again: at the next poll, or sooner to check a problem again, or to renew credentials.
fn next_reconcile(object: &LazyObject, state: &ReconcileState, progress: &Progress) -> Option<Instant> {
    match progress {
        Progress::Blocked(Blocked { problem: Some(_), .. }) => {
            Some(instant_after(polling_interval(object.spec.polling_interval).max(PROBLEM_RECHECK)))
        }
        Progress::Blocked(_) => state.schedule.next_at,
        // A push came first.
        Progress::Scaled(scaled) if scaled.scalers.has_changed_metrics() => Some(Instant::now()),
        Progress::Scaled(scaled) => state.schedule.next_at.into_iter().chain(scaled.scalers.refresh_at).min(),
    }
}
