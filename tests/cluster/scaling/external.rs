//! External scalers on a real cluster: servers that users write, each in its own process.

#[path = "external/faulty.rs"]
mod faulty;
#[path = "external/push.rs"]
pub(super) mod push;

use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use kedge_test_cluster::example_scaler::ExampleScaler;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::external::external;
use kedge_tests::faulty_scaler::{Behaviour, FaultyScaler};
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use kedge_tests::programs;
use serde_json::{Value, json};

use super::cluster;

/// When the scale of a Deployment was written, by any client, from the API server's own log.
fn scale_writes(namespace: &TestNamespace<'_>, name: &str) -> Vec<SystemTime> {
    let log = namespace.audit_log();
    let place = format!("/namespaces/{}/deployments/{name}/scale", namespace.name);
    let written_at = |line: &str| -> Option<SystemTime> {
        let entry: Value = serde_json::from_str(line).ok()?;
        let is_write = matches!(entry["verb"].as_str(), Some("update" | "patch"));
        let is_done = is_write && entry["responseStatus"]["code"] == 200;
        let at: DateTime<Utc> = entry["stageTimestamp"].as_str()?.parse().ok()?;
        is_done.then(|| at.into())
    };
    log.lines().filter(|line| line.contains(&place)).filter_map(written_at).collect()
}

/// Waits for the first scale write since an instant; returns how long after it that was.
pub(super) async fn scaled_after(namespace: &TestNamespace<'_>, name: &str, since: SystemTime) -> Duration {
    let scaled_at = wait_for(name, DEADLINE, async || {
        scale_writes(namespace, name).into_iter().find(|at| *at >= since).ok_or("not scaled yet")
    });
    scaled_at.await.unwrap().duration_since(since).unwrap()
}

/// How often the spec of an object was changed.
fn generation(namespace: &TestNamespace<'_>, name: &str) -> Value {
    namespace.get("so", name)["metadata"]["generation"].clone()
}

#[tokio::test]
async fn an_external_scaler_scales_from_zero_and_back() {
    let mut scaler = ExampleScaler::plain(programs::rust_scaler()).unwrap();
    scaler.start().await.unwrap();
    let namespace = TestNamespace::create(cluster().await, "external");
    let trigger = external(&scaler.address(), json!({ "targetLength": "5", "activationLength": "2" }));
    namespace.apply([deployment("web", 2), scaled_object("web", [trigger], json!({}))]);

    namespace.until_replicas("web", 0).await;
    scaler.set("3");
    namespace.until_replicas("web", 1).await;
    scaler.set("18");
    namespace.until_replicas("web", 4).await;
    let hpa = namespace.get("hpa", "keda-hpa-web");
    assert_eq!(hpa["spec"]["metrics"][0]["external"]["target"]["averageValue"], "5", "the scaler has the metadata");
    assert_eq!(namespace.get("so", "web")["status"]["externalMetricNames"], json!(["s0-queue-length"]));

    scaler.remove_queue();
    namespace
        .until("the condition is set", ("False".into(), "TriggerError".into()), |namespace| {
            namespace.condition("web", "Ready")
        })
        .await;
    namespace.events_with("KEDAScalerFailed", &["UNAVAILABLE: cannot read the queue"]).await;
    assert_eq!(namespace.replicas("deployment", "web"), Some(4), "an unknown queue is not an empty one");

    scaler.set("3");
    namespace.until_replicas("web", 1).await;
    // Not empty, and not above `activationLength`.
    scaler.set("2");
    namespace.until_replicas("web", 0).await;
    assert_eq!(namespace.condition("web", "Ready"), ("True".into(), "ScaledObjectReady".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scaler_gets_the_metadata_with_variables_of_the_target() {
    let scaler = FaultyScaler::start(Behaviour::good(25.0)).await.unwrap();
    let namespace = TestNamespace::create(cluster().await, "metadata");
    let mut web = deployment("web", 1);
    web["spec"]["template"]["spec"]["containers"][0]["env"] = json!([
        { "name": "QUEUE", "valueFrom": { "configMapKeyRef": { "name": "settings", "key": "queue" } } },
        { "name": "EMPTY", "value": "" },
    ]);
    let settings = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "queue": "orders" } });
    let metadata = json!({ "colour": "blue", "queueFromEnv": "QUEUE", "emptyFromEnv": "EMPTY" });
    namespace.apply([settings, web]);
    namespace.apply([scaled_object("web", [external(&scaler.address(), metadata)], json!({}))]);
    namespace.until_replicas("web", 3).await;
    let address = scaler.address();
    let expected = [("colour", "blue"), ("queueFromEnv", "orders"), ("scalerAddress", address.as_str())];
    assert_eq!(scaler.metadata(), expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
}
