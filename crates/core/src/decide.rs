//! The scale decision: what to do with one target now. Between one and the maximum the HPA decides; this is about the
//! steps to and from zero, or the idle count, and about bounds and pauses.

use chrono::{DateTime, Utc};

use crate::activity::{Activity, ActivityHistory};
use crate::policy::{Activation, Direction, Pause, Policy};

/// What was seen of one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    pub activity: Activity,
    /// The past, this look included.
    pub history: ActivityHistory,
    pub current: Current,
}

/// The replicas that the target asks for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Current {
    Replicas(i32),
    /// They could not be read.
    Unknown,
}

/// What to do. Every outcome has a name that users will read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    ScaleTo { replicas: i32, because: Cause },
    Hold(Hold),
}

/// Why to scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// There is work, and the target sleeps.
    TriggerActive,
    /// The target sleeps, and an annotation says to wake it.
    ForcedActive,
    /// There has been no work for the whole cooldown.
    CooldownPassed,
    /// The target has fewer replicas than it must have at rest.
    BelowMinimum,
}

/// Why not to scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// A full pause.
    Paused,
    /// The replicas of the target are not known.
    ReplicasUnknown,
    /// A source did not answer, and no other says that there is work.
    ActivityUnknown,
    /// There is work, the target sleeps, and scaling out is paused.
    ScaleOutPaused,
    /// There is no work, the target is awake, and scaling in is paused.
    ScaleInPaused,
    /// There is no work; the target may sleep after this instant.
    CoolingDown { until: DateTime<Utc> },
    /// The target rests where it should.
    AtMinimum,
    /// The target is awake, and the HPA decides.
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
        (Activation::Forced, _) => decide_awake(policy, current, Cause::ForcedActive),
        (Activation::ByTriggers, Activity::Active) => decide_awake(policy, current, Cause::TriggerActive),
        (Activation::ByTriggers, Activity::Unknown) => Decision::Hold(Hold::ActivityUnknown),
        (Activation::ByTriggers, Activity::Inactive) => decide_quiet(policy, current, seen, now),
    }
}

/// There is work.
fn decide_awake(policy: &Policy, current: i32, because: Cause) -> Decision {
    let sleeps = current == 0 || policy.idle.is_some() && current < policy.min;
    match (sleeps, policy.overrides.scale_out) {
        (false, _) => Decision::Hold(Hold::LeftToHpa),
        (true, Direction::Paused) => Decision::Hold(Hold::ScaleOutPaused),
        (true, Direction::Allowed) => Decision::ScaleTo { replicas: policy.activation_replicas(), because },
    }
}

/// There is no work, for certain.
fn decide_quiet(policy: &Policy, current: i32, seen: &Observation, now: DateTime<Utc>) -> Decision {
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
