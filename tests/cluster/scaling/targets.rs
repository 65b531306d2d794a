//! Targets of other kinds: anything with a scale subresource.

use kedge_tests::namespace::{TestNamespace, cron_closed, cron_open, deployment, scaled_object, workload};
use serde_json::json;

use super::cluster;

#[tokio::test]
async fn a_stateful_set_is_scaled() {
    let namespace = TestNamespace::create(cluster().await, "stateful");
    let target = json!({ "scaleTargetRef": { "name": "db", "kind": "StatefulSet" } });
    namespace.apply([workload("StatefulSet", "db", 0), scaled_object("db", [cron_open(3)], target.clone())]);
    namespace.until("it has 3 replicas", Some(3), |namespace| namespace.replicas("statefulset", "db")).await;
    namespace.apply([scaled_object("db", [cron_closed(3)], target)]);
    namespace.until("it is scaled to zero", Some(0), |namespace| namespace.replicas("statefulset", "db")).await;
}

#[tokio::test]
async fn a_custom_resource_is_scaled() {
    let namespace = TestNamespace::create(cluster().await, "custom");
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let replicas = json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" });
    let kind = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "fleets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "fleets", "kind": "Fleet" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {}, "scale": replicas } }],
        },
    });
    namespace.cluster.apply(&kind).unwrap();
    namespace.kubectl(["wait", "--for=condition=Established", "crd/fleets.example.com"]);
    let fleet = json!({ "apiVersion": "example.com/v1", "kind": "Fleet", "metadata": { "name": "ships" }, "spec": { "replicas": 2 } });
    let target = json!({ "scaleTargetRef": { "apiVersion": "example.com/v1", "kind": "Fleet", "name": "ships" } });
    namespace.apply([fleet, scaled_object("ships", [cron_closed(3)], target.clone())]);
    namespace.until("it is scaled to zero", Some(0), |namespace| namespace.replicas("fleet", "ships")).await;
    namespace.apply([scaled_object("ships", [cron_open(3)], target)]);
    namespace.until("it is scaled from zero", Some(1), |namespace| namespace.replicas("fleet", "ships")).await;
    assert_eq!(namespace.get("so", "ships")["status"]["scaleTargetKind"], "example.com/v1.Fleet");
}

#[tokio::test]
async fn a_target_that_is_created_later_is_found() {
    let namespace = TestNamespace::create(cluster().await, "later");
    namespace.apply([scaled_object("web", [cron_open(2)], json!({}))]);
    namespace
        .until("the condition is set", ("False".into(), "ScaledObjectCheckFailed".into()), |namespace| {
            namespace.condition("web", "Ready")
        })
        .await;
    namespace.events_with("ScaledObjectCheckFailed", &["target resource doesn't exist"]).await;
    namespace.apply([deployment("web", 0)]);
    namespace.until_replicas("web", 2).await;
    namespace
        .until("the object is ready", ("True".into(), "ScaledObjectReady".into()), |namespace| {
            namespace.condition("web", "Ready")
        })
        .await;
}
