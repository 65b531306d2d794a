//! Decisions in words: the names in `docs/scale-decision.md`, and what each name means.

use super::{Cause, Hold};
use crate::activity::Activity;

/// A decision by its name, and what the name means in this case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub name: &'static str,
    pub meaning: String,
}

impl Explanation {
    fn new(name: &'static str, meaning: &str) -> Self {
        Self { name, meaning: meaning.to_owned() }
    }
}

/// Explains why a target is scaled. `active` names the triggers that are active.
pub fn explain_cause(cause: Cause, active: &[&str]) -> Explanation {
    match cause {
        Cause::TriggerActive => {
            let who = match active {
                [] => "its fallback, or cpu and memory, which only the HPA reads, require replicas".to_owned(),
                [one] => format!("{one} is active"),
                several => format!("{} are active", several.join(" and ")),
            };
            Explanation::new("trigger active", &format!("{who}, and the target is at its lower bound"))
        }
        Cause::ForcedActive => Explanation::new("forced active", "an annotation activates the target"),
        Cause::CooldownPassed => Explanation::new(
            "cooldown passed",
            "every source answered, no trigger is active, and the cooldown has passed",
        ),
        Cause::BelowMinimum => {
            Explanation::new("below minimum", "no trigger is active, and there are fewer replicas than minReplicaCount")
        }
    }
}

/// Explains why a target is not scaled.
pub fn explain_hold(hold: Hold) -> Explanation {
    let (name, meaning) = match hold {
        Hold::Paused => ("paused", "an annotation pauses the object"),
        Hold::ReplicasUnknown => ("replicas unknown", "the target's replicas could not be read"),
        Hold::ActivityUnknown => (
            "activity unknown",
            "a source fails and no other trigger is active; nothing changes until the source answers",
        ),
        Hold::ScaleOutPaused => ("scale-out paused", "a trigger is active, and an annotation keeps the target at zero"),
        Hold::ScaleInPaused => {
            ("scale-in paused", "no trigger is active, and an annotation keeps the target above zero")
        }
        Hold::CoolingDown { .. } => {
            ("cooling down", "no trigger is active; the target may scale to zero when the cooldown has passed")
        }
        Hold::AtMinimum => ("at minimum", "no trigger is active, and the target is at its lower bound"),
        Hold::LeftToHpa => ("left to HPA", "the target is above zero, and the HPA decides"),
    };
    Explanation::new(name, meaning)
}

/// Explains what the readings say together.
pub fn explain_activity(activity: Activity) -> &'static str {
    match activity {
        Activity::Active => "active: a trigger is active",
        Activity::Inactive => "inactive: every source answered, and no trigger is active",
        Activity::Unknown => "unknown: a source fails, and no other trigger is active",
    }
}
