//! An operator that is killed at random moments: every step ends as it does without kills, and no invariant is violated on the way.

#[path = "kills/invariants.rs"]
mod invariants;
#[path = "kills/rng.rs"]
mod rng;
#[path = "kills/steps.rs"]
mod steps;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kedge_test_cluster::RunningOperator;
use kedge_test_cluster::http_source::HttpSource;
use kedge_test_cluster::slowdown;
use kedge_test_cluster::wait::wait_for;
use kedge_tests::history::History;
use kedge_tests::namespace::TestNamespace;
use kedge_tests::programs;
use kedge_tests::snapshot::{differences, snapshot};
use kube::Client;
use serde_json::{Value, json};

use rng::Rng;
use steps::{Step, steps};

/// How often the operator is killed in each step.
const KILLS_A_STEP: usize = 7;

/// Far longer than a step takes on a busy machine: it only ends tests that fail.
const STEP_LIMIT: Duration = Duration::from_secs(600);

/// For how long nothing changes when a step is over: longer than a cooldown, and than several reconciles and HPA syncs.
const SETTLED: Duration = Duration::from_secs(4);

/// How long a step without kills takes at least: with shorter ones, an object's status changes more often than the operator writes it in
/// a minute, and the end of a step is not seen in it.
const STEP_MIN: Duration = Duration::from_secs(12);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_kills_do_not_change_the_outcome() {
    let mut rng = Rng::from_environment();
    let cluster = super::start(super::quick("kills").nodes(2)).await;
    let mut operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    let client = cluster.client().await.unwrap();

    let began = Instant::now();
    let namespace = TestNamespace::create(&cluster, "calm");
    let source = HttpSource::start().await.unwrap();
    let mut calm = Vec::new();
    for step in steps(&source.url()) {
        apply_step(&namespace, &source, &step);
        calm.push(settle(&client, &namespace, &step).await);
    }
    println!("without kills: {:?}", began.elapsed());
    namespace.kubectl(["delete", "scaledobject", "--all"]);

    let (began, mut kills) = (Instant::now(), 0);
    let namespace = TestNamespace::create(&cluster, "killed");
    let source = HttpSource::start().await.unwrap();
    let history = History::watch(&client, &namespace.name).await.unwrap();
    for (step, wanted) in steps(&source.url()).iter().zip(&calm) {
        let moment = rng.below(KILLS_A_STEP);
        for kill in 0..KILLS_A_STEP {
            if kill == moment {
                apply_step(&namespace, &source, step);
            }
            tokio::time::sleep(rng.pause()).await;
            operator.kill_and_restart().unwrap();
            kills += 1;
            // Sometimes the next kill comes before the operator is ready.
            if rng.below(5) > 0 {
                operator.until_ready().await.unwrap();
            }
        }
        operator.until_ready().await.unwrap();
        operator.until_registered(&cluster).await.unwrap();
        await_state(&client, &namespace, step, wanted, &operator).await;
    }
    println!("with {kills} kills: {:?}", began.elapsed());
    assert!(kills >= 50, "{kills}");
    let taken = invariants::check(&history.versions());
    println!("{taken} steps of targets respect the invariants");
    assert!(taken >= 50, "only {taken} steps were seen");
}

/// Applies a step.
fn apply_step(namespace: &TestNamespace<'_>, source: &HttpSource, step: &Step) {
    for (query, answer) in &step.answers {
        source.set(query, answer.clone());
    }
    for (query, authorization) in &step.authorizations {
        source.protect(query, authorization);
    }
    namespace.apply(step.objects.clone());
    for name in &step.deleted {
        namespace.kubectl(["delete", "scaledobject", name, "--wait=false"]);
    }
}

/// Waits until every object has the replicas of the step and nothing changes any more.
async fn settle(client: &Client, namespace: &TestNamespace<'_>, step: &Step) -> Value {
    let began = Instant::now();
    let mut last = (Value::Null, began);
    let quiet = SETTLED.mul_f64(slowdown::measure());
    let settled = wait_for(step.name, STEP_LIMIT, async || {
        let seen = snapshot(client, &namespace.name).await.unwrap();
        if seen != last.0 {
            last = (seen.clone(), Instant::now());
        }
        let off = differences(&json!(step.replicas), &seen["replicas"]);
        let is_over = off.is_empty() && last.1.elapsed() >= quiet && began.elapsed() >= STEP_MIN;
        if is_over { Ok(seen) } else { Err(off) }
    });
    let state = settled.await.unwrap();
    one_hpa_each(step, &state);
    state
}

/// Waits until the state is the same as without kills.
async fn await_state(
    client: &Client,
    namespace: &TestNamespace<'_>,
    step: &Step,
    wanted: &Value,
    operator: &RunningOperator,
) {
    let seen = wait_for(step.name, STEP_LIMIT, async || {
        let seen = snapshot(client, &namespace.name).await.unwrap();
        let off = differences(wanted, &seen);
        if off.is_empty() { Ok(seen) } else { Err(off) }
    });
    let log = || operator.log().lines().rev().take(40).collect::<Vec<_>>().join("\n");
    let state = seen.await.unwrap_or_else(|error| panic!("{error}\nthe last lines of the log, last first:\n{}", log()));
    one_hpa_each(step, &state);
}

/// Checks that no target has two HPAs.
fn one_hpa_each(step: &Step, state: &Value) {
    let mut by_target: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for (name, hpa) in state["hpas"].as_object().unwrap() {
        by_target.entry(hpa["spec"]["scaleTargetRef"]["name"].to_string()).or_default().push(name);
    }
    assert!(by_target.values().all(|hpas| hpas.len() == 1), "{}: {by_target:?}", step.name);
}
