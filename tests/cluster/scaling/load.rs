//! Many objects: quick to come, and silent once nothing changes.

use std::time::{Duration, Instant};

use kedge_test_cluster::operator::IDENTITY;
use kedge_test_cluster::wait::wait_for;
use kedge_tests::exposition::Exposition;
use kedge_tests::story::{Story, cron_closed, cron_open, deployment, prometheus, scaled_object};
use serde_json::{Value, json};

use super::cluster;

/// The writes of the operator in a namespace, from the API server's own log.
pub(super) fn writes(story: &Story<'_>) -> Vec<String> {
    let log = std::fs::read_to_string(story.cluster.audit_log()).unwrap();
    let lines = log.lines().filter(|line| line.contains(IDENTITY) && line.contains(&story.namespace));
    let of = |line: &str| -> Option<String> {
        let entry: Value = serde_json::from_str(line).ok()?;
        let verb = entry["verb"].as_str()?;
        let (place, user) = (&entry["objectRef"]["namespace"], &entry["user"]["username"]);
        let ours = place == story.namespace.as_str() && user == IDENTITY;
        (ours && !matches!(verb, "get" | "list" | "watch")).then(|| format!("{verb} {}", entry["requestURI"]))
    };
    lines.filter_map(of).collect()
}

#[tokio::test]
async fn fifty_settled_objects_cause_no_write() {
    let story = Story::begin(cluster().await, "silence");
    let source = Exposition::start().await.unwrap();
    source.set("load", 15.0);
    let server = kedge_test_cluster::Prometheus::start("silence-prometheus", &[source.address()]).await.unwrap();
    let cases: Vec<(String, Value, Value)> = (0..50)
        .map(|index| {
            let name = format!("web-{index}");
            let (trigger, spec) = match index % 5 {
                0 => (prometheus(&server.url(), "load", 10), json!({ "maxReplicaCount": 2, "minReplicaCount": 2 })),
                1 => (cron_open(2), json!({})),
                2 => (cron_closed(2), json!({})),
                3 => (cron_closed(2), json!({ "initialCooldownPeriod": 3600 })),
                _ => (prometheus("http://127.0.0.1:9", "up", 1), json!({})),
            };
            (name, trigger, spec)
        })
        .collect();
    story.apply(
        cases.iter().flat_map(|(name, trigger, spec)| {
            [deployment(name, 1), scaled_object(name, [trigger.clone()], spec.clone())]
        }),
    );
    wait_for("every object has settled", Duration::from_secs(120), async || {
        let before = writes(&story).len();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let after = writes(&story);
        if before == after.len() && before >= 100 { Ok(()) } else { Err((before, after.len())) }
    })
    .await
    .unwrap();

    let before = writes(&story);
    let began = Instant::now();
    let mut value = 11.0;
    while began.elapsed() < Duration::from_secs(60) {
        // Active values that change all the time, within what two replicas bear.
        value = if value > 18.0 { 11.0 } else { value + 1.0 };
        source.set("load", value);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let new: Vec<String> = writes(&story).split_off(before.len());
    assert_eq!(new, Vec::<String>::new());
    story.kubectl(["delete", "so", "--all", "--wait=false"]);
}

#[tokio::test]
async fn two_hundred_objects_have_their_hpas_within_ten_seconds() {
    let story = Story::begin(cluster().await, "crowd");
    let names: Vec<String> = (0..200).map(|index| format!("web-{index}")).collect();
    story.apply(names.iter().map(|name| deployment(name, 1)));
    let began = Instant::now();
    let spec = json!({ "minReplicaCount": 1, "pollingInterval": 30 });
    story.apply(names.iter().map(|name| scaled_object(name, [cron_open(1)], spec.clone())));
    let applied = began.elapsed();
    let count = || story.kubectl(["get", "hpa", "--output=name"]).lines().count();
    wait_for("all HPAs are there", Duration::from_secs(30), async || match count() {
        200 => Ok(()),
        some => Err(some),
    })
    .await
    .unwrap();
    let took = began.elapsed();
    println!("applied in {applied:?}; 200 HPAs {took:?} after the first was sent");
    assert!(took - applied < Duration::from_secs(10), "{:?} after the last was applied", took - applied);
    story.kubectl(["delete", "so", "--all", "--wait=false"]);
}
