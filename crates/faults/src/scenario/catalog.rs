//! The catalog of scenarios.

use std::time::Duration;

use chrono::{DateTime, TimeZone, Utc};
use serde_json::{Value, json};

use super::objects::{
    cron, deployment, external_push, foreign_hpa, guarded, kafka, mail_job, named, neighbour, prometheus, redis,
    scaled_object, secret, trigger_authentication, vault_authentication,
};
use super::{Action, Expectations, HUNG_QUERY, NAME, SLOW_QUERY, Scenario, Step};

const PAUSED: &str = "autoscaling.keda.sh/paused";
const PAUSED_AT: &str = "autoscaling.keda.sh/paused-replicas";
const PAUSED_IN: &str = "autoscaling.keda.sh/paused-scale-in";
const PAUSED_OUT: &str = "autoscaling.keda.sh/paused-scale-out";
const FORCED: &str = "autoscaling.keda.sh/force-activation";

/// All scenarios, in a fixed order.
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
        rotated_in_vault(),
        formula(),
        pushed(),
        leaders(),
        daylight_saving(),
        hung_neighbours(),
        fought_over(),
        flapping_push(),
        half_open_push(),
        alternating_metrics(),
        three_replicas(),
        recreated(),
        end_of_daylight_saving(),
        rotated_certificates(),
        redis_list(),
        kafka_lag(),
        scaled_job(),
    ]
}

fn at(seconds: u64, action: Action) -> Step {
    Step { at: Duration::from_secs(seconds), action }
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
        page_size: None,
        rotates_certificates: false,
        drained: None,
    }
}

/// A scenario whose cooldown is checked.
fn with_cooldown(mut scenario: Scenario, cooldown_seconds: u64) -> Scenario {
    scenario.expects.cooldown = Some(Duration::from_secs(cooldown_seconds));
    scenario
}

fn annotate(key: &str, value: &str) -> Action {
    Action::Annotate(json!({ key: value }))
}

fn remove_annotation(key: &str) -> Action {
    Action::Annotate(json!({ key: null }))
}

/// A target with an object on one query.
fn simple(replicas: i64, load: f64, spec: Value) -> Vec<Step> {
    vec![
        at(0, Action::SetValue("load", load)),
        at(0, Action::Apply(deployment(replicas))),
        at(1, Action::Apply(scaled_object(json!([prometheus("load")]), spec))),
    ]
}

fn with(mut steps: Vec<Step>, more: impl IntoIterator<Item = Step>) -> Vec<Step> {
    steps.extend(more);
    steps
}

/// Of sixteen objects twelve have sources that hang, more than twice as many as the operator of the suite reconciles at once. Lists have
/// several pages.
fn hung_neighbours() -> Scenario {
    let query = |number| if number < 12 { HUNG_QUERY } else { "steady" };
    let apply = |number| neighbour(number, query(number)).map(|object| at(1, Action::Apply(object)));
    let steps = with((0..15).flat_map(apply).collect(), simple(0, 0.0, json!({})));
    let mut scenario = scenario("hung-neighbours", with(steps, [at(300, Action::SetValue("load", 50.0))]));
    scenario.steps.sort_by_key(|step| step.at);
    scenario.expects.polled_every = Some(("load", Duration::from_secs(30)));
    scenario.page_size = Some(3);
    scenario
}

/// Another client changes the HPA again and again.
fn fought_over() -> Scenario {
    let change = || Action::PatchHpa(json!({ "spec": { "maxReplicas": 7 } }));
    let changes = (30..90).map(|number| at(number * 2, change()));
    scenario("fought-over", with(simple(1, 50.0, json!({})), changes))
}

fn create() -> Scenario {
    scenario("create", simple(1, 50.0, json!({})))
}

fn update() -> Scenario {
    let steps = [
        at(60, Action::SetValue("other", 35.0)),
        at(70, Action::Apply(scaled_object(json!([prometheus("other")]), json!({ "maxReplicaCount": 3 })))),
        at(
            130,
            Action::Apply(scaled_object(
                json!([prometheus("other")]),
                json!({ "minReplicaCount": 2, "maxReplicaCount": 9 }),
            )),
        ),
    ];
    scenario("update", with(simple(1, 50.0, json!({})), steps))
}

fn paused() -> Scenario {
    let steps = [
        at(75, annotate(PAUSED, "true")),
        at(80, Action::SetValue("load", 0.0)),
        at(200, Action::SetValue("load", 20.0)),
        at(230, remove_annotation(PAUSED)),
        at(300, annotate(PAUSED, "true")),
        at(310, Action::SetValue("load", 90.0)),
        at(360, remove_annotation(PAUSED)),
    ];
    scenario("paused", with(simple(1, 50.0, json!({})), steps))
}

/// A user pauses and scales by hand, and then resumes.
fn paused_by_hand() -> Scenario {
    let take_over = Action::Both(Box::new(annotate(PAUSED, "true")), Box::new(Action::Scale(4)));
    let steps = [at(75, take_over), at(200, remove_annotation(PAUSED))];
    scenario("paused-by-hand", with(simple(0, 50.0, json!({})), steps))
}

fn paused_at_numbers() -> Scenario {
    let steps = [
        at(75, annotate(PAUSED_AT, "4")),
        at(140, annotate(PAUSED_AT, "7")),
        at(200, Action::Scale(3)),
        at(260, remove_annotation(PAUSED_AT)),
        at(330, annotate(PAUSED_AT, "0")),
        at(400, remove_annotation(PAUSED_AT)),
    ];
    scenario("paused-replicas", with(simple(1, 50.0, json!({})), steps))
}

fn paused_in() -> Scenario {
    let steps = [
        at(75, annotate(PAUSED_IN, "true")),
        at(90, Action::SetValue("load", 0.0)),
        at(240, Action::SetValue("load", 70.0)),
    ];
    scenario("paused-scale-in", with(simple(1, 50.0, json!({})), steps))
}

fn paused_out() -> Scenario {
    let steps = [
        at(75, annotate(PAUSED_OUT, "true")),
        at(90, Action::SetValue("load", 90.0)),
        at(240, Action::SetValue("load", 10.0)),
    ];
    scenario("paused-scale-out", with(simple(1, 50.0, json!({})), steps))
}

fn forced() -> Scenario {
    let steps =
        [at(100, annotate(FORCED, "true")), at(200, remove_annotation(FORCED)), at(330, annotate(FORCED, "true"))];
    scenario("force-activation", with(simple(2, 0.0, json!({})), steps))
}

fn wakes_and_sleeps() -> Scenario {
    let steps = [
        at(100, Action::SetValue("load", 5.0)),
        at(150, Action::SetValue("load", 60.0)),
        at(250, Action::SetValue("load", 0.0)),
    ];
    with_cooldown(scenario("wakes-and-sleeps", with(simple(2, 0.0, json!({})), steps)), 60)
}

/// A user scales the target from zero right before its source becomes active.
fn scaled_by_hand() -> Scenario {
    let by_hand = Action::Both(Box::new(Action::Scale(3)), Box::new(Action::SetValue("load", 30.0)));
    scenario("scaled-by-hand", with(simple(0, 0.0, json!({})), [at(100, by_hand)]))
}

fn long_cooldown() -> Scenario {
    let steps = [at(80, Action::SetValue("load", 0.0))];
    with_cooldown(scenario("long-cooldown", with(simple(1, 30.0, json!({ "cooldownPeriod": 300 })), steps)), 300)
}

fn idle() -> Scenario {
    let bounds = json!({ "idleReplicaCount": 0, "minReplicaCount": 2 });
    let steps = [at(100, Action::SetValue("load", 45.0)), at(200, Action::SetValue("load", 0.0))];
    with_cooldown(scenario("idle", with(simple(1, 0.0, bounds), steps)), 60)
}

fn fallback() -> Scenario {
    let spec = json!({ "fallback": { "failureThreshold": 2, "replicas": 6 } });
    let steps = [
        at(80, Action::RequireToken("load", Some("unknown token"))),
        at(
            301,
            Action::Apply(scaled_object(
                json!([prometheus("spare")]),
                json!({ "fallback": { "failureThreshold": 2, "replicas": 6 } }),
            )),
        ),
        at(301, Action::SetValue("spare", 25.0)),
        at(380, Action::RequireToken("spare", Some("unknown token"))),
    ];
    scenario("fallback", with(simple(1, 50.0, spec), steps))
}

/// A source that fails for long, without a fallback: nothing may be scaled in.
fn blind() -> Scenario {
    let steps = [
        at(80, Action::RequireToken("load", Some("unknown token"))),
        at(85, Action::SetValue("load", 0.0)),
        at(400, Action::SetValue("load", 50.0)),
        at(401, Action::RequireToken("load", None)),
    ];
    scenario("blind", with(simple(1, 50.0, json!({})), steps))
}

/// A trigger that cannot be built, and a fallback for it.
fn unbuilt() -> Scenario {
    let trigger = json!([{ "type": "abacus", "metadata": {} }]);
    let spec = json!({ "fallback": { "failureThreshold": 2, "replicas": 3 } });
    let steps = vec![at(0, Action::Apply(deployment(1))), at(1, Action::Apply(scaled_object(trigger, spec)))];
    scenario("unbuilt", steps)
}

fn hpa_named(name: &str) -> Value {
    json!({ "advanced": { "horizontalPodAutoscalerConfig": { "name": name } } })
}

fn renamed() -> Scenario {
    let steps = [
        at(75, Action::Apply(scaled_object(json!([prometheus("load")]), hpa_named("first")))),
        at(140, Action::Apply(scaled_object(json!([prometheus("load")]), hpa_named("second")))),
    ];
    scenario("renamed-hpa", with(simple(1, 50.0, json!({})), steps))
}

fn adopted() -> Scenario {
    let mut object = scaled_object(json!([prometheus("load")]), hpa_named("theirs"));
    object["metadata"]["annotations"] = json!({ "scaledobject.keda.sh/transfer-hpa-ownership": "true" });
    let steps = vec![
        at(0, Action::SetValue("load", 50.0)),
        at(0, Action::Apply(deployment(2))),
        at(0, Action::Apply(foreign_hpa("theirs", NAME))),
        at(20, Action::Apply(object)),
    ];
    scenario("adopted-hpa", steps)
}

fn foreign() -> Scenario {
    let steps = vec![
        at(0, Action::SetValue("load", 50.0)),
        at(0, Action::Apply(deployment(2))),
        at(0, Action::Apply(foreign_hpa("theirs", "another"))),
        at(20, Action::Apply(scaled_object(json!([prometheus("load")]), hpa_named("theirs")))),
    ];
    scenario("foreign-hpa", steps)
}

fn deleted() -> Scenario {
    let spec = json!({ "advanced": { "restoreToOriginalReplicaCount": true } });
    let steps = [at(100, Action::Delete("scaledobjects", NAME))];
    scenario("deleted-and-restored", with(simple(3, 80.0, spec), steps))
}

fn rotated() -> Scenario {
    let steps = vec![
        at(0, Action::SetValue("load", 50.0)),
        at(0, Action::RequireToken("load", Some("canary-first"))),
        at(0, Action::Apply(secret("canary-first"))),
        at(0, Action::Apply(trigger_authentication("bearerToken"))),
        at(0, Action::Apply(deployment(1))),
        at(1, Action::Apply(scaled_object(json!([guarded("load")]), json!({})))),
        at(90, Action::RequireToken("load", Some("canary-second"))),
        at(91, Action::Apply(secret("canary-second"))),
        at(95, Action::SetValue("load", 30.0)),
        at(200, Action::Apply(secret("canary-third"))),
        at(201, Action::RequireToken("load", Some("canary-third"))),
        at(205, Action::SetValue("load", 70.0)),
    ];
    scenario("rotated-secret", steps)
}

/// Vault cannot be watched: what changed there is read within five minutes.
fn rotated_in_vault() -> Scenario {
    let steps = vec![
        at(0, Action::SetValue("load", 50.0)),
        at(0, Action::RequireToken("load", Some("canary-first"))),
        at(0, Action::SetVaultToken("canary-first")),
        at(0, Action::Apply(vault_authentication())),
        at(0, Action::Apply(deployment(1))),
        at(1, Action::Apply(scaled_object(json!([guarded("load")]), json!({})))),
        at(90, Action::RequireToken("load", Some("canary-second"))),
        at(91, Action::SetVaultToken("canary-second")),
        at(95, Action::SetValue("load", 30.0)),
    ];
    scenario("rotated-in-vault", steps)
}

fn formula() -> Scenario {
    let spec = json!({ "advanced": { "scalingModifiers": { "formula": "load + other", "target": "10" } } });
    let steps = vec![
        at(0, Action::SetValue("load", 20.0)),
        at(0, Action::SetValue("other", 30.0)),
        at(0, Action::Apply(deployment(1))),
        at(1, Action::Apply(scaled_object(json!([named("load"), named("other")]), spec))),
        at(120, Action::SetValue("other", 0.0)),
        at(180, Action::SetValue("load", 0.0)),
    ];
    with_cooldown(scenario("formula", steps), 60)
}

fn pushed() -> Scenario {
    let steps = vec![
        at(0, Action::SetValue("jobs", 0.0)),
        at(0, Action::Apply(deployment(1))),
        at(1, Action::Apply(scaled_object(json!([external_push()]), json!({ "pollingInterval": 60 })))),
        at(130, Action::SetValue("jobs", 40.0)),
        at(130, Action::Push(true)),
    ];
    scenario("external-push", steps)
}

/// An external scaler that pushes without end, and changes its mind each time.
fn flapping_push() -> Scenario {
    let pushes = (0..120).map(|number| at(130 + number / 2, Action::Push(number % 2 == 0)));
    let steps = vec![
        at(0, Action::SetValue("jobs", 0.0)),
        at(0, Action::Apply(deployment(1))),
        at(1, Action::Apply(scaled_object(json!([external_push()]), json!({ "pollingInterval": 60 })))),
    ];
    let last = [at(200, Action::SetValue("jobs", 40.0)), at(200, Action::Push(true))];
    scenario("flapping-push", with(with(steps, pushes), last))
}

/// The connection to an external scaler goes silent without an end, and only then there is work.
fn half_open_push() -> Scenario {
    let interval = Duration::from_secs(60);
    let steps = vec![
        at(0, Action::SetValue("jobs", 0.0)),
        at(0, Action::Apply(deployment(1))),
        at(1, Action::Apply(scaled_object(json!([external_push()]), json!({ "pollingInterval": interval.as_secs() })))),
        at(100, Action::FreezeConnections),
        at(130, Action::SetValue("jobs", 40.0)),
        at(130, Action::Push(true)),
        at(300, Action::FreezeConnections),
    ];
    let mut scenario = scenario("half-open-push", steps);
    scenario.expects.polled_every = Some(("jobs", interval));
    scenario
}

/// An external scaler that changes its metrics twice a second.
fn alternating_metrics() -> Scenario {
    let metrics = |number: u64| if number.is_multiple_of(2) { &["jobs", "more"][..] } else { &["jobs"][..] };
    let changes = (0..120).map(|number| at(60 + number / 2, Action::SetMetrics(metrics(number))));
    let steps = vec![
        at(0, Action::SetValue("jobs", 40.0)),
        at(0, Action::Apply(deployment(1))),
        at(1, Action::Apply(scaled_object(json!([external_push()]), json!({})))),
    ];
    scenario("alternating-metrics", with(steps, changes))
}

fn three_replicas() -> Scenario {
    Scenario { name: "three-replicas", operators: 3, ..leaders() }
}

/// An object is deleted, and later created again under its name.
fn recreated() -> Scenario {
    let again = scaled_object(json!([prometheus("load")]), json!({ "maxReplicaCount": 4 }));
    let steps = [at(100, Action::Delete("scaledobjects", NAME)), at(600, Action::Apply(again))];
    scenario("recreated", with(simple(1, 50.0, json!({})), steps))
}

fn leaders() -> Scenario {
    let steps = [
        at(60, Action::SetValue("load", 20.0)),
        at(120, Action::SetValue("load", 0.0)),
        at(260, Action::SetValue("load", 60.0)),
    ];
    let mut scenario = scenario("two-replicas", with(simple(1, 50.0, json!({})), steps));
    scenario.operators = 2;
    scenario
}

/// The operator rotates certificates that live for minutes, the CA included.
fn rotated_certificates() -> Scenario {
    let load = |number: u64| if number.is_multiple_of(2) { 50.0 } else { 20.0 };
    // The CA is replaced meanwhile: faults are injected up to the last step.
    let changes = (1..=6).map(|number| at(number * 400, Action::SetValue("load", load(number))));
    let (waits, settles) = (Duration::from_secs(600), Duration::from_secs(1200));
    let steps = with(simple(1, 50.0, json!({})), changes);
    Scenario { rotates_certificates: true, waits, settles, ..scenario("rotated-certificates", steps) }
}

/// The night that skips an hour: the window from 1:30 to 3:05 lasts 35 minutes.
fn daylight_saving() -> Scenario {
    let begins_at = Utc.with_ymd_and_hms(2026, 3, 29, 0, 25, 0).single().expect("a time");
    scheduled("daylight-saving", begins_at, "30 1 * * *")
}

/// The night that repeats an hour: the window from 2:30 to 3:05 ends after the second 2:30.
fn end_of_daylight_saving() -> Scenario {
    let begins_at = Utc.with_ymd_and_hms(2026, 10, 25, 1, 25, 0).single().expect("a time");
    scheduled("end-of-daylight-saving", begins_at, "30 2 * * *")
}

/// A window that begins at a time of day and ends at 3:05.
fn scheduled(name: &'static str, begins_at: DateTime<Utc>, start: &str) -> Scenario {
    let steps = vec![
        at(0, Action::Apply(deployment(1))),
        at(1, Action::Apply(scaled_object(json!([cron(start, "5 3 * * *", 4)]), json!({})))),
    ];
    let (waits, settles) = (Duration::from_secs(2700), Duration::from_secs(3300));
    Scenario { begins_at, waits, settles, ..scenario(name, steps) }
}

/// A list of Redis, over shared connections that sign in once.
fn redis_list() -> Scenario {
    from_and_to_zero("redis-list", "queue", redis("queue"))
}

/// The lag of a topic of Kafka, over one connection for each broker.
fn kafka_lag() -> Scenario {
    from_and_to_zero("kafka-lag", "orders", kafka("orders"))
}

/// A queue whose messages have a Job each, five at a time.
fn scaled_job() -> Scenario {
    let steps = vec![
        at(0, Action::AddMessages(SLOW_QUERY, 12)),
        at(1, Action::Apply(mail_job())),
        at(200, Action::AddMessages(SLOW_QUERY, 6)),
    ];
    // A Job whose end was missed counts as running until the watch lists again.
    let (waits, settles) = (Duration::from_secs(600), Duration::from_secs(1200));
    Scenario { waits, settles, drained: Some(SLOW_QUERY), ..scenario("scaled-job", steps) }
}

/// A source with a password that is rotated while the target has replicas; before and after it there is nothing to do.
fn from_and_to_zero(name: &'static str, query: &'static str, trigger: Value) -> Scenario {
    let steps = vec![
        at(0, Action::RequireToken(query, Some("canary-first"))),
        at(0, Action::Apply(secret("canary-first"))),
        at(0, Action::Apply(trigger_authentication("password"))),
        at(0, Action::Apply(deployment(0))),
        at(1, Action::Apply(scaled_object(json!([trigger]), json!({})))),
        at(60, Action::SetValue(query, 45.0)),
        at(120, Action::RequireToken(query, Some("canary-second"))),
        at(121, Action::Apply(secret("canary-second"))),
        at(150, Action::SetValue(query, 25.0)),
        at(260, Action::SetValue(query, 0.0)),
    ];
    // The open connection keeps working with either password: that an event about the Secret was lost shows when the watch lists again.
    let (waits, settles) = (Duration::from_secs(600), Duration::from_secs(1200));
    with_cooldown(Scenario { waits, settles, ..scenario(name, steps) }, 60)
}
