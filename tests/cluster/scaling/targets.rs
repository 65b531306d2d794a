//! Targets of other kinds: whatever has a scale.

use kedge_tests::story::{Story, cron_closed, cron_open, deployment, scaled_object, workload};
use serde_json::json;

use super::cluster;

#[tokio::test]
async fn a_stateful_set_is_scaled() {
    let story = Story::begin(cluster().await, "stateful");
    let target = json!({ "scaleTargetRef": { "name": "db", "kind": "StatefulSet" } });
    story.apply([workload("StatefulSet", "db", 0), scaled_object("db", [cron_open(3)], target.clone())]);
    story.until("it has 3 replicas", Some(3), |story| story.replicas("statefulset", "db")).await;
    story.apply([scaled_object("db", [cron_closed(3)], target)]);
    story.until("it sleeps", Some(0), |story| story.replicas("statefulset", "db")).await;
}

#[tokio::test]
async fn a_custom_resource_is_scaled() {
    let story = Story::begin(cluster().await, "custom");
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let replicas = json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" });
    let kind = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "fleets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "fleets", "kind": "Fleet" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {}, "scale": replicas } }],
        },
    });
    story.cluster.apply(&kind).unwrap();
    story.kubectl(["wait", "--for=condition=Established", "crd/fleets.example.com"]);
    let fleet = json!({ "apiVersion": "example.com/v1", "kind": "Fleet", "metadata": { "name": "ships" }, "spec": { "replicas": 2 } });
    let target = json!({ "scaleTargetRef": { "apiVersion": "example.com/v1", "kind": "Fleet", "name": "ships" } });
    story.apply([fleet, scaled_object("ships", [cron_closed(3)], target.clone())]);
    story.until("it sleeps", Some(0), |story| story.replicas("fleet", "ships")).await;
    story.apply([scaled_object("ships", [cron_open(3)], target)]);
    story.until("it wakes", Some(1), |story| story.replicas("fleet", "ships")).await;
    assert_eq!(story.get("so", "ships")["status"]["scaleTargetKind"], "example.com/v1.Fleet");
}

#[tokio::test]
async fn a_target_that_comes_later_is_found() {
    let story = Story::begin(cluster().await, "later");
    story.apply([scaled_object("web", [cron_open(2)], json!({}))]);
    story
        .until("it says so", ("False".into(), "ScaledObjectCheckFailed".into()), |story| {
            story.condition("web", "Ready")
        })
        .await;
    let told = story.events("ScaledObjectCheckFailed");
    assert!(told.iter().any(|note| note.contains("target resource doesn't exist")), "{told:?}");
    story.apply([deployment("web", 0)]);
    story.until_replicas("web", 2).await;
    story
        .until("all is well", ("True".into(), "ScaledObjectReady".into()), |story| story.condition("web", "Ready"))
        .await;
}
