//! One poll of the triggers: the readings, the activity that follows, and the decision.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::TimeDelta;
use futures::FutureExt;
use kedge_api::names::{COMPOSITE_METRIC, events};
use kedge_cluster::target::desired_replicas;
use kedge_cluster::{EventType, ScaleTarget, TargetError};
use kedge_core::activity::{Activity, ActivityHistory, Contribution, activity};
use kedge_core::conditions::TriggerHealth;
use kedge_core::contribution::{MetricAnswer, TriggerState, metric_contribution, trigger_contribution};
use kedge_core::decide::{Current, Decision, Observation};
use kedge_core::fallback::{NoSubstitute, substitute};
use kedge_core::formula::composite::{CompositeOutcome, Surroundings, Unknown};
use kedge_core::formula::settings::Composite;
use kedge_core::policy::Activation;
use kedge_core::status::PollFacts;

use tokio::time::Instant;

use super::state::created_at;
use super::subject::Subject;
use super::{ReconcileError, ReconcileState, Reconciler};
use crate::cluster_cache::{CachedReplicas, LazyObject};
use crate::history::PollRecord;
use crate::scalers_cache::composite::{self, MetricReading};
use crate::scalers_cache::{CachedTrigger, ExternalMetric, Failure, ObjectScalers, Reading, Requester};
use crate::slots::Slot;

/// What the readings of a poll contribute.
#[derive(Default)]
pub(super) struct Polled {
    pub(super) contributions: Vec<Contribution>,
    /// Whether each metric is active, by name, where it is known.
    pub(super) active: BTreeMap<String, bool>,
    /// Why the formula has no value, where a source is not the cause.
    pub(super) formula_error: Option<String>,
}

/// What a decision is made on, and what the status says of it.
pub(super) struct Findings {
    activity: Activity,
    history: ActivityHistory,
    triggers: TriggerHealth,
    /// Whether each metric is active, by name, where it is known.
    pub(super) active: BTreeMap<String, bool>,
    /// When the sources were read.
    pub(super) read_at: Instant,
}

impl Findings {
    /// What to decide on, while the target has so many replicas.
    pub(super) fn observe(&self, current: Option<i32>) -> Observation {
        let current = current.map_or(Current::Unknown, Current::Replicas);
        Observation { activity: self.activity, history: self.history, current }
    }

    /// What the status says after this decision.
    pub(super) fn facts(&self, scalers: &ObjectScalers, decision: Decision) -> PollFacts {
        self.with_active(status_activity(scalers, self.active.clone()), decision)
    }

    fn into_facts(mut self, scalers: &ObjectScalers, decision: Decision) -> PollFacts {
        let active = status_activity(scalers, std::mem::take(&mut self.active));
        self.with_active(active, decision)
    }

    fn with_active(&self, active: BTreeMap<String, bool>, decision: Decision) -> PollFacts {
        let Self { activity, history, triggers, .. } = *self;
        PollFacts { activity, triggers, decision, active, history }
    }
}

impl Reconciler {
    /// Reads the sources, without the slot, and decides.
    pub(super) async fn poll(
        &self,
        subject: Subject<'_>,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Result<PollFacts, ReconcileError> {
        let Subject { object, target, scalers, .. } = subject;
        scalers.fail_unbuilt(&self.clock);
        let age_max = self.readings.age_max_of_poll(scalers);
        let sources = scalers.read_all(|_| age_max, Requester::ScaleLoop, &self.clock);
        let readings = self.wait_for_sources(object, slot, sources.boxed()).await?;
        let read_at = Instant::now();
        let current = self.cached_replicas(target, slot).await?;
        let mut polled = match &scalers.composite {
            None => contributions(scalers, &readings, current),
            Some(composite) => {
                Box::pin(self.composite_contributions(scalers, composite, &readings, target, current, slot)).await
            }
        };
        self.publish_failures(object, state, scalers, &readings, polled.formula_error.take());
        self.conclude(subject, polled, current, read_at, state, slot).await
    }

    /// Decides by what was contributed, and applies the decision.
    pub(super) async fn conclude(
        &self,
        subject: Subject<'_>,
        polled: Polled,
        current: Option<i32>,
        read_at: Instant,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Result<PollFacts, ReconcileError> {
        let scalers = subject.scalers;
        scalers.record_active(&polled.active);
        let activity = activity(&polled.contributions);
        let has_failed = polled.contributions.iter().any(|one| matches!(one, Contribution::Unknown));
        let findings = Findings {
            activity,
            history: self.next_history(subject, activity, state),
            triggers: if has_failed { TriggerHealth::SomeFailed } else { TriggerHealth::AllAnswered },
            active: polled.active,
            read_at,
        };
        let decision = self.apply_decision(subject, &findings, current, state, slot).await?;
        if let Some(histories) = &self.histories {
            let ready = self.cluster.ready_replicas(subject.target);
            histories.record_poll(&scalers.key, &PollRecord { scalers, replicas: current, ready, activity, decision });
        }
        Ok(findings.into_facts(scalers, decision))
    }

    /// The activity history after this poll.
    fn next_history(
        &self,
        Subject { object, policy, scalers, .. }: Subject<'_>,
        activity: Activity,
        state: &mut ReconcileState,
    ) -> ActivityHistory {
        let now = self.clock.now();
        // KEDA: forced activity counts for the cooldown like any other.
        let is_forced = policy.overrides.activation == Activation::Forced;
        let counted = if is_forced { Activity::Active } else { activity };
        let never = || ActivityHistory::NeverActive { created_at: created_at(object, now) };
        let delay = TimeDelta::from_std(state.schedule.count_poll(scalers.polling_interval)).unwrap_or(TimeDelta::MAX);
        let mut history = state.history.unwrap_or_else(never).delayed_by(delay);
        // Not later than now, in case the clock was set back.
        if let Some(at) = self.readings.seen_active.take(&scalers.key, &scalers.uid) {
            history = history.seen_active(at.min(now));
        }
        let history = history.after(counted, now);
        state.history = Some(history);
        history
    }

    /// What a formula contributes. cpu and memory are left to the HPA.
    async fn composite_contributions(
        &self,
        scalers: &ObjectScalers,
        composite: &Composite,
        readings: &[MetricReading<'_>],
        target: &ScaleTarget,
        current: Option<i32>,
        slot: &mut Slot,
    ) -> Polled {
        let around =
            |ready_pods| Surroundings { fallback: scalers.fallback.as_ref(), current_replicas: current, ready_pods };
        let evaluate = |ready| composite::evaluate(composite, readings, ExternalMetric::failures, around(ready));
        let mut outcome = evaluate(None);
        if matches!(outcome, CompositeOutcome::Unknown(Unknown::NoSubstitute(NoSubstitute::NoReadyPods))) {
            slot.hold().await;
            outcome = evaluate(self.targets.count_ready_pods(target).await.ok());
        }
        if let Some(value) = outcome.served() {
            scalers.record_composite(value);
        }
        let contribution = outcome.contribution();
        let left = scalers.triggers.iter().filter(|trigger| trigger.scaler.is_ok() && trigger.metrics.is_empty());
        // Sources that do not answer are published one by one.
        let error = outcome.why().filter(|why| !matches!(why, Unknown::NoAnswer { .. }));
        Polled {
            contributions: left.map(|_| Contribution::LeftToHpa).chain([contribution]).collect(),
            active: known_activity(contribution)
                .map(|active| (COMPOSITE_METRIC.to_owned(), active))
                .into_iter()
                .collect(),
            formula_error: error.map(ToString::to_string),
        }
    }

    /// The replicas of the target: as its watch reports them, or read now if the watch only reported a change.
    pub(super) async fn cached_replicas(
        &self,
        target: &ScaleTarget,
        slot: &mut Slot,
    ) -> Result<Option<i32>, ReconcileError> {
        match self.cluster.replicas(target) {
            CachedReplicas::Known(replicas) => return Ok(Some(replicas)),
            CachedReplicas::Missing => return Ok(None),
            CachedReplicas::Stale => slot.hold().await,
        }
        match Box::pin(self.targets.fetch_scale(target)).await {
            Ok(scale) => {
                let replicas = desired_replicas(&scale);
                self.cluster.record_replicas(target, CachedReplicas::Known(replicas));
                Ok(Some(replicas))
            }
            Err(TargetError::Missing { .. } | TargetError::NoScale { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Publishes each metric that begins to fail, once.
    fn publish_failures(
        &self,
        object: &LazyObject,
        state: &mut ReconcileState,
        scalers: &ObjectScalers,
        readings: &[MetricReading<'_>],
        formula_error: Option<String>,
    ) {
        let reason = if scalers.composite.is_some() { events::METRIC_SOURCE_FAILED } else { events::SCALER_FAILED };
        let sources = readings.iter().map(|(_, metric, reading)| {
            let failure = match &reading.answer {
                // A trigger that is not built is published when its scaler fails to build.
                Ok(_) | Err(Failure::NotBuilt(_)) => None,
                Err(failure) => Some(failure.to_string()),
            };
            (metric.name.as_str(), failure)
        });
        // While a source does not answer, it is not known whether the formula still fails.
        let is_known = formula_error.is_some() || readings.iter().all(|(_, _, reading)| reading.answer.is_ok());
        let formula = is_known.then_some((COMPOSITE_METRIC, formula_error));
        for (name, failure) in sources.chain(formula) {
            match failure {
                None => drop(state.failing_metrics.remove(name)),
                Some(error) => {
                    if state.failing_metrics.insert(name.to_owned()) {
                        self.events.publish(&**object, EventType::Warning, reason, &format!("{name}: {error}"));
                    }
                }
            }
        }
    }
}

/// What the triggers contribute where there is no formula.
pub(super) fn contributions(scalers: &ObjectScalers, readings: &[MetricReading<'_>], current: Option<i32>) -> Polled {
    let mut active = BTreeMap::new();
    let mut metrics = Vec::with_capacity(readings.len());
    for (trigger, metric, reading) in readings {
        let (failures, fallback) = (metric.failures(), scalers.fallback.as_ref());
        let contribution = metric_contribution(metric_answer(reading), failures, fallback, current);
        if let Contribution::FallenBack { replicas } = contribution
            && let Ok(value) = substitute(replicas, metric.target, metric.metric_type, None)
        {
            scalers.record_fallback(trigger, metric, value);
        }
        active.extend(known_activity(contribution).map(|active| (metric.name.clone(), active)));
        metrics.push((trigger.index, contribution));
    }
    let contribution = |trigger: &Arc<CachedTrigger>| {
        let own = metrics.iter().filter(|(index, _)| *index == trigger.index).map(|(_, contribution)| *contribution);
        trigger_contribution(trigger_state(trigger), own)
    };
    let contributions = scalers.triggers.iter().map(contribution).collect();
    Polled { contributions, active, formula_error: None }
}

/// Whether a metric is active, unless its source did not answer.
fn known_activity(contribution: Contribution) -> Option<bool> {
    (contribution != Contribution::Unknown).then(|| contribution.is_active())
}

fn metric_answer(reading: &Reading) -> MetricAnswer {
    match &reading.answer {
        Ok(_) if reading.is_active() => MetricAnswer::Active,
        Ok(_) => MetricAnswer::Inactive,
        Err(_) => MetricAnswer::Failed,
    }
}

/// Whether a trigger has a scaler.
pub(super) fn trigger_state(trigger: &CachedTrigger) -> TriggerState {
    if trigger.scaler.is_ok() { TriggerState::Built } else { TriggerState::NotBuilt }
}

/// The activity of each metric for the status. Where there is a formula, metrics have none of their own.
fn status_activity(scalers: &ObjectScalers, mut active: BTreeMap<String, bool>) -> BTreeMap<String, bool> {
    active.retain(|name, _| scalers.metrics().any(|(_, metric)| metric.name == *name));
    for (_, metric) in scalers.metrics() {
        if !active.contains_key(&metric.name) {
            active.insert(metric.name.clone(), false);
        }
    }
    active
}
