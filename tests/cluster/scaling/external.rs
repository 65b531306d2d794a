//! External scalers on a real cluster: servers of the user's own, in processes of their own.

#[path = "external/push.rs"]
mod push;
#[path = "external/unruly.rs"]
mod unruly;

use std::time::SystemTime;

use chrono::{DateTime, Utc};
use kedge_tests::external::{ExampleScaler, external};
use kedge_tests::programs;
use kedge_tests::story::{Story, deployment, scaled_object};
use kedge_tests::unruly::{Manners, Unruly};
use serde_json::{Value, json};

use super::cluster;

/// When the scale of a Deployment was written, by anybody, from the API server's own log.
fn scale_writes(story: &Story<'_>, name: &str) -> Vec<SystemTime> {
    let log = std::fs::read_to_string(story.cluster.audit_log()).unwrap();
    let place = format!("/namespaces/{}/deployments/{name}/scale", story.namespace);
    let of = |line: &str| -> Option<SystemTime> {
        let entry: Value = serde_json::from_str(line).ok()?;
        let is_write = matches!(entry["verb"].as_str(), Some("update" | "patch"));
        let is_done = is_write && entry["responseStatus"]["code"] == 200;
        let at: DateTime<Utc> = entry["stageTimestamp"].as_str()?.parse().ok()?;
        is_done.then(|| at.into())
    };
    log.lines().filter(|line| line.contains(&place)).filter_map(of).collect()
}

/// How often the spec of an object was changed.
fn generation(story: &Story<'_>, name: &str) -> Value {
    story.get("so", name)["metadata"]["generation"].clone()
}

#[tokio::test]
async fn a_scaler_of_ones_own_wakes_scales_and_puts_to_sleep() {
    let mut scaler = ExampleScaler::plain(programs::rust_scaler()).unwrap();
    scaler.start().await.unwrap();
    let story = Story::begin(cluster().await, "external");
    let trigger = external(&scaler.address(), json!({ "targetLength": "5", "activationLength": "2" }));
    story.apply([deployment("web", 2), scaled_object("web", [trigger], json!({}))]);

    story.until_replicas("web", 0).await;
    scaler.set("3");
    story.until_replicas("web", 1).await;
    scaler.set("18");
    story.until_replicas("web", 4).await;
    let hpa = story.get("hpa", "keda-hpa-web");
    assert_eq!(hpa["spec"]["metrics"][0]["external"]["target"]["averageValue"], "5", "the scaler knows the metadata");
    assert_eq!(story.get("so", "web")["status"]["externalMetricNames"], json!(["s0-queue-length"]));

    scaler.lose_queue();
    story.until("it says so", ("False".into(), "TriggerError".into()), |story| story.condition("web", "Ready")).await;
    let told = story.events("KEDAScalerFailed").join(" ");
    assert!(told.contains("UNAVAILABLE: cannot read the queue"), "{told}");
    assert_eq!(story.replicas("deployment", "web"), Some(4), "an unknown queue is not an empty one");

    scaler.set("3");
    story.until_replicas("web", 1).await;
    // Not empty, and not above `activationLength`.
    scaler.set("2");
    story.until_replicas("web", 0).await;
    assert_eq!(story.condition("web", "Ready"), ("True".into(), "ScaledObjectReady".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scaler_is_told_the_metadata_with_variables_of_the_target() {
    let scaler = Unruly::start(Manners::good(25.0)).await.unwrap();
    let story = Story::begin(cluster().await, "metadata");
    let mut web = deployment("web", 1);
    web["spec"]["template"]["spec"]["containers"][0]["env"] = json!([
        { "name": "QUEUE", "valueFrom": { "configMapKeyRef": { "name": "settings", "key": "queue" } } },
        { "name": "EMPTY", "value": "" },
    ]);
    let settings = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "queue": "orders" } });
    let metadata = json!({ "colour": "blue", "queueFromEnv": "QUEUE", "emptyFromEnv": "EMPTY" });
    story.apply([settings, web]);
    story.apply([scaled_object("web", [external(&scaler.address(), metadata)], json!({}))]);
    story.until_replicas("web", 3).await;
    let address = scaler.address();
    let expected = [("colour", "blue"), ("queueFromEnv", "orders"), ("scalerAddress", address.as_str())];
    assert_eq!(scaler.metadata(), expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
}
