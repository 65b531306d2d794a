//! The scenarios.

use std::time::Duration;

use chrono::{DateTime, TimeZone, Utc};
use serde_json::{Value, json};

use super::objects::{
    cron, deployment, external_push, foreign_hpa, guarded, named, prometheus, scaled_object, secret,
    trigger_authentication,
};
use super::{Act, Expectations, NAME, Scenario, Step};

const PAUSED: &str = "autoscaling.keda.sh/paused";
const PAUSED_AT: &str = "autoscaling.keda.sh/paused-replicas";
const PAUSED_IN: &str = "autoscaling.keda.sh/paused-scale-in";
const PAUSED_OUT: &str = "autoscaling.keda.sh/paused-scale-out";
const FORCED: &str = "autoscaling.keda.sh/force-activation";

/// All of them, in an order that does not change.
pub fn all() -> Vec<Scenario> {
    vec![
        create(),
        update(),
        paused(),
        paused_by_hand(),
        paused_at_numbers(),
        paused_in(),
        paused_out(),
        forced(),
        wakes_and_sleeps(),
        scaled_by_hand(),
        long_cooldown(),
        idle(),
        fallback(),
        blind(),
        unbuilt(),
        renamed(),
        adopted(),
        foreign(),
        deleted(),
        rotated(),
        formula(),
        pushed(),
        leaders(),
        daylight_saving(),
    ]
}

fn at(seconds: u64, act: Act) -> Step {
    Step { at: Duration::from_secs(seconds), act }
}

fn scenario(name: &'static str, steps: Vec<Step>) -> Scenario {
    let begins_at = Utc.with_ymd_and_hms(2026, 3, 2, 10, 0, 0).single().expect("a time");
    Scenario {
        name,
        operators: 1,
        begins_at,
        steps,
        waits: Duration::ZERO,
        settles: Duration::from_secs(700),
        expects: Expectations::default(),
    }
}

/// With a cooldown that is judged.
fn judged(mut scenario: Scenario, cooldown_seconds: u64) -> Scenario {
    scenario.expects.cooldown = Some(Duration::from_secs(cooldown_seconds));
    scenario
}

fn note(key: &str, value: &str) -> Act {
    Act::Annotate(json!({ key: value }))
}

fn no_longer(key: &str) -> Act {
    Act::Annotate(json!({ key: null }))
}

/// A target with an object on one query.
fn simple(replicas: i64, load: f64, spec: Value) -> Vec<Step> {
    vec![
        at(0, Act::Serve("load", load)),
        at(0, Act::Apply(deployment(replicas))),
        at(1, Act::Apply(scaled_object(json!([prometheus("load")]), spec))),
    ]
}

fn with(mut steps: Vec<Step>, more: impl IntoIterator<Item = Step>) -> Vec<Step> {
    steps.extend(more);
    steps
}

fn create() -> Scenario {
    scenario("create", simple(1, 50.0, json!({})))
}

fn update() -> Scenario {
    let steps = [
        at(60, Act::Serve("other", 35.0)),
        at(70, Act::Apply(scaled_object(json!([prometheus("other")]), json!({ "maxReplicaCount": 3 })))),
        at(
            130,
            Act::Apply(scaled_object(
                json!([prometheus("other")]),
                json!({ "minReplicaCount": 2, "maxReplicaCount": 9 }),
            )),
        ),
    ];
    scenario("update", with(simple(1, 50.0, json!({})), steps))
}

fn paused() -> Scenario {
    let steps = [
        at(75, note(PAUSED, "true")),
        at(80, Act::Serve("load", 0.0)),
        at(200, Act::Serve("load", 20.0)),
        at(230, no_longer(PAUSED)),
        at(300, note(PAUSED, "true")),
        at(310, Act::Serve("load", 90.0)),
        at(360, no_longer(PAUSED)),
    ];
    scenario("paused", with(simple(1, 50.0, json!({})), steps))
}

/// Somebody takes over, and gives back.
fn paused_by_hand() -> Scenario {
    let take_over = Act::Both(Box::new(note(PAUSED, "true")), Box::new(Act::Scale(4)));
    let steps = [at(75, take_over), at(200, no_longer(PAUSED))];
    scenario("paused-by-hand", with(simple(0, 50.0, json!({})), steps))
}

fn paused_at_numbers() -> Scenario {
    let steps = [
        at(75, note(PAUSED_AT, "4")),
        at(140, note(PAUSED_AT, "7")),
        at(200, Act::Scale(3)),
        at(260, no_longer(PAUSED_AT)),
        at(330, note(PAUSED_AT, "0")),
        at(400, no_longer(PAUSED_AT)),
    ];
    scenario("paused-replicas", with(simple(1, 50.0, json!({})), steps))
}

fn paused_in() -> Scenario {
    let steps = [at(75, note(PAUSED_IN, "true")), at(90, Act::Serve("load", 0.0)), at(240, Act::Serve("load", 70.0))];
    scenario("paused-scale-in", with(simple(1, 50.0, json!({})), steps))
}

fn paused_out() -> Scenario {
    let steps = [at(75, note(PAUSED_OUT, "true")), at(90, Act::Serve("load", 90.0)), at(240, Act::Serve("load", 10.0))];
    scenario("paused-scale-out", with(simple(1, 50.0, json!({})), steps))
}

fn forced() -> Scenario {
    let steps = [at(100, note(FORCED, "true")), at(200, no_longer(FORCED)), at(330, note(FORCED, "true"))];
    scenario("force-activation", with(simple(2, 0.0, json!({})), steps))
}

fn wakes_and_sleeps() -> Scenario {
    let steps = [at(100, Act::Serve("load", 5.0)), at(150, Act::Serve("load", 60.0)), at(250, Act::Serve("load", 0.0))];
    judged(scenario("wakes-and-sleeps", with(simple(2, 0.0, json!({})), steps)), 60)
}

/// Somebody wakes the target by hand just before its source does.
fn scaled_by_hand() -> Scenario {
    let by_hand = Act::Both(Box::new(Act::Scale(3)), Box::new(Act::Serve("load", 30.0)));
    scenario("scaled-by-hand", with(simple(0, 0.0, json!({})), [at(100, by_hand)]))
}

fn long_cooldown() -> Scenario {
    let steps = [at(80, Act::Serve("load", 0.0))];
    judged(scenario("long-cooldown", with(simple(1, 30.0, json!({ "cooldownPeriod": 300 })), steps)), 300)
}

fn idle() -> Scenario {
    let bounds = json!({ "idleReplicaCount": 0, "minReplicaCount": 2 });
    let steps = [at(100, Act::Serve("load", 45.0)), at(200, Act::Serve("load", 0.0))];
    judged(scenario("idle", with(simple(1, 0.0, bounds), steps)), 60)
}

fn fallback() -> Scenario {
    let spec = json!({ "fallback": { "failureThreshold": 2, "replicas": 6 } });
    let steps = [
        at(80, Act::Require("load", Some("nobody has it"))),
        at(
            301,
            Act::Apply(scaled_object(
                json!([prometheus("spare")]),
                json!({ "fallback": { "failureThreshold": 2, "replicas": 6 } }),
            )),
        ),
        at(301, Act::Serve("spare", 25.0)),
        at(380, Act::Require("spare", Some("nobody has it"))),
    ];
    let mut scenario = scenario("fallback", with(simple(1, 50.0, spec), steps));
    scenario.expects.may_shrink_blindly = true;
    scenario
}

/// A source that fails for long, and no fallback: nothing may become smaller.
fn blind() -> Scenario {
    let steps = [
        at(80, Act::Require("load", Some("nobody has it"))),
        at(85, Act::Serve("load", 0.0)),
        at(400, Act::Serve("load", 50.0)),
        at(401, Act::Require("load", None)),
    ];
    scenario("blind", with(simple(1, 50.0, json!({})), steps))
}

/// A trigger that cannot be built, and a fallback for it.
fn unbuilt() -> Scenario {
    let trigger = json!([{ "type": "abacus", "metadata": {} }]);
    let spec = json!({ "fallback": { "failureThreshold": 2, "replicas": 3 } });
    let steps = vec![at(0, Act::Apply(deployment(1))), at(1, Act::Apply(scaled_object(trigger, spec)))];
    let mut scenario = scenario("unbuilt", steps);
    scenario.expects.may_shrink_blindly = true;
    scenario
}

fn hpa_named(name: &str) -> Value {
    json!({ "advanced": { "horizontalPodAutoscalerConfig": { "name": name } } })
}

fn renamed() -> Scenario {
    let steps = [
        at(75, Act::Apply(scaled_object(json!([prometheus("load")]), hpa_named("first")))),
        at(140, Act::Apply(scaled_object(json!([prometheus("load")]), hpa_named("second")))),
    ];
    scenario("renamed-hpa", with(simple(1, 50.0, json!({})), steps))
}

fn adopted() -> Scenario {
    let mut object = scaled_object(json!([prometheus("load")]), hpa_named("theirs"));
    object["metadata"]["annotations"] = json!({ "scaledobject.keda.sh/transfer-hpa-ownership": "true" });
    let steps = vec![
        at(0, Act::Serve("load", 50.0)),
        at(0, Act::Apply(deployment(2))),
        at(0, Act::Apply(foreign_hpa("theirs", NAME))),
        at(20, Act::Apply(object)),
    ];
    scenario("adopted-hpa", steps)
}

fn foreign() -> Scenario {
    let steps = vec![
        at(0, Act::Serve("load", 50.0)),
        at(0, Act::Apply(deployment(2))),
        at(0, Act::Apply(foreign_hpa("theirs", "another"))),
        at(20, Act::Apply(scaled_object(json!([prometheus("load")]), hpa_named("theirs")))),
    ];
    scenario("foreign-hpa", steps)
}

fn deleted() -> Scenario {
    let spec = json!({ "advanced": { "restoreToOriginalReplicaCount": true } });
    let steps = [at(100, Act::Delete("scaledobjects", NAME))];
    scenario("deleted-and-restored", with(simple(3, 80.0, spec), steps))
}

fn rotated() -> Scenario {
    let steps = vec![
        at(0, Act::Serve("load", 50.0)),
        at(0, Act::Require("load", Some("first"))),
        at(0, Act::Apply(secret("first"))),
        at(0, Act::Apply(trigger_authentication())),
        at(0, Act::Apply(deployment(1))),
        at(1, Act::Apply(scaled_object(json!([guarded("load")]), json!({})))),
        at(90, Act::Require("load", Some("second"))),
        at(91, Act::Apply(secret("second"))),
        at(95, Act::Serve("load", 30.0)),
        at(200, Act::Apply(secret("third"))),
        at(201, Act::Require("load", Some("third"))),
        at(205, Act::Serve("load", 70.0)),
    ];
    scenario("rotated-secret", steps)
}

fn formula() -> Scenario {
    let spec = json!({ "advanced": { "scalingModifiers": { "formula": "load + other", "target": "10" } } });
    let steps = vec![
        at(0, Act::Serve("load", 20.0)),
        at(0, Act::Serve("other", 30.0)),
        at(0, Act::Apply(deployment(1))),
        at(1, Act::Apply(scaled_object(json!([named("load"), named("other")]), spec))),
        at(120, Act::Serve("other", 0.0)),
        at(180, Act::Serve("load", 0.0)),
    ];
    judged(scenario("formula", steps), 60)
}

fn pushed() -> Scenario {
    let steps = vec![
        at(0, Act::Serve("jobs", 0.0)),
        at(0, Act::Apply(deployment(1))),
        at(1, Act::Apply(scaled_object(json!([external_push()]), json!({ "pollingInterval": 60 })))),
        at(130, Act::Serve("jobs", 40.0)),
        at(130, Act::Push),
    ];
    scenario("external-push", steps)
}

fn leaders() -> Scenario {
    let steps = [at(60, Act::Serve("load", 20.0)), at(120, Act::Serve("load", 0.0)), at(260, Act::Serve("load", 60.0))];
    let mut scenario = scenario("two-replicas", with(simple(1, 50.0, json!({})), steps));
    scenario.operators = 2;
    scenario
}

/// The night in which an hour is left out: the window from 1:30 to 3:30 is an hour long.
fn daylight_saving() -> Scenario {
    let begins_at: DateTime<Utc> = Utc.with_ymd_and_hms(2026, 3, 29, 0, 25, 0).single().expect("a time");
    let steps = vec![
        at(0, Act::Apply(deployment(1))),
        at(1, Act::Apply(scaled_object(json!([cron("30 1 * * *", "5 3 * * *", 4)]), json!({})))),
    ];
    let (waits, settles) = (Duration::from_secs(2700), Duration::from_secs(3300));
    Scenario { begins_at, waits, settles, ..scenario("daylight-saving", steps) }
}
