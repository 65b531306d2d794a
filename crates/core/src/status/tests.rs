//! Rules of the status, as tables.

use super::*;
use crate::decide::Hold;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(second, 0).unwrap()
}

fn facts(overrides: &Overrides) -> Facts<'_> {
    Facts {
        overrides,
        problem: None,
        pause: PauseFacts::NotPaused,
        target: None,
        triggers: None,
        scalers: None,
        poll: None,
        fallback: FallbackState::Absent,
        hpa: HpaState::Unknown,
    }
}

fn poll(activity: Activity, history: ActivityHistory) -> PollFacts {
    PollFacts {
        activity,
        triggers: TriggerHealth::AllAnswered,
        decision: Decision::Hold(Hold::LeftToHpa),
        active: BTreeMap::new(),
        history,
    }
}

fn reason(status: &ScaledObjectStatus, condition_type: &str) -> Option<String> {
    let found = status.conditions.iter().flatten().find(|condition| condition.r#type == condition_type);
    found.and_then(|condition| condition.reason.clone())
}

#[test]
fn the_same_facts_leave_the_status_as_it_is() {
    let overrides = Overrides::from_annotations(None);
    let scalers = ScalersFacts { is_any_built: true, external_metrics: vec!["s0-x".to_owned()], ..Default::default() };
    let poll = poll(Activity::Active, ActivityHistory::Active { last_seen_at: Some(at(50)) });
    let facts = Facts { scalers: Some(&scalers), poll: Some(&poll), ..facts(&overrides) };
    let once = next_status(&ScaledObjectStatus::default(), &facts, at(50));
    assert_eq!(next_status(&once, &facts, at(80)), once);
}

#[test]
fn conditions_of_the_last_poll_stay_until_the_next() {
    let overrides = Overrides::from_annotations(None);
    let built = ScalersFacts { is_any_built: true, ..Default::default() };
    let blind = ScalersFacts::default();
    let active = poll(Activity::Active, ActivityHistory::Active { last_seen_at: Some(at(50)) });
    let polled = Facts { scalers: Some(&built), poll: Some(&active), ..facts(&overrides) };
    let previous = next_status(&ScaledObjectStatus::default(), &polled, at(50));
    let rows = [
        (
            "between two polls",
            Facts { scalers: Some(&built), ..facts(&overrides) },
            "ScaledObjectReady",
            "ScalerActive",
        ),
        (
            "with a problem, Ready does not stay",
            Facts { scalers: Some(&built), problem: Some("invalid"), ..facts(&overrides) },
            "ScaledObjectCheckFailed",
            "ScalerActive",
        ),
        (
            "where no trigger is built, a problem is shown",
            Facts { scalers: Some(&blind), problem: Some("invalid"), ..facts(&overrides) },
            "ScaledObjectCheckFailed",
            "UnknownState",
        ),
    ];
    for (name, facts, ready, active) in rows {
        let next = next_status(&previous, &facts, at(60));
        assert_eq!(reason(&next, "Ready").as_deref(), Some(ready), "{name}");
        assert_eq!(reason(&next, "Active").as_deref(), Some(active), "{name}");
    }
}

#[test]
fn last_active_time_changes_as_activity_begins_and_ends() {
    let overrides = Overrides::from_annotations(None);
    let built = ScalersFacts { is_any_built: true, ..Default::default() };
    let time = |second| Some(kedge_api::time::to_time(at(second)));
    let status = |active: &str, last: i64| ScaledObjectStatus {
        conditions: Some(vec![Condition {
            r#type: condition_types::ACTIVE.to_owned(),
            status: active.to_owned(),
            reason: None,
            message: None,
        }]),
        last_active_time: time(last),
        ..Default::default()
    };
    let seen = |second| ActivityHistory::Active { last_seen_at: Some(at(second)) };
    let rows = [
        ("activity begins", status("False", 10), Activity::Active, seen(50), time(50)),
        ("activity continues", status("True", 10), Activity::Active, seen(50), time(10)),
        (
            "activity ends when it was last seen",
            status("True", 10),
            Activity::Inactive,
            ActivityHistory::Ended { at: at(40) },
            time(40),
        ),
        (
            "inactivity continues",
            status("False", 10),
            Activity::Inactive,
            ActivityHistory::Ended { at: at(10) },
            time(10),
        ),
        (
            "a write that failed is made up for",
            status("False", 10),
            Activity::Inactive,
            ActivityHistory::Ended { at: at(40) },
            time(40),
        ),
        (
            "what is not known stays",
            status("False", 10),
            Activity::Inactive,
            ActivityHistory::NeverActive { created_at: at(5) },
            time(10),
        ),
        ("an unknown activity ends it as last seen", status("True", 10), Activity::Unknown, seen(30), time(30)),
    ];
    for (name, previous, activity, history, expected) in rows {
        let poll = poll(activity, history);
        let facts = Facts { scalers: Some(&built), poll: Some(&poll), ..facts(&overrides) };
        assert_eq!(next_status(&previous, &facts, at(50)).last_active_time, expected, "{name}");
    }
}

#[test]
fn paused_replicas_are_recorded_once_reached() {
    let overrides = Overrides::from_annotations(None);
    let previous = ScaledObjectStatus { paused_replica_count: Some(2), ..Default::default() };
    let rows = [
        ("not paused", PauseFacts::NotPaused, None),
        ("paused as it is", PauseFacts::Paused, None),
        ("paused at a number", PauseFacts::PausedAt(5), Some(5)),
        ("the number was not reached", PauseFacts::Failed, Some(2)),
    ];
    for (name, pause, expected) in rows {
        let next = next_status(&previous, &Facts { pause, ..facts(&overrides) }, at(0));
        assert_eq!(next.paused_replica_count, expected, "{name}");
    }
}

#[test]
fn original_replicas_are_recorded_once() {
    let target = |replicas| TargetFacts {
        display_name: "apps/v1.Deployment".to_owned(),
        kind: GroupVersionKindResource {
            group: "apps".to_owned(),
            version: "v1".to_owned(),
            kind: "Deployment".to_owned(),
            resource: "deployments".to_owned(),
        },
        original_replicas: Some(replicas),
    };
    let first = with_target(&ScaledObjectStatus::default(), &target(3));
    assert_eq!(first.original_replica_count, Some(3));
    assert_eq!(with_target(&first, &target(9)).original_replica_count, Some(3));
}
