//! The status of a ScaledJob: the next one, from the previous one and the facts of a reconcile. What the facts say nothing about stays.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use kedge_api::names::conditions as condition_types;
use kedge_api::scaled_job::ScaledJobStatus;
use kedge_api::scaled_object::TriggerActivity;
use kedge_api::trigger::Trigger;

use super::conditions::{Facts as ConditionFacts, PollResult, conditions};
use crate::conditions::TriggerHealth;
use crate::status::list_triggers;

/// The facts of one reconcile.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub is_paused: bool,
    /// Why the object does not work as it should, if it does not.
    pub problem: Option<&'a str>,
    /// The triggers that the status lists; `None` while they are invalid.
    pub triggers: Option<&'a [Trigger]>,
    pub poll: Option<&'a PollFacts>,
}

/// One poll of the triggers, and what was done about it.
#[derive(Clone, Debug, PartialEq)]
pub struct PollFacts {
    pub is_active: bool,
    pub triggers: TriggerHealth,
    /// Whether each metric is active, by name.
    pub active: BTreeMap<String, bool>,
    /// Why Jobs could not be created.
    pub create_errors: Vec<String>,
    /// When the object was last active, if that is known.
    pub last_active_at: Option<DateTime<Utc>>,
}

/// The status after a reconcile.
pub fn next_status(previous: &ScaledJobStatus, facts: &Facts<'_>) -> ScaledJobStatus {
    let mut next = previous.clone();
    if let Some(triggers) = facts.triggers {
        (next.triggers_types, next.authentications_types) = list_triggers(triggers);
    }
    let before = previous.conditions.as_deref().unwrap_or_default();
    let poll = facts.poll.map(|poll| PollResult {
        is_active: poll.is_active,
        triggers: poll.triggers,
        create_errors: &poll.create_errors,
    });
    next.conditions =
        Some(conditions(before, &ConditionFacts { is_paused: facts.is_paused, problem: facts.problem, poll }));
    if let Some(poll) = facts.poll {
        let activity = |(name, active): (&String, &bool)| (name.clone(), TriggerActivity { is_active: Some(*active) });
        let all: BTreeMap<_, _> = poll.active.iter().map(activity).collect();
        next.triggers_activity = (!all.is_empty()).then_some(all);
        // While it stays active the time is that at which this began: one write for each poll would say little more.
        let was_active = before.iter().any(|one| one.r#type == condition_types::ACTIVE && one.status == "True");
        if !(poll.is_active && was_active && previous.last_active_time.is_some()) {
            next.last_active_time = poll.last_active_at.map(kedge_api::time::to_time).or(next.last_active_time);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn poll(is_active: bool, second: i64) -> PollFacts {
        PollFacts {
            is_active,
            triggers: TriggerHealth::AllAnswered,
            active: BTreeMap::from([("s0-queue".to_owned(), is_active)]),
            create_errors: Vec::new(),
            last_active_at: Some(at(second)),
        }
    }

    fn after(previous: &ScaledJobStatus, poll: &PollFacts) -> ScaledJobStatus {
        next_status(previous, &Facts { is_paused: false, problem: None, triggers: None, poll: Some(poll) })
    }

    #[test]
    fn the_status_changes_when_the_activity_does_and_not_with_every_poll() {
        let seconds = |status: &ScaledJobStatus| {
            status.last_active_time.as_ref().map(|time| kedge_api::time::from_time(time).timestamp())
        };
        let first = after(&ScaledJobStatus::default(), &poll(true, 10));
        assert_eq!(seconds(&first), Some(10));
        assert_eq!(after(&first, &poll(true, 40)), first, "nothing to write");
        let ended = after(&first, &poll(false, 70));
        assert_eq!(seconds(&ended), Some(70), "when it was last active");
        assert_eq!(after(&ended, &poll(false, 70)), ended);
        assert_eq!(seconds(&after(&ended, &poll(true, 100))), Some(100));
    }

    #[test]
    fn triggers_and_authentications_are_listed_once_each() {
        let triggers: Vec<Trigger> = serde_json::from_value(json!([
            { "type": "redis", "metadata": {}, "authenticationRef": { "name": "b" } },
            { "type": "cron", "metadata": {} },
            { "type": "redis", "metadata": {}, "authenticationRef": { "name": "a" } },
        ]))
        .unwrap();
        let facts = |triggers| Facts { is_paused: false, problem: None, triggers, poll: None };
        let status = next_status(&ScaledJobStatus::default(), &facts(Some(&triggers)));
        assert_eq!(status.triggers_types.as_deref(), Some("redis,cron"));
        assert_eq!(status.authentications_types.as_deref(), Some("b,a"));
        let without = next_status(&ScaledJobStatus::default(), &facts(Some(&triggers[1..2])));
        assert_eq!(without.authentications_types.as_deref(), Some(""));
        assert_eq!(
            next_status(&status, &facts(None)).triggers_types,
            status.triggers_types,
            "invalid ones change nothing"
        );
    }

    #[test]
    fn a_poll_without_scalers_empties_the_activity() {
        let known = after(&ScaledJobStatus::default(), &poll(true, 10));
        let blind = PollFacts { active: BTreeMap::new(), ..poll(false, 10) };
        assert_eq!(after(&known, &blind).triggers_activity, None);
    }
}
