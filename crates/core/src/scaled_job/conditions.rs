//! The status conditions of a ScaledJob.

use kedge_api::Condition;
use kedge_api::names::{conditions, messages, reasons};

use crate::conditions::{TriggerHealth, condition, initial};

/// What one reconcile found out about an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts<'a> {
    pub is_paused: bool,
    /// What a user must change before the object works, if anything.
    pub problem: Option<&'a str>,
    pub poll: Option<PollResult<'a>>,
}

/// The result of a poll.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PollResult<'a> {
    pub is_active: bool,
    pub triggers: TriggerHealth,
    /// Why Jobs could not be created.
    pub create_errors: &'a [String],
}

/// The conditions after a reconcile, in their order. A condition without a new fact stays as it was, and so do types that are not ours.
pub fn conditions(previous: &[Condition], facts: &Facts<'_>) -> Vec<Condition> {
    let before = |kind: &str| previous.iter().find(|condition| condition.r#type == kind);
    let mut all = vec![
        ready(facts),
        active(facts, before(conditions::ACTIVE)),
        // KEDA: there is no fallback for Jobs, and the condition stays as it began.
        before(conditions::FALLBACK).cloned().unwrap_or_else(|| initial(conditions::FALLBACK, "Unknown")),
        paused(facts, before(conditions::PAUSED)),
    ];
    let is_ours = |condition: &Condition| all.iter().any(|own| own.r#type == condition.r#type);
    let others: Vec<Condition> = previous.iter().filter(|condition| !is_ours(condition)).cloned().collect();
    all.extend(others);
    all
}

fn ready(facts: &Facts<'_>) -> Condition {
    let ready = |status, reason, message: &str| condition(conditions::READY, status, reason, message);
    if let Some(problem) = facts.problem {
        return ready("False", reasons::SCALED_JOB_CHECK_FAILED, problem);
    }
    match facts.poll {
        _ if facts.is_paused => ready("True", reasons::SCALED_JOB_READY, messages::SCALED_JOB_NOT_POLLED),
        Some(PollResult { create_errors: errors @ [_, ..], .. }) => {
            ready("False", reasons::JOB_CREATE_FAILED, &errors.join("\n"))
        }
        Some(PollResult { is_active: true, triggers: TriggerHealth::SomeFailed, .. }) => {
            ready("Unknown", reasons::PARTIAL_TRIGGER_ERROR, messages::SCALED_JOB_PARTIAL_TRIGGER_ERROR)
        }
        Some(PollResult { triggers: TriggerHealth::SomeFailed, .. }) => {
            ready("False", reasons::TRIGGER_ERROR, messages::SCALED_JOB_TRIGGER_ERROR)
        }
        Some(_) | None => ready("True", reasons::SCALED_JOB_READY, messages::SCALED_JOB_READY),
    }
}

fn active(facts: &Facts<'_>, before: Option<&Condition>) -> Condition {
    let active = |status, reason, message: &str| condition(conditions::ACTIVE, status, reason, message);
    match facts.poll {
        Some(PollResult { is_active: true, .. }) => active("True", reasons::SCALER_ACTIVE, messages::TRIGGERS_ACTIVE),
        Some(_) => active("False", reasons::SCALER_NOT_ACTIVE, messages::TRIGGERS_NOT_ACTIVE),
        None if facts.problem.is_some() => active("Unknown", reasons::UNKNOWN_STATE, messages::SCALED_JOB_CHECK_FAILED),
        None => before.cloned().unwrap_or_else(|| initial(conditions::ACTIVE, "Unknown")),
    }
}

fn paused(facts: &Facts<'_>, before: Option<&Condition>) -> Condition {
    let paused = |status, reason, message: &str| condition(conditions::PAUSED, status, reason, message);
    match before {
        _ if facts.is_paused => paused("True", reasons::SCALED_JOB_PAUSED, messages::SCALED_JOB_PAUSED),
        Some(before) if before.status == "True" => {
            paused("False", reasons::SCALED_JOB_UNPAUSED, messages::SCALED_JOB_UNPAUSED)
        }
        before => before.cloned().unwrap_or_else(|| initial(conditions::PAUSED, "False")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(conditions: &[Condition], kind: &str) -> String {
        let found = conditions.iter().find(|condition| condition.r#type == kind).unwrap();
        format!("{} {}", found.status, found.reason.as_deref().unwrap_or("-"))
    }

    #[test]
    fn conditions_have_kedas_reasons() {
        use TriggerHealth::*;
        let errors = ["quota".to_owned(), "again".to_owned()];
        let poll = |is_active, triggers, create_errors| Some(PollResult { is_active, triggers, create_errors });
        for (name, problem, poll, ready, active) in [
            ("active", None, poll(true, AllAnswered, &[][..]), "True ScaledJobReady", "True ScalerActive"),
            ("inactive", None, poll(false, AllAnswered, &[]), "True ScaledJobReady", "False ScalerNotActive"),
            ("some fail", None, poll(true, SomeFailed, &[]), "Unknown PartialTriggerError", "True ScalerActive"),
            ("none is active", None, poll(false, SomeFailed, &[]), "False TriggerError", "False ScalerNotActive"),
            (
                "Jobs that cannot be created come first",
                None,
                poll(true, SomeFailed, &errors),
                "False KEDAJobCreateFailed",
                "True ScalerActive",
            ),
            ("an error", Some("no"), None, "False ScaledJobCheckFailed", "Unknown UnknownState"),
            (
                "an error of one trigger",
                Some("no"),
                poll(true, SomeFailed, &[]),
                "False ScaledJobCheckFailed",
                "True ScalerActive",
            ),
            ("not polled yet", None, None, "True ScaledJobReady", "Unknown -"),
        ] {
            let all = conditions(&[], &Facts { is_paused: false, problem, poll });
            assert_eq!(
                (summary(&all, "Ready"), summary(&all, "Active")),
                (ready.to_owned(), active.to_owned()),
                "{name}"
            );
            assert_eq!(summary(&all, "Fallback"), "Unknown -", "{name}");
            assert_eq!(summary(&all, "Paused"), "False -", "{name}");
            let facts = Facts { is_paused: false, problem, poll };
            assert_eq!(conditions(&all, &facts), all, "the same facts change nothing: {name}");
        }
        let facts = Facts { is_paused: false, problem: None, poll: poll(true, AllAnswered, &errors) };
        assert_eq!(conditions(&[], &facts)[0].message.as_deref(), Some("quota\nagain"));
    }

    #[test]
    fn a_pause_keeps_the_activity_and_its_end_is_shown() {
        let poll = PollResult { is_active: true, triggers: TriggerHealth::AllAnswered, create_errors: &[] };
        let running = Facts { is_paused: false, problem: None, poll: Some(poll) };
        let paused = Facts { is_paused: true, problem: None, poll: None };
        let other = Condition { r#type: "Mine".to_owned(), status: "True".to_owned(), reason: None, message: None };
        let before = conditions(std::slice::from_ref(&other), &running);
        let during = conditions(&before, &paused);
        assert_eq!(summary(&during, "Paused"), "True ScaledJobPaused");
        assert_eq!(summary(&during, "Active"), "True ScalerActive");
        assert_eq!(during[0].message.as_deref(), Some("ScaledJob is paused, skipping reconcile loop"));
        let after = conditions(&during, &running);
        assert_eq!(summary(&after, "Paused"), "False ScaledJobUnpaused");
        assert_eq!(conditions(&after, &running), after);
        assert_eq!(after.last(), Some(&other), "conditions of others stay");
    }
}
