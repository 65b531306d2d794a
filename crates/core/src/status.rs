//! The status of a ScaledObject: the next one, from the previous one and the facts of a reconcile. What the facts say nothing about stays.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kedge_api::Condition;
use kedge_api::names::{COMPOSITE_METRIC, conditions as condition_types, reasons};
use kedge_api::scaled_object::{GroupVersionKindResource, HealthStatus, ScaledObjectStatus, TriggerActivity};
use kedge_api::trigger::Trigger;

use crate::activity::{Activity, ActivityHistory, is_recorded_active};
use crate::conditions::{Facts as ConditionFacts, FallbackState, HpaState, PollState, TriggerHealth, conditions};
use crate::decide::Decision;
use crate::fallback::Failures;
use crate::policy::{Activation, Overrides};

/// The facts of one reconcile.
#[derive(Debug)]
pub struct Facts<'a> {
    pub overrides: &'a Overrides,
    /// Why the object does not work as it should, if it does not.
    pub problem: Option<&'a str>,
    pub pause: PauseFacts,
    pub target: Option<&'a TargetFacts>,
    /// The triggers that the status lists; `None` while they are invalid.
    pub triggers: Option<&'a [Trigger]>,
    pub scalers: Option<&'a ScalersFacts>,
    pub poll: Option<&'a PollFacts>,
    pub fallback: FallbackState,
    pub hpa: HpaState<'a>,
}

/// What a reconcile did about a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseFacts {
    NotPaused,
    /// Paused at the replicas that there are.
    Paused,
    /// Paused at this many replicas, which the target has reached.
    PausedAt(i32),
    /// Paused at a number of replicas that the target could not be given.
    Failed,
}

/// The target of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    pub display_name: String,
    pub kind: GroupVersionKindResource,
    /// The replicas of the target when it was first read.
    pub original_replicas: Option<i32>,
}

/// The scalers of the object.
#[derive(Clone, Debug, Default)]
pub struct ScalersFacts {
    pub is_any_built: bool,
    pub hpa_name: Option<String>,
    pub has_composite: bool,
    pub external_metrics: Vec<String>,
    pub resource_metrics: Vec<String>,
    /// The failures of each metric, where there is a fallback.
    pub failures: Option<BTreeMap<String, Failures>>,
}

/// One poll of the triggers.
#[derive(Clone, Debug, PartialEq)]
pub struct PollFacts {
    pub activity: Activity,
    pub triggers: TriggerHealth,
    pub decision: Decision,
    /// Whether each metric is active, by name.
    pub active: BTreeMap<String, bool>,
    pub history: ActivityHistory,
}

impl PollFacts {
    /// Whether the status says the same of both polls, if it is the same before them.
    pub fn is_reported_as(&self, other: &Self) -> bool {
        let is_history_shown = self.activity != Activity::Active;
        (self.activity, self.triggers, self.decision) == (other.activity, other.triggers, other.decision)
            && self.active == other.active
            && (!is_history_shown || self.history == other.history)
    }
}

impl Facts<'_> {
    fn is_forced(&self) -> bool {
        self.overrides.activation == Activation::Forced
    }

    /// Whether no trigger could be built, so that a poll has nothing to read.
    fn is_blind(&self) -> bool {
        self.scalers.is_some_and(|scalers| !scalers.is_any_built) && !self.is_forced()
    }
}

/// The status after a reconcile.
pub fn next_status(previous: &ScaledObjectStatus, facts: &Facts<'_>, now: DateTime<Utc>) -> ScaledObjectStatus {
    let mut next = previous.clone();
    match facts.pause {
        PauseFacts::NotPaused | PauseFacts::Paused => next.paused_replica_count = None,
        PauseFacts::PausedAt(replicas) => next.paused_replica_count = Some(replicas),
        PauseFacts::Failed => {}
    }
    if let Some(target) = facts.target {
        describe_target(&mut next, target);
    }
    if let Some(triggers) = facts.triggers {
        (next.triggers_types, next.authentications_types) = list_triggers(triggers);
    }
    if let Some(scalers) = facts.scalers {
        describe_scalers(&mut next, scalers, facts.poll);
    }
    next.conditions = Some(next_conditions(previous.conditions.as_deref().unwrap_or_default(), facts));
    if let Some(poll) = facts.poll {
        next.last_active_time = next_last_active_time(previous, facts, poll, now);
    }
    next
}

/// The status once the target is known. It is written before the target is scaled: a process that ends after the first step would
/// leave the next one a number of its own as the original replicas.
pub fn with_target(previous: &ScaledObjectStatus, target: &TargetFacts) -> ScaledObjectStatus {
    let mut next = previous.clone();
    describe_target(&mut next, target);
    next
}

fn describe_target(status: &mut ScaledObjectStatus, target: &TargetFacts) {
    status.scale_target_kind = Some(target.display_name.clone());
    status.scale_target_gvkr = Some(target.kind.clone());
    status.original_replica_count = status.original_replica_count.or(target.original_replicas);
}

/// The types of triggers and the names of their authentications, as statuses list them.
pub(crate) fn list_triggers(triggers: &[Trigger]) -> (Option<String>, Option<String>) {
    let types = distinct(triggers.iter().map(|trigger| trigger.r#type.as_str()));
    let references = triggers.iter().filter_map(|trigger| trigger.authentication_ref.as_ref());
    (Some(types), Some(distinct(references.map(|reference| reference.name.as_str()))))
}

/// Each text once, in order of appearance.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen.join(",")
}

fn describe_scalers(status: &mut ScaledObjectStatus, scalers: &ScalersFacts, poll: Option<&PollFacts>) {
    let unless_empty = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
    status.hpa_name = scalers.hpa_name.clone().or(status.hpa_name.take());
    status.composite_scaler_name = scalers.has_composite.then(|| COMPOSITE_METRIC.to_owned());
    status.external_metric_names = unless_empty(&scalers.external_metrics);
    status.resource_metric_names = unless_empty(&scalers.resource_metrics);
    status.health = scalers.failures.as_ref().filter(|all| !all.is_empty()).map(health);
    if let Some(poll) = poll {
        let activity = |(name, active): (&String, &bool)| (name.clone(), TriggerActivity { is_active: Some(*active) });
        let all: BTreeMap<_, _> = poll.active.iter().map(activity).collect();
        status.triggers_activity = (!all.is_empty()).then_some(all);
    }
}

fn health(failures: &BTreeMap<String, Failures>) -> BTreeMap<String, HealthStatus> {
    let one = |failures: &Failures| HealthStatus {
        number_of_failures: Some(failures.0),
        status: Some(if failures.0 == 0 { "Happy" } else { "Failing" }.to_owned()),
    };
    failures.iter().map(|(name, failures)| (name.clone(), one(failures))).collect()
}

fn next_conditions(previous: &[Condition], facts: &Facts<'_>) -> Vec<Condition> {
    let poll = match (facts.pause, facts.poll) {
        (PauseFacts::Paused | PauseFacts::PausedAt(_) | PauseFacts::Failed, _) => PollState::Paused,
        (PauseFacts::NotPaused, Some(poll)) if !facts.is_blind() => {
            PollState::Polled { activity: poll.activity, triggers: poll.triggers, decision: poll.decision }
        }
        (PauseFacts::NotPaused, _) => PollState::NotPolled,
    };
    let mut next = conditions(
        previous,
        &ConditionFacts {
            overrides: facts.overrides,
            problem: facts.problem,
            poll,
            fallback: facts.fallback,
            hpa: facts.hpa,
        },
    );
    // Between two polls the conditions of the last poll stay, unless the reconcile itself found a problem.
    if facts.poll.is_none() && facts.scalers.is_some() && !facts.is_blind() {
        keep(&mut next, previous, condition_types::ACTIVE, reasons::UNKNOWN_STATE);
        if facts.problem.is_none() {
            keep(&mut next, previous, condition_types::READY, reasons::SCALED_OBJECT_CHECK_FAILED);
        }
    }
    next
}

/// Keeps a condition of the last poll. One with the reason `unless` came from a failed check, and does not stay.
fn keep(next: &mut [Condition], previous: &[Condition], condition_type: &str, unless: &str) {
    let before = previous.iter().find(|condition| condition.r#type == condition_type);
    if let Some(before) = before.filter(|before| before.reason.as_deref() != Some(unless) && before.reason.is_some()) {
        let same = next.iter_mut().filter(|condition| condition.r#type == condition_type);
        same.for_each(|condition| *condition = before.clone());
    }
}

/// When the object was last active: changed as activity begins and as it ends, not at every poll in between. Without activity it is what
/// the history says at every poll, so that a write that failed is made up for.
fn next_last_active_time(
    previous: &ScaledObjectStatus,
    facts: &Facts<'_>,
    poll: &PollFacts,
    now: DateTime<Utc>,
) -> Option<Time> {
    // Where no trigger is built, the condition does not show that a fallback keeps the object active.
    let was_active = is_recorded_active(previous) || facts.is_blind() && previous.last_active_time.is_some();
    let is_active = poll.activity == Activity::Active || facts.is_forced();
    let known = poll.history.last_active_at();
    match (was_active, is_active) {
        (false, true) => Some(kedge_api::time::to_time(now)),
        (true, true) => previous.last_active_time.clone(),
        (true, false) => Some(kedge_api::time::to_time(known.unwrap_or(now))),
        (false, false) => known.map(kedge_api::time::to_time).or_else(|| previous.last_active_time.clone()),
    }
}

#[cfg(test)]
mod tests;
