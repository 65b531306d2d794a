//! Many objects: reconciled quickly, and without writes once nothing changes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use kedge_test_cluster::operator::IDENTITY;
use kedge_test_cluster::slowdown;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::connections::connections_to;
use kedge_tests::exposition::Exposition;
use kedge_tests::namespace::{TestNamespace, cron_closed, cron_open, deployment, prometheus, scaled_object};
use serde_json::{Value, json};

use super::{cluster, running};

/// The writes of the operator in a namespace, from the API server's own log.
pub(super) fn writes(namespace: &TestNamespace<'_>) -> Vec<String> {
    let log = namespace.audit_log();
    let lines = log.lines().filter(|line| line.contains(IDENTITY) && line.contains(&namespace.name));
    let write = |line: &str| -> Option<String> {
        let entry: Value = serde_json::from_str(line).ok()?;
        let verb = entry["verb"].as_str()?;
        let (place, user) = (&entry["objectRef"]["namespace"], &entry["user"]["username"]);
        let ours = place == namespace.name.as_str() && user == IDENTITY;
        (ours && !matches!(verb, "get" | "list" | "watch")).then(|| format!("{verb} {}", entry["requestURI"]))
    };
    lines.filter_map(write).collect()
}

/// For how long settled objects must cause no write: several polls and HPA syncs of each.
const SILENCE: Duration = Duration::from_secs(60);

/// A machine that stalls keeps sources from answering in time, and that is written: then a later minute must be silent.
const SILENCE_WITHIN: Duration = SILENCE.saturating_mul(4);

/// A group of objects that cause no writes once they have settled, and the events that each causes, once.
struct ObjectGroup {
    name: &'static str,
    trigger: Value,
    spec: Value,
    /// Annotations, one for each object of this group in turn.
    annotations: &'static [(&'static str, &'static str)],
    events: &'static [&'static str],
}

fn group(name: &'static str, trigger: Value, spec: Value, events: &'static [&'static str]) -> ObjectGroup {
    ObjectGroup { name, trigger, spec, annotations: &[], events }
}

/// A scrape may be late on a busy machine, and then the series is gone for a moment.
const LOAD: &str = "last_over_time(load[1m])";

fn groups(server: &str, guarded: &str) -> Vec<ObjectGroup> {
    let dead = || prometheus("http://127.0.0.1:9", "up", 1);
    let named = |mut trigger: Value| {
        trigger["name"] = json!("t");
        trigger
    };
    let signed = |reference: &str| {
        let mut trigger = prometheus(guarded, "guarded", 10);
        trigger["metadata"]["authModes"] = json!("bearer");
        trigger["authenticationRef"] = json!({ "name": reference });
        trigger
    };
    let two = json!({ "maxReplicaCount": 2, "minReplicaCount": 2 });
    let formula = |text: &str| json!({ "maxReplicaCount": 2, "minReplicaCount": 2, "advanced": { "scalingModifiers": { "formula": text, "target": "10" } } });
    let abacus = json!({ "type": "abacus", "metadata": { "beads": "7" } });
    let fallback = json!({ "fallback": { "failureThreshold": 2, "replicas": 2 } });
    vec![
        group("load", prometheus(server, LOAD, 10), two.clone(), &["ScaledObjectReady"]),
        group("open", cron_open(2), json!({}), &["ScaledObjectReady"]),
        group("closed", cron_closed(2), json!({}), &["ScaledObjectReady", "KEDAScaleTargetDeactivated"]),
        group("cooling", cron_closed(2), json!({ "initialCooldownPeriod": 3600 }), &["ScaledObjectReady"]),
        group("dead", dead(), json!({}), &["KEDAScalerFailed"]),
        group("fallen", dead(), fallback, &["KEDAScalerFailed", "ScaledObjectFallbackActivated"]),
        group("unbuilt", abacus, json!({}), &["KEDAScalerFailed", "ScaledObjectCheckFailed"]),
        group("formula", named(prometheus(server, LOAD, 10)), formula("t + 0"), &["ScaledObjectReady"]),
        group("no-formula", named(prometheus(server, LOAD, 10)), formula("(t - t) / 0"), &["KEDAMetricSourceFailed"]),
        group("signed", signed("there"), two, &["ScaledObjectReady"]),
        group("unsigned", signed("absent"), json!({}), &["KEDAScalerFailed", "ScaledObjectCheckFailed"]),
        ObjectGroup {
            annotations: &[
                ("paused", "true"),
                ("paused-replicas", "2"),
                ("paused-scale-in", "true"),
                ("paused-scale-out", "true"),
                ("force-activation", "true"),
            ],
            ..group("steered", cron_closed(2), json!({}), &[])
        },
    ]
}

/// The number of events of each object, by reason. A source that a busy machine keeps from answering in time is not counted, nor that its
/// object is ready again after that.
fn events_by_object(namespace: &TestNamespace<'_>) -> BTreeMap<(String, String), usize> {
    let all = namespace.list("event");
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut late: BTreeMap<String, usize> = BTreeMap::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for event in all["items"].as_array().into_iter().flatten() {
        let name = text(&event["regarding"]["name"]);
        match &event["regarding"]["kind"] {
            kind if kind != "ScaledObject" => {}
            _ if text(&event["note"]).contains("gave no answer within") => *late.entry(name).or_default() += 1,
            _ => *counts.entry((name, text(&event["reason"]))).or_default() += 1,
        }
    }
    for (name, times) in late {
        if let Some(ready) = counts.get_mut(&(name, "ScaledObjectReady".to_owned())) {
            *ready = ready.saturating_sub(times).max(1);
        }
    }
    counts
}

/// The HPAs that the HPA controller has not synced yet. Their conditions are mirrored into the status of their objects.
fn hpas_without_scaling_active(namespace: &TestNamespace<'_>) -> Vec<String> {
    let all = namespace.list("hpa");
    let is_synced = |hpa: &&Value| {
        let mut conditions = hpa["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|condition| condition["type"] == "ScalingActive")
    };
    let unsynced = all["items"].as_array().into_iter().flatten().filter(|hpa| !is_synced(hpa));
    unsynced.map(|hpa| hpa["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
}

/// All requests and watches of the operator share one connection. While one is replaced, there may be two.
async fn one_connection_to_the_api_server() {
    let (cluster, operator) = running().await;
    wait_for("one connection", DEADLINE, async || {
        let open = connections_to(operator.process_id().unwrap(), cluster.apiserver_port()).unwrap();
        if open == 1 { Ok(()) } else { Err(open) }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_settled_objects_cause_no_write() {
    let namespace = TestNamespace::create(cluster().await, "silence");
    let source = Exposition::start().await.unwrap();
    source.set("load", 15.0);
    let server = kedge_test_cluster::Prometheus::start("silence-prometheus", &[source.address()]).await.unwrap();
    let guarded = HttpSource::start().await.unwrap();
    guarded.set("guarded", SourceResponse::Value(15.0));
    guarded.protect("guarded", "Bearer t");
    let groups = groups(&server.url(), &guarded.url());
    namespace.apply([
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "there" }, "stringData": { "token": "t" } }),
        json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "there" },
            "spec": { "secretTargetRef": [{ "parameter": "bearerToken", "name": "there", "key": "token" }] },
        }),
    ]);
    let objects = |group: &ObjectGroup, index: usize| {
        let name = format!("{}-{index}", group.name);
        let mut object = scaled_object(&name, [group.trigger.clone()], group.spec.clone());
        if let Some((annotation, value)) = group.annotations.get(index) {
            object["metadata"]["annotations"] = json!({ format!("autoscaling.keda.sh/{annotation}"): value });
        }
        [deployment(&name, 1), object]
    };
    namespace.apply(groups.iter().flat_map(|group| (0..5).flat_map(move |index| objects(group, index))));
    wait_for("every object has settled", 2 * DEADLINE, async || {
        let before = writes(&namespace).len();
        tokio::time::sleep(slowdown::allowed(Duration::from_secs(5))).await;
        let after = writes(&namespace);
        let unsynced = hpas_without_scaling_active(&namespace);
        let is_settled = before == after.len() && before >= 120 && unsynced.is_empty();
        if is_settled { Ok(()) } else { Err((before, after.len(), unsynced)) }
    })
    .await
    .unwrap();

    let mut value = 11.0;
    let silence = wait_for("no write within a minute", SILENCE_WITHIN, async || {
        let (before, began) = (writes(&namespace).len(), Instant::now());
        while began.elapsed() < SILENCE {
            // Active values that change all the time, within the target of two replicas.
            value = if value > 18.0 { 11.0 } else { value + 1.0 };
            source.set("load", value);
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        let new = writes(&namespace).split_off(before);
        if new.is_empty() { Ok(()) } else { Err(new) }
    });
    silence.await.unwrap();
    one_connection_to_the_api_server().await;

    let events = events_by_object(&namespace);
    let repeated: Vec<_> =
        events.iter().filter(|((_, reason), count)| **count > 1 && reason != "KEDAScalersStarted").collect();
    assert!(repeated.is_empty(), "{repeated:?} in {}", namespace.list("event"));
    for group in &groups {
        for index in 0..5 {
            let name = format!("{}-{index}", group.name);
            let count = |reason: &str| events.get(&(name.clone(), reason.to_owned())).copied().unwrap_or(0);
            for reason in group.events {
                assert_eq!(count(reason), 1, "{reason} of {name}: {events:?}");
            }
        }
    }
    let health = namespace.get("so", "fallen-0")["status"]["health"]["s0-prometheus"].clone();
    assert_eq!(health, json!({ "numberOfFailures": 3, "status": "Failing" }), "one more than the threshold is enough");
    namespace.kubectl(["delete", "so", "--all", "--wait=false"]);
}

#[tokio::test]
async fn two_hundred_objects_have_their_hpas_within_ten_seconds() {
    let namespace = TestNamespace::create(cluster().await, "crowd");
    let names: Vec<String> = (0..200).map(|index| format!("web-{index}")).collect();
    namespace.apply(names.iter().map(|name| deployment(name, 1)));
    let began = Instant::now();
    let spec = json!({ "minReplicaCount": 1, "pollingInterval": 30 });
    namespace.apply(names.iter().map(|name| scaled_object(name, [cron_open(1)], spec.clone())));
    let applied = began.elapsed();
    let count = || namespace.list("hpa")["items"].as_array().map_or(0, Vec::len);
    wait_for("all HPAs are there", DEADLINE, async || match count() {
        200 => Ok(()),
        some => Err(some),
    })
    .await
    .unwrap();
    let took = began.elapsed();
    println!("applied in {applied:?}; 200 HPAs {took:?} after the first was sent");
    let allowed = slowdown::allowed(Duration::from_secs(10));
    assert!(took - applied < allowed, "{:?} after the last was applied; {allowed:?} are allowed", took - applied);
    namespace.kubectl(["delete", "so", "--all", "--wait=false"]);
}
