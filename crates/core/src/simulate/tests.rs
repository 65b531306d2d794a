use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, MetricSpec};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::activity::{Activity, Contribution};
use crate::decide::{Cause, Hold};
use crate::hpa::render::{TargetKind, render};
use crate::milli::Milli;

const QUEUE: &str = "s0-queue";
const CLOCK: &str = "s1-clock";
/// The window of scale-downs, the default cooldown, a poll, a reconcile of the HPA and a second.
const SETTLED_AFTER: i64 = 300 + 300 + 30 + 16 + 1;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(second, 0).unwrap()
}

fn object(spec: Value) -> ScaledObject {
    let mut whole =
        json!({ "scaleTargetRef": { "name": "worker" }, "triggers": [{ "type": "queue", "metadata": {} }] });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    ScaledObject::new("worker", serde_json::from_value(whole).unwrap())
}

fn metric(name: &str, target: &str) -> MetricSpec {
    serde_json::from_value(json!({ "type": "External", "external": {
        "metric": { "name": name }, "target": { "type": "AverageValue", "averageValue": target } } }))
    .unwrap()
}

fn hpa(object: &ScaledObject, metrics: Vec<MetricSpec>) -> HorizontalPodAutoscaler {
    let target = TargetKind { api_version: "apps/v1".to_owned(), kind: "Deployment".to_owned() };
    render(object, &target, metrics, "test").unwrap()
}

/// The events of an hour with pods that take five seconds to start. The queue has a target of ten per replica.
fn run(object: &ScaledObject, load: &dyn Load) -> Vec<SimulationEvent> {
    let hpa = hpa(object, vec![metric(QUEUE, "10"), metric(CLOCK, "1")][..object.spec.triggers.len()].to_vec());
    simulate(&plan(object, &hpa, 3600), load)
}

fn plan<'a>(object: &'a ScaledObject, hpa: &'a HorizontalPodAutoscaler, seconds: i64) -> Plan<'a> {
    let policy = Policy::from_spec(&object.spec, object.metadata.annotations.as_ref());
    Plan {
        object,
        hpa: &hpa.spec,
        start_at: at(0),
        length: TimeDelta::seconds(seconds),
        replicas: initial_replicas(&policy),
        timing: Timing::from_spec(&object.spec, TimeDelta::seconds(5)),
    }
}

/// The length of a queue from this second on; `None` is a failing source.
type QueueStep = (i64, Option<i64>);

fn queue(steps: &[QueueStep]) -> impl Fn(DateTime<Utc>) -> Vec<Reading> {
    let steps = steps.to_vec();
    move |now| {
        let length = steps.iter().rev().find(|(from, _)| at(*from) <= now).map_or(Some(0), |(_, length)| *length);
        vec![match length {
            Some(length) => answer(QUEUE, length),
            None => Reading::failed(QUEUE, "down"),
        }]
    }
}

fn answer(metric: &str, value: i64) -> Reading {
    let contribution = if value > 0 { Contribution::Active } else { Contribution::Inactive };
    Reading::known(metric, Milli(value * 1000), contribution)
}

/// Every change of replicas: the second, by what, and to how many.
fn changes(events: &[SimulationEvent]) -> Vec<(i64, &'static str, i32)> {
    let change = |event: &SimulationEvent| match &event.what {
        Change::Replicas { to, by: ScaledBy::Kedge(_), .. } => Some((event.at.timestamp(), "kedge", *to)),
        Change::Replicas { to, by: ScaledBy::Hpa { .. }, .. } => Some((event.at.timestamp(), "hpa", *to)),
        _ => None,
    };
    events.iter().filter_map(change).collect()
}

fn replicas(events: &[SimulationEvent]) -> Vec<i32> {
    changes(events).into_iter().map(|(_, _, to)| to).collect()
}

#[test]
fn an_active_trigger_activates_the_target_and_the_cooldown_ends_it() {
    let load = queue(&[(61, Some(45)), (600, Some(5)), (1500, Some(0))]);
    let events = run(&object(json!({})), &load);
    // Reconciles are 15.01 s apart: the sixth comes at 90.06 s. From one replica four are allowed at once.
    let expected = [
        (90, "kedge", 1),
        (90, "hpa", 4),
        (105, "hpa", 5),
        // The window of five minutes after 585.39 s, the last reconcile that proposed five, and one reconcile more.
        (885, "hpa", 1),
        // The cooldown of five minutes after 1470 s, the last active poll, and one poll more.
        (1800, "kedge", 0),
    ];
    assert_eq!(changes(&events), expected);
    let causes = events.iter().filter_map(|one| match one.what {
        Change::Replicas { by: ScaledBy::Kedge(cause), .. } => Some(cause),
        _ => None,
    });
    assert_eq!(causes.collect::<Vec<_>>(), [Cause::TriggerActive, Cause::CooldownPassed]);
}

#[test]
fn replicas_follow_the_object_and_its_sources() {
    let busy = [(0, Some(30)), (900, None), (1800, Some(30))];
    let fallback = |replicas| json!({ "fallback": { "failureThreshold": 3, "replicas": replicas } });
    let cached = json!({ "pollingInterval": 300, "triggers": [
        { "type": "queue", "metadata": {}, "useCachedMetrics": true }] });
    let rows: [(&str, Value, &[QueueStep], &[i32]); 10] = [
        ("inactive, no change", json!({}), &[], &[]),
        ("a failing source holds the replicas", json!({}), &busy, &[1, 3]),
        ("also those of a target at zero", json!({}), &[(0, None)], &[]),
        ("a fallback scales out", fallback(5), &busy, &[1, 3, 5, 3]),
        ("a fallback scales in", fallback(2), &busy, &[1, 3, 2, 3]),
        ("a fallback activates a target at zero", fallback(2), &[(0, None)], &[1, 2]),
        ("the maximum holds", json!({ "maxReplicaCount": 4 }), &[(0, Some(900))], &[1, 4]),
        ("the minimum holds", json!({ "minReplicaCount": 2 }), &[(0, Some(30)), (600, Some(0))], &[3, 2]),
        (
            "activity leads from the idle count to the minimum",
            json!({ "idleReplicaCount": 0, "minReplicaCount": 2 }),
            &[(0, Some(5)), (600, Some(0))],
            &[2, 0],
        ),
        (
            "cached readings are those of the last poll",
            cached,
            &[(0, Some(30)), (10, Some(0)), (290, Some(40))],
            &[1, 3, 4],
        ),
    ];
    for (name, spec, steps, expected) in rows {
        assert_eq!(replicas(&run(&object(spec), &queue(steps))), expected, "{name}");
    }
}

#[test]
fn a_window_of_time_keeps_its_replicas() {
    let spec = json!({ "triggers": [{ "type": "queue", "metadata": {} }, { "type": "clock", "metadata": {} }] });
    let load = |now: DateTime<Utc>| {
        let is_open = (at(600)..at(1800)).contains(&now);
        let queue = if (at(900)..at(960)).contains(&now) { 40 } else { 0 };
        vec![answer(QUEUE, queue), answer(CLOCK, if is_open { 3 } else { 0 })]
    };
    let events = run(&object(spec), &load);
    assert_eq!(replicas(&events), [1, 3, 4, 3, 1, 0]);
    let kept = |one: &&SimulationEvent| (at(700)..at(1800)).contains(&one.at);
    assert!(events.iter().filter(kept).all(|one| one.current >= 3));
}

#[test]
fn the_wait_for_a_pod_counts_from_the_activation() {
    let events = run(&object(json!({})), &queue(&[(71, Some(5))]));
    let ready = events.iter().find(|one| matches!(one.what, Change::Ready { .. })).unwrap();
    // The poll comes at 90 s, the pod five seconds later.
    assert_eq!((ready.at, ready.ready), (at(95), 1));
    assert_eq!(ready.what, Change::Ready { waited: Some(TimeDelta::seconds(95 - 71)) });
}

#[test]
fn a_run_reports_why_replicas_are_held() {
    let until = at(90 + 300);
    let events = run(&object(json!({})), &queue(&[(61, Some(5)), (100, Some(0)), (1000, None)]));
    let changes = |pick: fn(&Change) -> bool| events.iter().map(|one| &one.what).filter(move |one| pick(one));
    let holds: Vec<_> = changes(|one| matches!(one, Change::Hold(_))).cloned().collect();
    assert_eq!(
        holds,
        [Hold::AtMinimum, Hold::CoolingDown { until }, Hold::AtMinimum, Hold::ActivityUnknown].map(Change::Hold),
        "in the order of time"
    );
    let activities: Vec<_> = changes(|one| matches!(one, Change::Activity(_))).cloned().collect();
    assert_eq!(
        activities,
        [Activity::Inactive, Activity::Active, Activity::Inactive, Activity::Unknown].map(Change::Activity)
    );
    let reasons: Vec<_> = events
        .iter()
        .filter_map(|one| match &one.what {
            Change::Condition { condition: HpaCondition::ScalingActive, reason, .. } => Some(reason.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, ["ScalingDisabled", "ValidMetricFound", "ScalingDisabled"]);
}

#[test]
fn a_paused_object_keeps_its_replicas() {
    let mut paused = object(json!({}));
    let note = (kedge_api::names::annotations::PAUSED_REPLICAS.to_owned(), "2".to_owned());
    paused.metadata.annotations = Some([note].into());
    let events = run(&paused, &queue(&[(0, Some(90))]));
    let [only] = events.as_slice() else { panic!("one event, not {events:?}") };
    assert_eq!((only.current, &only.what), (2, &Change::Hold(Hold::Paused)));
}

#[test]
fn a_summary_adds_up() {
    let object = object(json!({}));
    let hpa = hpa(&object, vec![metric(QUEUE, "10")]);
    let plan = plan(&object, &hpa, 3600);
    let events = simulate(&plan, &queue(&[(61, Some(45)), (600, Some(5)), (1500, Some(0))]));
    let summary = Summary::from_events(&plan, &events);
    // One to 90.06 s, four to 105.07 s, five to 885.59 s, one to 1800 s.
    let used = 60 + 4 * 15_010 + 5 * 780_520 + 914_410;
    assert_eq!(summary.used, TimeDelta::milliseconds(used));
    assert_eq!(summary.at_zero, TimeDelta::seconds(90 + 1800));
    assert_eq!((summary.replicas_max, summary.changes), (5, 5));
    assert_eq!(summary.always_on, TimeDelta::seconds(5 * 3600));
    assert_eq!(summary.waited_max, Some(TimeDelta::seconds(95 - 61)));
}

/// Lengths of a queue in steps of a minute and more, and failures.
fn steps() -> impl Strategy<Value = Vec<QueueStep>> {
    let length = prop_oneof![2 => Just(Some(0)), 4 => (0..500_i64).prop_map(Some), 1 => Just(None)];
    vec((60..900_i64, length), 0..12).prop_map(|steps| {
        steps
            .into_iter()
            .scan(0, |from, (after, length)| {
                *from += after;
                Some((*from, length))
            })
            .collect()
    })
}

/// Minimum, maximum, idle count, fallback. An idle count above zero is left out: the HPA lifts the target to the minimum.
fn bounds() -> impl Strategy<Value = (i32, i32, Option<i32>, Option<i32>)> {
    (0..4, 4..20, proptest::option::of(Just(0)), proptest::option::of(0..25))
}

fn bounded(min: i32, max: i32, idle: Option<i32>, fallback: Option<i32>) -> ScaledObject {
    object(json!({
        "minReplicaCount": min, "maxReplicaCount": max, "idleReplicaCount": idle.filter(|idle| *idle < min),
        "fallback": fallback.map(|replicas| json!({ "failureThreshold": 2, "replicas": replicas })),
    }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn replicas_stay_within_their_bounds((min, max, idle, fallback) in bounds(), steps in steps()) {
        let object = bounded(min, max, idle, fallback);
        let floor = object.spec.idle_replica_count.unwrap_or(min);
        let mut current = floor;
        let mut now = at(0);
        for event in run(&object, &queue(&steps)) {
            prop_assert!((floor..=max).contains(&event.current), "{event:?}");
            prop_assert!((0..=event.current).contains(&event.ready), "{event:?}");
            prop_assert!(now <= event.at, "{event:?}");
            if let Change::Replicas { from, to, .. } = event.what {
                prop_assert_eq!((from, to != from), (current, true));
            }
            (current, now) = (event.current, event.at);
        }
        prop_assert!(now < at(3600));
    }

    #[test]
    fn without_activity_the_target_is_scaled_in_and_nothing_more_happens(
        (min, max, idle, fallback) in bounds(), steps in steps(), gone in 600..2400_i64,
    ) {
        let object = bounded(min, max, idle, fallback);
        let mut steps: Vec<_> = steps.into_iter().filter(|(from, _)| *from < gone).collect();
        steps.push((gone, Some(0)));
        let events = run(&object, &queue(&steps));
        let last = events.last().unwrap();
        prop_assert!(last.at < at(gone + SETTLED_AFTER), "{last:?}");
        prop_assert_eq!(last.current, object.spec.idle_replica_count.unwrap_or(min));
    }

    #[test]
    fn the_same_load_gives_the_same_run(steps in steps()) {
        let object = object(json!({}));
        prop_assert_eq!(run(&object, &queue(&steps)), run(&object, &queue(&steps)));
    }
}
