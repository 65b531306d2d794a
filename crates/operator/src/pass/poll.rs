//! A look at the triggers, the decision that follows, and the step it asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kedge_api::ScaledObject;
use kedge_api::names::{COMPOSITE_METRIC, events};
use kedge_core::activity::{Activity, Contribution, activity};
use kedge_core::conditions::TriggerHealth;
use kedge_core::decide::{Cause, Current, Decision, Observation, decide};
use kedge_core::fallback::NoSubstitute;
use kedge_core::formula::composite::{CompositeOutcome, Surroundings, Unknown};
use kedge_core::formula::settings::Composite;
use kedge_core::policy::Policy;
use kedge_core::{fallback, policy::Activation};
use kedge_scalers::Activity as Answer;
use tracing::{debug, info};

use super::{Memory, PassError, Passes};
use crate::board::composite::{self, Read};
use crate::board::{BoardTrigger, ExternalMetric, FRESH, Failure, ObjectBoard, Reading};
use crate::world::TargetSeen;
use kedge_cluster::EventType;
use kedge_cluster::api_error::is_conflict;
use kedge_cluster::target::{ScaleTarget, TargetError, desired_replicas};

/// What a poll found and did.
#[derive(Debug)]
pub(super) struct Poll {
    pub(super) activity: Activity,
    pub(super) triggers: TriggerHealth,
    pub(super) decision: Decision,
    /// Which metrics are active, by name.
    pub(super) active: BTreeMap<String, bool>,
}

impl Passes {
    pub(super) async fn poll(
        &self,
        object: &ScaledObject,
        policy: &Policy,
        target: &ScaleTarget,
        board: &Arc<ObjectBoard>,
        memory: &mut Memory,
    ) -> Result<Poll, PassError> {
        board.fail_unbuilt(&self.clock);
        let readings = board.read_all(|_| FRESH, &self.clock).await;
        let current = self.current(target).await?;
        let pushed =
            board.triggers.iter().filter(|trigger| trigger.push.as_ref().is_some_and(|push| push.take_active()));
        let pushed: BTreeSet<usize> = pushed.map(|trigger| trigger.index).collect();
        let (mut contributions, active, failing) = match &board.composite {
            None => contributions(board, &readings, current, &pushed),
            Some(composite) => self.composite(board, composite, &readings, target, current).await,
        };
        if !pushed.is_empty() {
            contributions.push(Contribution::Active);
        }
        self.tell_failures(object, memory, board, &readings, failing).await;
        let now = self.clock.now();
        let activity = activity(&contributions);
        // KEDA: forced activity counts for the cooldown like any other.
        let lived = if is_forced(policy) { Activity::Active } else { activity };
        let past = memory.past.unwrap_or_else(|| self.never_active(object)).after(lived, now);
        memory.past = Some(past);
        let seen = |current: Option<i32>| Observation {
            activity,
            history: past,
            current: current.map_or(Current::Unknown, Current::Replicas),
        };
        let decision = self.apply(object, policy, target, seen, current, &active).await?;
        let failed = contributions.iter().any(|one| matches!(one, Contribution::Unknown));
        let triggers = if failed { TriggerHealth::SomeFailed } else { TriggerHealth::AllAnswered };
        let active = status_of(&readings, &active);
        Ok(Poll { activity, triggers, decision, active })
    }

    /// What a formula makes of the readings. cpu and memory stay with the HPA.
    async fn composite(
        &self,
        board: &ObjectBoard,
        composite: &Composite,
        readings: &[Read<'_>],
        target: &ScaleTarget,
        current: Option<i32>,
    ) -> Polled {
        let around =
            |ready_pods| Surroundings { fallback: board.fallback.as_ref(), current_replicas: current, ready_pods };
        let evaluate = |ready| composite::evaluate(composite, readings, ExternalMetric::failures, around(ready));
        let mut outcome = evaluate(None);
        if matches!(outcome, CompositeOutcome::Unknown(Unknown::NoSubstitute(NoSubstitute::NoReadyPods))) {
            outcome = evaluate(self.targets.count_ready_pods(target).await.ok());
        }
        let contribution = outcome.contribution();
        let left = board.triggers.iter().filter(|trigger| trigger.scaler.is_ok() && trigger.metrics.is_empty());
        let contributions = left.map(|_| Contribution::LeftToHpa).chain([contribution]).collect();
        let active = [(COMPOSITE_METRIC.to_owned(), contribution.is_active())].into();
        // Triggers that do not answer are told of one by one.
        let failing = outcome.why().filter(|why| !matches!(why, Unknown::NoAnswer { .. })).map(ToString::to_string);
        (contributions, active, failing)
    }

    /// The replicas of the target: as its watch tells, or read now if it only told that something changed.
    async fn current(&self, target: &ScaleTarget) -> Result<Option<i32>, PassError> {
        match self.world.track(target) {
            TargetSeen::Replicas(replicas) => Ok(Some(replicas)),
            TargetSeen::Missing => Ok(None),
            TargetSeen::Unread => match self.targets.fetch_scale(target).await {
                Ok(scale) => {
                    self.world.read_target(target, TargetSeen::Replicas(desired_replicas(&scale)));
                    Ok(Some(desired_replicas(&scale)))
                }
                Err(TargetError::Missing { .. } | TargetError::NoScale { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// Takes the step that was decided. The live scale is read first, and the decision made again on it;
    /// then the object, which must still be what the decision was made for.
    async fn apply(
        &self,
        object: &ScaledObject,
        policy: &Policy,
        target: &ScaleTarget,
        seen: impl Fn(Option<i32>) -> Observation,
        current: Option<i32>,
        active: &BTreeMap<String, bool>,
    ) -> Result<Decision, PassError> {
        let now = self.clock.now();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let first = decide(policy, &seen(current), now);
        debug!(namespace = target.key.namespace, name, decision = ?first, "decided");
        let Decision::ScaleTo { .. } = first else { return Ok(first) };
        let scale = match self.targets.fetch_scale(target).await {
            Ok(scale) => scale,
            Err(TargetError::Missing { .. } | TargetError::NoScale { .. }) => {
                self.world.read_target(target, TargetSeen::Missing);
                return Ok(decide(policy, &seen(None), now));
            }
            Err(error) => return Err(error.into()),
        };
        let live = desired_replicas(&scale);
        self.world.read_target(target, TargetSeen::Replicas(live));
        let decision = decide(policy, &seen(Some(live)), now);
        let Decision::ScaleTo { replicas: wanted, because } = decision else { return Ok(decision) };
        self.confirm(object).await?;
        let written = self.targets.set_scale(target, scale, wanted).await;
        if let Err(TargetError::Write { source, .. }) = &written
            && is_conflict(source)
        {
            self.world.read_target(target, TargetSeen::Unread);
            return written.map(|_| decision).map_err(PassError::from);
        }
        self.tell_step(object, target, live, wanted, because, active, written.is_ok()).await;
        written?;
        info!(namespace = target.key.namespace, name, from = live, to = wanted, because = ?because, "scaled");
        self.world.read_target(target, TargetSeen::Replicas(wanted));
        Ok(decision)
    }

    /// KEDA's words for a step. Lifting a target to its minimum is not told.
    #[allow(clippy::too_many_arguments)] // each is a word of the sentence
    async fn tell_step(
        &self,
        object: &ScaledObject,
        target: &ScaleTarget,
        from: i32,
        to: i32,
        because: Cause,
        active: &BTreeMap<String, bool>,
        done: bool,
    ) {
        let word = target.display_name();
        let names: Vec<&str> = active.iter().filter(|(_, works)| **works).map(|(name, _)| name.as_str()).collect();
        let (tone, reason, note) = match (because, done) {
            (Cause::BelowMinimum, _) => return,
            (Cause::TriggerActive, true) => (
                EventType::Normal,
                events::SCALE_TARGET_ACTIVATED,
                match names.is_empty() {
                    true => format!("Scaled {word} from {from} to {to}"),
                    false => format!("Scaled {word} from {from} to {to}, triggered by {}", names.join(";")),
                },
            ),
            (Cause::ForcedActive, true) => (
                EventType::Normal,
                events::SCALE_TARGET_ACTIVATED,
                format!("Scaled {word} from {from} to {to}, caused by forced activation annotation"),
            ),
            (Cause::TriggerActive | Cause::ForcedActive, false) => (
                EventType::Warning,
                events::SCALE_TARGET_ACTIVATION_FAILED,
                format!("Failed to scale {word} from {from} to {to}"),
            ),
            (Cause::CooldownPassed, true) => {
                (EventType::Normal, events::SCALE_TARGET_DEACTIVATED, format!("Deactivated {word} from {from} to {to}"))
            }
            (Cause::CooldownPassed, false) => (
                EventType::Warning,
                events::SCALE_TARGET_DEACTIVATION_FAILED,
                format!("Failed to deactivate {word} from {from} to {to}"),
            ),
        };
        self.events.publish(object, tone, reason, &note).await;
    }

    /// Tells of each metric that begins to fail, once.
    async fn tell_failures(
        &self,
        object: &ScaledObject,
        memory: &mut Memory,
        board: &ObjectBoard,
        readings: &[Read<'_>],
        formula: Option<String>,
    ) {
        let reason = if board.composite.is_some() { events::METRIC_SOURCE_FAILED } else { events::SCALER_FAILED };
        let sources = readings.iter().map(|(_, metric, reading)| {
            let failure = match &reading.answer {
                Err(Failure::Source(error)) => Some(error.to_string()),
                // A trigger that is not built is told of when the board is.
                Ok(_) | Err(Failure::NotBuilt(_)) => None,
            };
            (metric.name.as_str(), failure)
        });
        for (name, failure) in sources.chain([(COMPOSITE_METRIC, formula)]) {
            match failure {
                None => drop(memory.failing.remove(name)),
                Some(error) => {
                    if memory.failing.insert(name.to_owned()) {
                        self.events.publish(object, EventType::Warning, reason, &format!("{name}: {error}")).await;
                    }
                }
            }
        }
    }
}

/// What a look at the triggers gave: what each contributes, which metrics ask for work, and what is wrong with the formula.
type Polled = (Vec<Contribution>, BTreeMap<String, bool>, Option<String>);

/// What triggers contribute where there is no formula.
fn contributions(board: &ObjectBoard, readings: &[Read<'_>], current: Option<i32>, pushed: &BTreeSet<usize>) -> Polled {
    let mut active = BTreeMap::new();
    let mut by_trigger: BTreeMap<usize, Vec<Contribution>> = BTreeMap::new();
    for (trigger, metric, reading) in readings {
        let contribution = contribution(board, metric.failures(), reading, current);
        active.insert(metric.name.clone(), contribution.is_active() || pushed.contains(&trigger.index));
        by_trigger.entry(trigger.index).or_default().push(contribution);
    }
    let of = |trigger: &Arc<BoardTrigger>| combine(trigger.scaler.is_ok(), by_trigger.get(&trigger.index));
    (board.triggers.iter().map(of).collect(), active, None)
}

/// The activity of each metric for the status. Where there is a formula, metrics have none of their own.
fn status_of(readings: &[Read<'_>], active: &BTreeMap<String, bool>) -> BTreeMap<String, bool> {
    let of = |(_, metric, _): &Read<'_>| (metric.name.clone(), active.get(&metric.name).copied().unwrap_or(false));
    readings.iter().map(of).collect()
}

/// What one metric contributes.
fn contribution(
    board: &ObjectBoard,
    failures: fallback::Failures,
    reading: &Reading,
    current: Option<i32>,
) -> Contribution {
    match (&reading.answer, &board.fallback) {
        (Ok(known), _) if known.activity == Answer::Active => Contribution::Active,
        (Ok(_), _) => Contribution::Inactive,
        (Err(_), Some(fallback)) if failures.exceed_threshold(fallback) => fallback::replicas(fallback, current)
            .map_or(Contribution::Unknown, |replicas| Contribution::FallenBack { replicas }),
        (Err(_), _) => Contribution::Unknown,
    }
}

/// What a trigger contributes with all of its metrics.
fn combine(is_built: bool, metrics: Option<&Vec<Contribution>>) -> Contribution {
    let Some(metrics) = metrics else { return if is_built { Contribution::LeftToHpa } else { Contribution::Unknown } };
    let first = |wanted: fn(&Contribution) -> bool| metrics.iter().copied().find(wanted);
    first(|one| matches!(one, Contribution::Active))
        .or_else(|| first(|one| matches!(one, Contribution::FallenBack { replicas } if *replicas > 0)))
        .or_else(|| first(|one| matches!(one, Contribution::Unknown)))
        .or_else(|| metrics.first().copied())
        .unwrap_or(Contribution::LeftToHpa)
}

/// Whether an annotation says that there is work.
pub(super) fn is_forced(policy: &Policy) -> bool {
    policy.overrides.activation == Activation::Forced
}
