//! The status conditions of a ScaledObject.

use kedge_api::Condition;
use kedge_api::names::{conditions, messages, reasons};

use crate::activity::Activity;
use crate::decide::{Decision, Hold};
use crate::policy::{Activation, Overrides};

/// What one reconcile found out about an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts<'a> {
    pub overrides: &'a Overrides,
    /// What a user must change before the object works, if anything.
    pub problem: Option<&'a str>,
    pub poll: PollState,
    pub fallback: FallbackState,
    pub hpa: HpaState<'a>,
}

/// Whether a reconcile polled the triggers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PollState {
    /// The object is paused: its triggers were not polled.
    Paused,
    /// Its triggers were not polled, or cannot be.
    NotPolled,
    /// Its triggers were polled, with this result.
    Polled { activity: Activity, triggers: TriggerHealth, decision: Decision },
}

/// Whether all triggers answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerHealth {
    AllAnswered,
    SomeFailed,
}

/// The state of the object's fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackState {
    /// No fallback is configured.
    Absent,
    /// Nothing has been measured yet.
    NotYetKnown,
    Idle,
    InUse,
}

/// The ScalingActive condition of the HPA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HpaState<'a> {
    /// The HPA has no such condition, or cannot be read: our condition stays as it was.
    Unknown,
    Scaling,
    NotScaling {
        reason: &'a str,
        message: &'a str,
    },
}

/// The conditions after a reconcile, in their order. A condition without a new fact stays as it was.
pub fn conditions(previous: &[Condition], facts: &Facts<'_>) -> Vec<Condition> {
    let before = |kind: &str| previous.iter().find(|condition| condition.r#type == kind);
    let mut all = vec![
        ready(facts),
        active(facts, before(conditions::ACTIVE)),
        fallback(facts, before(conditions::FALLBACK)),
        paused(facts, before(conditions::PAUSED)),
    ];
    all.extend(hpa_active(facts, before(conditions::HPA_ACTIVE)));
    all
}

/// A condition with its reason and message.
pub(crate) fn condition(kind: &str, status: &str, reason: &str, message: impl Into<String>) -> Condition {
    Condition {
        r#type: kind.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.into()),
    }
}

/// A condition before its first reason.
pub(crate) fn initial(kind: &str, status: &str) -> Condition {
    Condition { r#type: kind.to_owned(), status: status.to_owned(), reason: None, message: None }
}

fn ready(facts: &Facts<'_>) -> Condition {
    let ready = |status, reason, message: &str| condition(conditions::READY, status, reason, message);
    let fine = || ready("True", reasons::SCALED_OBJECT_READY, messages::SCALED_OBJECT_READY);
    if let Some(problem) = facts.problem {
        return ready("False", reasons::SCALED_OBJECT_CHECK_FAILED, problem);
    }
    match facts.poll {
        PollState::Paused => ready("True", reasons::SCALED_OBJECT_READY, messages::SCALED_OBJECT_PAUSED),
        PollState::Polled { decision: Decision::Hold(Hold::ReplicasUnknown), .. } => {
            let message = "Error getting current replicas count for ScaleTarget: it could not be read";
            ready("False", reasons::ERROR_GETTING_CURRENT_REPLICAS, message)
        }
        PollState::Polled { activity: Activity::Active, triggers: TriggerHealth::SomeFailed, .. } => {
            ready("Unknown", reasons::PARTIAL_TRIGGER_ERROR, messages::SCALED_OBJECT_PARTIAL_TRIGGER_ERROR)
        }
        // KEDA: with a fallback an object stays ready while its sources fail.
        PollState::Polled { triggers: TriggerHealth::SomeFailed, .. } if facts.fallback == FallbackState::Absent => {
            ready("False", reasons::TRIGGER_ERROR, messages::SCALED_OBJECT_TRIGGER_ERROR)
        }
        PollState::Polled { .. } | PollState::NotPolled => fine(),
    }
}

fn active(facts: &Facts<'_>, before: Option<&Condition>) -> Condition {
    let active = |status, reason, message: &str| condition(conditions::ACTIVE, status, reason, message);
    match facts.poll {
        PollState::NotPolled | PollState::Paused if facts.problem.is_some() => {
            active("Unknown", reasons::UNKNOWN_STATE, messages::SCALED_OBJECT_CHECK_FAILED)
        }
        PollState::Paused | PollState::NotPolled => {
            before.cloned().unwrap_or_else(|| initial(conditions::ACTIVE, "Unknown"))
        }
        PollState::Polled { .. } if facts.overrides.activation == Activation::Forced => {
            active("True", reasons::SCALER_ACTIVE, messages::ACTIVATION_FORCED)
        }
        PollState::Polled { activity: Activity::Active, .. } => {
            active("True", reasons::SCALER_ACTIVE, messages::TRIGGERS_ACTIVE)
        }
        PollState::Polled { decision: Decision::Hold(Hold::CoolingDown { .. }), .. } => {
            active("False", reasons::SCALER_COOLDOWN, messages::COOLING_DOWN)
        }
        // KEDA: an object whose sources do not answer is shown as not active. The scale decision does not treat it so.
        PollState::Polled { .. } => active("False", reasons::SCALER_NOT_ACTIVE, messages::TRIGGERS_NOT_ACTIVE),
    }
}

fn fallback(facts: &Facts<'_>, before: Option<&Condition>) -> Condition {
    let fallback = |status, reason, message: &str| condition(conditions::FALLBACK, status, reason, message);
    match facts.fallback {
        FallbackState::InUse => fallback("True", reasons::FALLBACK_EXISTS, messages::FALLBACK_EXISTS),
        FallbackState::Absent | FallbackState::Idle => {
            fallback("False", reasons::NO_FALLBACK_FOUND, messages::NO_FALLBACK_FOUND)
        }
        FallbackState::NotYetKnown => before.cloned().unwrap_or_else(|| initial(conditions::FALLBACK, "Unknown")),
    }
}

fn paused(facts: &Facts<'_>, before: Option<&Condition>) -> Condition {
    let paused = |status, reason, message: &str| condition(conditions::PAUSED, status, reason, message);
    let was_paused = before.is_some_and(|condition| condition.status == "True");
    if facts.overrides.is_paused() {
        paused("True", reasons::SCALED_OBJECT_PAUSED, messages::SCALED_OBJECT_PAUSED)
    } else if was_paused {
        paused("False", reasons::SCALED_OBJECT_UNPAUSED, messages::SCALED_OBJECT_UNPAUSED)
    } else {
        before.cloned().unwrap_or_else(|| initial(conditions::PAUSED, "False"))
    }
}

fn hpa_active(facts: &Facts<'_>, before: Option<&Condition>) -> Option<Condition> {
    let active =
        |status, reason: &str, message: String| Some(condition(conditions::HPA_ACTIVE, status, reason, message));
    match facts.hpa {
        HpaState::Unknown => before.cloned(),
        HpaState::Scaling => active("True", reasons::HPA_ACTIVE, messages::HPA_ACTIVE.to_owned()),
        // KEDA: an HPA whose target is scaled to zero counts as active.
        HpaState::NotScaling { reason: reasons::HPA_SCALING_DISABLED, message } => {
            active("True", reasons::HPA_SCALING_DISABLED, message.to_owned())
        }
        HpaState::NotScaling { reason, message } => {
            let reason = if reason.is_empty() { reasons::HPA_METRICS_UNAVAILABLE } else { reason };
            active("False", reason, format!("HPA is not actively scaling: {message}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Direction;

    fn polled(activity: Activity, triggers: TriggerHealth, hold: Hold) -> PollState {
        PollState::Polled { activity, triggers, decision: Decision::Hold(hold) }
    }

    fn summary(conditions: &[Condition], kind: &str) -> String {
        let found = conditions.iter().find(|condition| condition.r#type == kind);
        found.map_or_else(String::new, |found| format!("{} {}", found.status, found.reason.as_deref().unwrap_or("-")))
    }

    #[test]
    fn conditions_have_kedas_reasons() {
        use {Activity::*, FallbackState as F, TriggerHealth::*};
        let until = chrono::DateTime::UNIX_EPOCH;
        let rows = [
            (
                "active",
                polled(Active, AllAnswered, Hold::LeftToHpa),
                F::Absent,
                "True ScaledObjectReady",
                "True ScalerActive",
            ),
            (
                "inactive",
                polled(Inactive, AllAnswered, Hold::AtMinimum),
                F::Absent,
                "True ScaledObjectReady",
                "False ScalerNotActive",
            ),
            (
                "cooling down",
                polled(Inactive, AllAnswered, Hold::CoolingDown { until }),
                F::Absent,
                "True ScaledObjectReady",
                "False ScalerCooldown",
            ),
            (
                "some fail",
                polled(Active, SomeFailed, Hold::LeftToHpa),
                F::Absent,
                "Unknown PartialTriggerError",
                "True ScalerActive",
            ),
            (
                "all fail",
                polled(Unknown, SomeFailed, Hold::ActivityUnknown),
                F::Absent,
                "False TriggerError",
                "False ScalerNotActive",
            ),
            (
                "a fallback keeps it ready",
                polled(Unknown, SomeFailed, Hold::ActivityUnknown),
                F::Idle,
                "True ScaledObjectReady",
                "False ScalerNotActive",
            ),
            (
                "replicas unknown",
                polled(Active, AllAnswered, Hold::ReplicasUnknown),
                F::Absent,
                "False ErrorGettingCurrentReplicas",
                "True ScalerActive",
            ),
            ("not polled", PollState::NotPolled, F::Absent, "True ScaledObjectReady", "Unknown -"),
        ];
        for (name, poll, fallback, ready, active) in rows {
            let overrides = Overrides::from_annotations(None);
            let all = conditions(
                &[],
                &Facts { overrides: &overrides, problem: None, poll, fallback, hpa: HpaState::Unknown },
            );
            assert_eq!(summary(&all, "Ready"), ready, "{name}");
            assert_eq!(summary(&all, "Active"), active, "{name}");
            assert_eq!(summary(&all, "Paused"), "False -", "{name}");
        }
    }

    #[test]
    fn an_error_makes_the_object_not_ready_whatever_else_works() {
        let overrides = Overrides::from_annotations(None);
        let facts = |poll| Facts {
            overrides: &overrides,
            problem: Some("trigger 1: no scaler found for type: abacus"),
            poll,
            fallback: FallbackState::Absent,
            hpa: HpaState::Unknown,
        };
        let stopped = conditions(&[], &facts(PollState::NotPolled));
        assert_eq!(summary(&stopped, "Ready"), "False ScaledObjectCheckFailed");
        assert_eq!(summary(&stopped, "Active"), "Unknown UnknownState");
        let partly = conditions(&[], &facts(polled(Activity::Active, TriggerHealth::SomeFailed, Hold::LeftToHpa)));
        assert_eq!(summary(&partly, "Ready"), "False ScaledObjectCheckFailed");
        assert_eq!(summary(&partly, "Active"), "True ScalerActive");
    }

    #[test]
    fn the_same_facts_give_the_same_conditions_again() {
        let overrides = Overrides::from_annotations(None);
        let poll = polled(Activity::Inactive, TriggerHealth::AllAnswered, Hold::AtMinimum);
        let hpa = HpaState::NotScaling { reason: "ScalingDisabled", message: "scaled to zero" };
        let facts = Facts { overrides: &overrides, problem: None, poll, fallback: FallbackState::Idle, hpa };
        let once = conditions(&[], &facts);
        assert_eq!(conditions(&once, &facts), once);
        assert_eq!(summary(&once, "HPAActive"), "True ScalingDisabled");
        assert_eq!(
            once.iter().map(|one| one.r#type.as_str()).collect::<Vec<_>>(),
            ["Ready", "Active", "Fallback", "Paused", "HPAActive"]
        );
    }

    #[test]
    fn an_error_makes_the_activity_unknown_whether_paused_or_not() {
        let overrides = Overrides::from_annotations(None);
        for poll in [PollState::NotPolled, PollState::Paused] {
            let facts = |problem| Facts {
                overrides: &overrides,
                problem,
                poll,
                fallback: FallbackState::Absent,
                hpa: HpaState::Unknown,
            };
            let broken = conditions(&[], &facts(Some("an invalid field")));
            assert_eq!(summary(&broken, "Ready"), "False ScaledObjectCheckFailed", "{poll:?}");
            assert_eq!(summary(&broken, "Active"), "Unknown UnknownState", "{poll:?}");
        }
    }

    #[test]
    fn leaving_a_pause_is_reported_once() {
        let mut paused = Overrides::from_annotations(None);
        paused.scale_in = Direction::Paused;
        let facts = |overrides| Facts {
            overrides,
            problem: None,
            poll: PollState::NotPolled,
            fallback: FallbackState::Absent,
            hpa: HpaState::Unknown,
        };
        let during = conditions(&[], &facts(&paused));
        assert_eq!(summary(&during, "Paused"), "True ScaledObjectPaused");
        let free = Overrides::from_annotations(None);
        let after = conditions(&during, &facts(&free));
        assert_eq!(summary(&after, "Paused"), "False ScaledObjectUnpaused");
        assert_eq!(conditions(&after, &facts(&free)), after);
    }
}
