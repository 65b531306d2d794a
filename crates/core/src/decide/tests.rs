//! The table of `docs/scale-decision.md`, and invariants over every combination of a small domain.

use chrono::{DateTime, TimeDelta, Utc};
use kedge_api::names::annotations;

use super::words::{explain_cause, explain_hold};
use super::*;
use crate::activity::Cooldown;
use crate::documented_table;
use crate::policy::Overrides;

const NOW: i64 = 1_000_000;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(second, 0).unwrap()
}

fn cooldown() -> Cooldown {
    Cooldown { period: TimeDelta::seconds(300), initial: TimeDelta::seconds(60) }
}

/// The words of the table for a decision.
fn words(decision: Decision) -> String {
    match decision {
        Decision::ScaleTo { replicas, because } => format!("scale to {replicas}: {}", explain_cause(because, &[]).name),
        Decision::Hold(hold) => format!("hold: {}", explain_hold(hold).name),
    }
}

fn overrides(notes: &str) -> Overrides {
    let keys = [
        ("paused", annotations::PAUSED),
        ("paused-replicas", annotations::PAUSED_REPLICAS),
        ("paused-scale-in", annotations::PAUSED_SCALE_IN),
        ("paused-scale-out", annotations::PAUSED_SCALE_OUT),
        ("force-activation", annotations::FORCE_ACTIVATION),
    ];
    let read = |note: &str| {
        let (word, value) = note.split_once('=').unwrap();
        let (_, key) = keys.iter().find(|(short, _)| *short == word).unwrap_or_else(|| panic!("{word}"));
        ((*key).to_owned(), value.to_owned())
    };
    Overrides::from_annotations(Some(&notes.split_whitespace().map(read).collect()))
}

#[test]
fn the_documented_table_holds() {
    let page = include_str!("../../../../docs/scale-decision.md");
    let rows = documented_table::rows(page, 9);
    assert!(rows.len() >= 30, "only {} rows", rows.len());
    for row in rows {
        let [case, min, idle, current, triggers, last_active, created, notes, expected] = row[..] else {
            unreachable!()
        };
        let number = |cell: &str| cell.parse::<i64>().ok();
        let activity = match triggers {
            "active" => Activity::Active,
            "inactive" => Activity::Inactive,
            "unknown" => Activity::Unknown,
            other => panic!("{case}: {other}"),
        };
        let never = ActivityHistory::NeverActive { created_at: at(NOW - number(created).unwrap()) };
        let history = number(last_active).map_or(never, |ago| ActivityHistory::Ended { at: at(NOW - ago) });
        let policy = Policy {
            min: number(min).unwrap_or(0) as i32,
            max: 100,
            idle: number(idle).map(|idle| idle as i32),
            cooldown: cooldown(),
            overrides: overrides(notes),
        };
        let seen = Observation {
            activity,
            history: history.after(activity, at(NOW)),
            current: number(current).map_or(Current::Unknown, |current| Current::Replicas(current as i32)),
        };
        assert_eq!(words(decide(&policy, &seen, at(NOW))), expected, "{case}");
    }
}

/// Every combination of a small domain of every input.
fn each_case(mut visit: impl FnMut(&Policy, &Observation)) -> usize {
    let pauses = [Pause::No, Pause::AsIs, Pause::At(2), Pause::Unreadable("x".to_owned())];
    let directions = [Direction::Allowed, Direction::Paused];
    let activities = [Activity::Active, Activity::Inactive, Activity::Unknown];
    let histories = [
        ActivityHistory::NeverActive { created_at: at(NOW - 60) },
        ActivityHistory::NeverActive { created_at: at(NOW - 61) },
        ActivityHistory::Active { last_seen_at: None },
        ActivityHistory::Active { last_seen_at: Some(at(NOW - 10)) },
        ActivityHistory::Ended { at: at(NOW - 300) },
        ActivityHistory::Ended { at: at(NOW - 301) },
    ];
    let mut count = 0;
    for min in 0..4 {
        for idle in [None, Some(0), Some(1), Some(2)].into_iter().filter(|idle| idle.is_none_or(|idle| idle < min)) {
            for max in min.max(1)..5 {
                for pause in &pauses {
                    for scale_in in directions {
                        for scale_out in directions {
                            for activation in [Activation::ByTriggers, Activation::Forced] {
                                let overrides = Overrides { pause: pause.clone(), scale_in, scale_out, activation };
                                let policy = Policy { min, max, idle, cooldown: cooldown(), overrides };
                                for activity in activities {
                                    for history in histories {
                                        for current in (0..7).map(Current::Replicas).chain([Current::Unknown]) {
                                            let history = history.after(activity, at(NOW));
                                            visit(&policy, &Observation { activity, history, current });
                                            count += 1;
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    count
}

#[test]
fn the_invariants_hold_for_every_case_of_a_small_domain() {
    let count = each_case(|policy, seen| {
        let decision = decide(policy, seen, at(NOW));
        let Decision::ScaleTo { replicas, because } = decision else { return };
        let Current::Replicas(current) = seen.current else {
            panic!("scaled without knowing the replicas: {policy:?} {seen:?}")
        };
        let forced = policy.overrides.activation == Activation::Forced;
        assert_eq!(policy.overrides.pause, Pause::No, "paused objects keep their replicas: {policy:?} {seen:?}");
        assert_ne!(replicas, current, "a decision changes something: {policy:?} {seen:?}");
        assert!((policy.floor()..=policy.max).contains(&replicas), "within bounds: {policy:?} {seen:?}");
        assert!(
            forced || seen.activity != Activity::Unknown,
            "never while the activity is unknown: {policy:?} {seen:?}"
        );
        if replicas < current {
            assert_eq!((seen.activity, because), (Activity::Inactive, Cause::CooldownPassed), "{policy:?} {seen:?}");
            assert_eq!(policy.overrides.scale_in, Direction::Allowed, "{policy:?} {seen:?}");
        } else if because != Cause::BelowMinimum {
            assert_eq!(policy.overrides.scale_out, Direction::Allowed, "{policy:?} {seen:?}");
        }
    });
    assert!(count > 100_000, "only {count} cases");
}

#[test]
fn one_step_is_enough_and_the_next_decision_is_to_hold() {
    each_case(|policy, seen| {
        if let Decision::ScaleTo { replicas, .. } = decide(policy, seen, at(NOW)) {
            let after = Observation { current: Current::Replicas(replicas), ..*seen };
            let next = decide(policy, &after, at(NOW));
            assert!(matches!(next, Decision::Hold(_)), "{policy:?} {seen:?} -> {replicas} -> {next:?}");
        }
    });
}
