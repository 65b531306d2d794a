//! A playground from its start to its end, without kubectl and without a browser.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use kedge_dashboard::view::{Actor, LoggedStep, ObjectState};
use kedge_dashboard::{Action, Health};
use kedge_playground::{Options, Playground, Scenario, StartError};
use serde_json::{Value, json};

/// Sixty times as fast: a minute of the scenario is a second of the test.
const SPEED: f64 = 60.0;

/// How long anything may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

fn documents(yaml: &str) -> Vec<Value> {
    yaml.split("\n---\n").map(|text| serde_saphyr::from_str(text).expect("a document")).collect()
}

fn options(manifests: Vec<Value>, scenario: Option<&'static Scenario>) -> Options {
    let starts_at = "2026-06-01T12:00:00Z".parse().expect("a time");
    Options { speed: SPEED, starts_at, api_address: SocketAddr::from(([127, 0, 0, 1], 0)), manifests, scenario }
}

async fn play(name: &str) -> Playground {
    let scenario = Scenario::find(name).expect("a scenario");
    Playground::start(options(documents(scenario.manifests), Some(scenario))).await.expect("it starts")
}

/// Waits until the log has an entry like this, and returns all of it.
async fn until_logged(playground: &Playground, what: &str, is_wanted: impl Fn(&LoggedStep) -> bool) -> Vec<LoggedStep> {
    let started = Instant::now();
    loop {
        let logged = playground.view().steps_after(0);
        if logged.iter().any(&is_wanted) {
            return logged;
        }
        assert!(started.elapsed() < PATIENCE, "{what}: {logged:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn by(actor: Actor) -> impl Fn(&LoggedStep) -> bool {
    move |logged| logged.step.by == actor && logged.step.change.is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_worker_goes_up_from_zero_and_back_to_zero_and_every_change_has_a_reason() {
    let playground = play("queue-worker").await;
    assert_eq!(playground.notices, ["Deployment default/order-worker is made up: the manifests have none"]);
    let is_back = |logged: &LoggedStep| logged.step.name == "cooldown passed";
    let logged = until_logged(&playground, "back to zero", is_back).await;
    let changes: Vec<_> = logged.iter().filter_map(|logged| Some((logged.step.by, logged.step.change?))).collect();
    assert_eq!(changes.first(), Some(&(Actor::Kedge, (0, 1))), "{logged:#?}");
    assert!(
        logged.iter().any(|one| by(Actor::Hpa)(one) && one.step.change.is_some_and(|(from, to)| to > from)),
        "{logged:#?}"
    );
    assert!(logged.iter().any(|one| by(Actor::Hpa)(one) && one.step.reason.contains("orders is at")), "{logged:#?}");
    assert!(!logged.iter().any(by(Actor::Other)), "no change is left unexplained: {logged:#?}");
    let object = playground.view().object("default", "order-worker").expect("it is shown");
    assert_eq!(object.summary.replicas, Some(0));
    assert_eq!(object.samples.at.len(), object.samples.replicas.len());
    assert!(object.samples.values[0].iter().flatten().any(|value| *value > 100.0), "{:?}", object.samples.values);
    let kubeconfig = playground.kubeconfig.clone();
    assert!(kubeconfig.exists());
    playground.stop().await;
    assert!(!kubeconfig.exists(), "nothing is left behind");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_turns_breaks_and_pauses() {
    let scenario = Scenario::find("flaky-source").expect("a scenario");
    // No scenario turns the dial.
    let playground = Playground::start(options(documents(scenario.manifests), None)).await.expect("it starts");
    let controls = playground.controls();
    until_logged(&playground, "polled", |logged| logged.step.name == "at minimum").await;
    let dial = controls.dials("default", "batch").pop().expect("a dial").id;
    let act = async |action: Action| controls.apply("default", "batch", action).await;
    act(Action::SetValue { dial: dial.clone(), value: 25.0 }).await.expect("a dial turns");
    until_logged(&playground, "activated", by(Actor::Kedge)).await;
    until_logged(&playground, "scaled out", by(Actor::Hpa)).await;
    act(Action::SetHealth { dial: dial.clone(), health: Health::Broken }).await.expect("a source breaks");
    let logged = until_logged(&playground, "fallback", |logged| logged.step.name == "fallback").await;
    assert!(
        logged.iter().any(|logged| logged.step.by == Actor::Source && logged.step.reason.contains("500")),
        "{logged:#?}"
    );
    act(Action::Pause).await.expect("an object pauses");
    until_logged(&playground, "paused", |logged| logged.step.name == "paused").await;
    assert_eq!(
        playground.view().object("default", "batch").map(|object| object.summary.state),
        Some(ObjectState::Paused)
    );
    act(Action::SetHealth { dial, health: Health::Works }).await.expect("a source heals");
    act(Action::Resume).await.expect("an object resumes");
    until_logged(&playground, "healed", |logged| logged.step.name == "source answers").await;
    let refused = act(Action::SetValue { dial: "another".to_owned(), value: 1.0 }).await;
    assert_eq!(refused.unwrap_err(), "ScaledObject default/batch has no source another");
    playground.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_fails_by_itself_brings_the_fallback_and_ends_it() {
    let playground = play("flaky-source").await;
    let named = |name: &'static str| move |logged: &LoggedStep| logged.step.name == name;
    let logged = until_logged(&playground, "the source answers again", named("fallback ended")).await;
    let position = |name: &'static str| logged.iter().position(named(name));
    assert!(position("source fails") < position("fallback") && position("fallback").is_some(), "{logged:#?}");
    playground.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pushes_activate_at_once_and_formulas_are_evaluated() {
    let playground = play("push").await;
    let logged = until_logged(&playground, "activated", by(Actor::Kedge)).await;
    let activated = logged.iter().find(|logged| by(Actor::Kedge)(logged)).expect("it is logged");
    // The value rises after 20 s, and the polling interval is five minutes.
    let start: chrono::DateTime<chrono::Utc> = "2026-06-01T12:00:00Z".parse().expect("a time");
    let after = activated.step.at - start.timestamp_millis();
    assert!((19_000..60_000).contains(&after), "after {after} ms");
    playground.stop().await;
    let playground = play("formula").await;
    until_logged(&playground, "scaled out", by(Actor::Hpa)).await;
    assert_eq!(playground.view().object("default", "importer").map(|object| object.summary.problem), Some(None));
    playground.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_over_tls_are_stood_in_for_too() {
    let scaled = |name: &str, trigger: Value| {
        json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": name },
            "spec": { "scaleTargetRef": { "name": name }, "pollingInterval": 5, "triggers": [trigger] },
        })
    };
    let https = json!({ "serverAddress": "https://prometheus.playground", "query": "sum(x)", "threshold": "5" });
    let grpc = json!({ "scalerAddress": "scaler.playground:443", "enableTLS": "true" });
    let manifests = vec![
        scaled("https", json!({ "type": "prometheus", "metadata": https })),
        scaled("grpc", json!({ "type": "external", "metadata": grpc })),
    ];
    let playground = Playground::start(options(manifests, None)).await.expect("it starts");
    for name in ["https", "grpc"] {
        let of_it = |logged: &LoggedStep| logged.name == name;
        until_logged(&playground, "polled", |logged| of_it(logged) && logged.step.name == "at minimum").await;
        let controls = playground.controls();
        let dial = controls.dials("default", name).pop().expect("a dial").id;
        controls.apply("default", name, Action::SetValue { dial, value: 20.0 }).await.expect("a dial turns");
        until_logged(&playground, "activated", |logged| of_it(logged) && by(Actor::Kedge)(logged)).await;
    }
    playground.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_usage_of_pods_is_shared_by_its_replicas() {
    let trigger = json!({ "type": "cpu", "metricType": "Utilization", "metadata": { "value": "50" } });
    let scaled = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "web" },
        "spec": { "scaleTargetRef": { "name": "web" }, "minReplicaCount": 1, "maxReplicaCount": 8, "triggers": [trigger] },
    });
    let playground = Playground::start(options(vec![scaled], None)).await.expect("it starts");
    until_logged(&playground, "one replica", by(Actor::Kedge)).await;
    let controls = playground.controls();
    let dial = controls.dials("default", "web").pop().expect("a dial");
    assert_eq!((dial.label.as_str(), dial.max), ("cpu, % of a pod's request", 500.0));
    let turned = Action::SetValue { dial: dial.id, value: 190.0 };
    controls.apply("default", "web", turned).await.expect("a dial turns");
    let is_shared = |logged: &LoggedStep| by(Actor::Hpa)(logged) && logged.step.change.is_some_and(|(_, to)| to == 4);
    until_logged(&playground, "190 % among four is below 50 % each", is_shared).await;
    // Were each replica to use 190 %, there would soon be eight.
    let then = playground.view().now() + 60_000;
    let started = Instant::now();
    while playground.view().now() < then {
        assert!(started.elapsed() < PATIENCE, "a minute takes too long");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let objects = playground.view().objects();
    assert_eq!(objects[0].replicas, Some(4));
    playground.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admission_denies_and_mistakes_are_named() {
    let scaled = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "web" },
        "spec": { "scaleTargetRef": { "name": "web" }, "minReplicaCount": 5, "maxReplicaCount": 2, "triggers": [] },
    });
    let denied = Playground::start(options(vec![scaled], None)).await.expect_err("it is denied").to_string();
    assert!(denied.starts_with("ScaledObject web: ") && denied.contains("minReplicaCount"), "{denied}");
    let unknown = json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" } });
    let error = Playground::start(options(vec![unknown], None)).await.expect_err("there is no such kind").to_string();
    assert_eq!(error, "Widget w: the playground has no kind Widget in example.com/v1; remove it");
    let too_fast = Options { speed: 1e9, ..options(Vec::new(), None) };
    assert!(matches!(Playground::start(too_fast).await, Err(StartError::Speed(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_follows_its_schedule_and_keeps_a_bounded_history() {
    /// As docs/playground.md states.
    const SAMPLES_MAX: usize = 2_000;
    let scenario = Scenario::find("office-hours").expect("a scenario");
    let midnight = "2026-06-01T00:00:00Z".parse().expect("a time");
    let fast = Options { speed: 3600.0, starts_at: midnight, ..options(documents(scenario.manifests), Some(scenario)) };
    let playground = Playground::start(fast).await.expect("it starts");
    until_logged(&playground, "office hours", by(Actor::Kedge)).await;
    let night = |logged: &LoggedStep| by(Actor::Kedge)(logged) && logged.step.change == Some((1, 0));
    until_logged(&playground, "the night", night).await;
    let started = Instant::now();
    while playground.view().now() < midnight.timestamp_millis() + 24 * 3_600_000 {
        assert!(started.elapsed() < PATIENCE, "a day takes too long");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let object = playground.view().object("default", "intranet").expect("it is shown");
    let samples = &object.samples.at;
    assert!(samples.len() > SAMPLES_MAX / 2 && samples.len() <= SAMPLES_MAX, "{} samples", samples.len());
    assert!(samples[0] < midnight.timestamp_millis() + 3_600_000, "the charts begin at the start");
    assert_eq!(object.samples.replicas.iter().flatten().max(), Some(&5), "noon");
    playground.stop().await;
}
