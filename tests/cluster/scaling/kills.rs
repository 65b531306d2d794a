//! An operator that is killed again and again, at moments that chance chooses: the story ends as it would have without, step by
//! step, and no law is broken on the way.

#[path = "kills/chance.rs"]
mod chance;
#[path = "kills/law.rs"]
mod law;
#[path = "kills/steps.rs"]
mod steps;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kedge_test_cluster::RunningOperator;
use kedge_test_cluster::http_source::HttpSource;
use kedge_test_cluster::slowdown;
use kedge_test_cluster::wait::wait_for;
use kedge_tests::history::History;
use kedge_tests::programs;
use kedge_tests::snapshot::{differences, snapshot};
use kedge_tests::story::Story;
use kube::Client;
use serde_json::{Value, json};

use chance::Chance;
use steps::{Step, steps};

/// How often the operator is killed in each step.
const KILLS_A_STEP: usize = 7;

/// Longer than a step takes on a busy machine.
const STEP_LIMIT: Duration = Duration::from_secs(240);

/// For how long nothing changes when a step is over: longer than a cooldown, and than several looks of everybody.
const SETTLED: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_kills_change_nothing_about_the_story() {
    let mut chance = Chance::of_environment();
    let cluster = super::start(super::quick("kills").nodes(2)).await;
    let mut operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    let client = cluster.client().await.unwrap();

    let began = Instant::now();
    let story = Story::begin(&cluster, "calm");
    let source = HttpSource::start().await.unwrap();
    let mut calm = Vec::new();
    for step in steps(&source.url()) {
        take(&story, &source, &step);
        calm.push(settle(&client, &story, &step).await);
    }
    println!("without kills: {:?}", began.elapsed());
    story.kubectl(["delete", "scaledobject", "--all"]);

    let (began, mut kills) = (Instant::now(), 0);
    let story = Story::begin(&cluster, "killed");
    let source = HttpSource::start().await.unwrap();
    let history = History::listen(&client, &story.namespace).await.unwrap();
    for (step, wanted) in steps(&source.url()).iter().zip(&calm) {
        let moment = chance.below(KILLS_A_STEP);
        for kill in 0..KILLS_A_STEP {
            if kill == moment {
                take(&story, &source, step);
            }
            tokio::time::sleep(chance.pause()).await;
            operator.kill_and_restart().unwrap();
            kills += 1;
            // Now and then one is killed before it has begun.
            if chance.below(5) > 0 {
                operator.until_ready().await.unwrap();
            }
        }
        operator.until_ready().await.unwrap();
        operator.until_registered(&cluster).await.unwrap();
        await_state(&client, &story, step, wanted, &operator).await;
    }
    println!("with {kills} kills: {:?}", began.elapsed());
    assert!(kills >= 50, "{kills}");
    let taken = law::check(&history.versions());
    println!("{taken} steps of targets were within the law");
    assert!(taken >= 50, "only {taken} steps were seen");
}

/// Does what a step does.
fn take(story: &Story<'_>, source: &HttpSource, step: &Step) {
    for (query, answer) in &step.answers {
        source.set(query, answer.clone());
    }
    for (query, authorization) in &step.authorizations {
        source.protect(query, authorization);
    }
    story.apply(step.objects.clone());
    for name in &step.deleted {
        story.kubectl(["delete", "scaledobject", name, "--wait=false"]);
    }
}

/// Waits until the replicas are as the step says and nothing changes any more.
async fn settle(client: &Client, story: &Story<'_>, step: &Step) -> Value {
    let mut last = (Value::Null, Instant::now());
    let quiet = SETTLED.mul_f64(slowdown::measure());
    let settled = wait_for(step.name, STEP_LIMIT, async || {
        let seen = snapshot(client, &story.namespace).await.unwrap();
        if seen != last.0 {
            last = (seen.clone(), Instant::now());
        }
        let off = differences(&json!(step.replicas), &seen["replicas"]);
        if off.is_empty() && last.1.elapsed() >= quiet { Ok(seen) } else { Err(off) }
    });
    let state = settled.await.unwrap();
    one_hpa_each(step, &state);
    state
}

/// Waits until everything is as it was without kills.
async fn await_state(client: &Client, story: &Story<'_>, step: &Step, wanted: &Value, operator: &RunningOperator) {
    let seen = wait_for(step.name, STEP_LIMIT, async || {
        let seen = snapshot(client, &story.namespace).await.unwrap();
        let off = differences(wanted, &seen);
        if off.is_empty() { Ok(seen) } else { Err(off) }
    });
    let log = || operator.log().lines().rev().take(40).collect::<Vec<_>>().join("\n");
    let state = seen.await.unwrap_or_else(|error| panic!("{error}\nthe last lines of the log, last first:\n{}", log()));
    one_hpa_each(step, &state);
}

/// No target has two HPAs.
fn one_hpa_each(step: &Step, state: &Value) {
    let mut by_target: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for (name, hpa) in state["hpas"].as_object().unwrap() {
        by_target.entry(hpa["spec"]["scaleTargetRef"]["name"].to_string()).or_default().push(name);
    }
    assert!(by_target.values().all(|hpas| hpas.len() == 1), "{}: {by_target:?}", step.name);
}
