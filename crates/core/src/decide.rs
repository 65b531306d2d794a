//! The scale decision for one target: the steps to and from zero or the idle count, bounds and pauses. Between one and the
//! maximum the HPA decides.

pub mod words;

use chrono::{DateTime, Utc};

use crate::activity::{Activity, ActivityHistory};
use crate::policy::{Activation, Direction, Pause, Policy};

/// The observed state of one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    pub activity: Activity,
    /// The history, this poll included.
    pub history: ActivityHistory,
    pub current: Current,
}

/// `spec.replicas` of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Current {
    Replicas(i32),
    /// They could not be read.
    Unknown,
}

/// What to do. Users see the name of every outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    ScaleTo { replicas: i32, because: Cause },
    Hold(Hold),
}

/// Why to scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A trigger is active, and the target is scaled to zero or to its idle count.
    TriggerActive,
    /// The target is scaled to zero or to its idle count, and an annotation forces its activation.
    ForcedActive,
    /// Every trigger was inactive for the cooldown period.
    CooldownPassed,
    /// The target has fewer replicas than `minReplicaCount`.
    BelowMinimum,
}

/// Why not to scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// A full pause.
    Paused,
    /// The replicas of the target are not known.
    ReplicasUnknown,
    /// A source did not answer, and no other trigger is active.
    ActivityUnknown,
    /// A trigger is active, the target is scaled to zero or to its idle count, and scale-out is paused.
    ScaleOutPaused,
    /// No trigger is active, the target is scaled out, and scale-in is paused.
    ScaleInPaused,
    /// No trigger is active; the target is scaled in after this instant.
    CoolingDown { until: DateTime<Utc> },
    /// No trigger is active, and the target has its minimum or idle replicas.
    AtMinimum,
    /// The target is scaled out, and the HPA decides.
    LeftToHpa,
}

/// Chooses the next step for one target.
pub fn decide(policy: &Policy, seen: &Observation, now: DateTime<Utc>) -> Decision {
    let current = match (&policy.overrides.pause, seen.current) {
        (Pause::No, Current::Replicas(current)) => current,
        (Pause::No, Current::Unknown) => return Decision::Hold(Hold::ReplicasUnknown),
        _ => return Decision::Hold(Hold::Paused),
    };
    match (policy.overrides.activation, seen.activity) {
        (Activation::Forced, _) => decide_active(policy, current, Cause::ForcedActive),
        (Activation::ByTriggers, Activity::Active) => decide_active(policy, current, Cause::TriggerActive),
        (Activation::ByTriggers, Activity::Unknown) => Decision::Hold(Hold::ActivityUnknown),
        (Activation::ByTriggers, Activity::Inactive) => decide_inactive(policy, current, seen, now),
    }
}

/// A trigger is active, or activation is forced.
fn decide_active(policy: &Policy, current: i32, because: Cause) -> Decision {
    let is_scaled_in = current == 0 || policy.idle.is_some() && current < policy.min;
    match (is_scaled_in, policy.overrides.scale_out) {
        (false, _) => Decision::Hold(Hold::LeftToHpa),
        (true, Direction::Paused) => Decision::Hold(Hold::ScaleOutPaused),
        (true, Direction::Allowed) => Decision::ScaleTo { replicas: policy.activation_replicas(), because },
    }
}

/// Every source answered, and no trigger is active.
fn decide_inactive(policy: &Policy, current: i32, seen: &Observation, now: DateTime<Utc>) -> Decision {
    let floor = policy.floor();
    if policy.idle.is_none() && current < policy.min {
        // KEDA: neither pause nor cooldown holds this back.
        return Decision::ScaleTo { replicas: policy.min, because: Cause::BelowMinimum };
    }
    if current <= floor {
        return Decision::Hold(Hold::AtMinimum);
    }
    if policy.idle.is_none() && policy.min > 0 {
        return Decision::Hold(Hold::LeftToHpa);
    }
    let until = policy.cooldown.ends_at(seen.history, now);
    match policy.overrides.scale_in {
        Direction::Paused => Decision::Hold(Hold::ScaleInPaused),
        Direction::Allowed if now > until => Decision::ScaleTo { replicas: floor, because: Cause::CooldownPassed },
        Direction::Allowed => Decision::Hold(Hold::CoolingDown { until }),
    }
}

#[cfg(test)]
mod tests;
