//! The HPA of an object: kept, renamed, adopted, and never the HPA of another owner.

use kedge_tests::namespace::{TestNamespace, cron_open, deployment, scaled_object};
use serde_json::{Value, json};

use super::cluster;

/// An HPA that a user created for the Deployment `web`. It never scales in.
fn user_hpa(name: &str) -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": { "name": name, "labels": { "created-by": "user" } },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" }, "maxReplicas": 9,
            "behavior": { "scaleDown": { "selectPolicy": "Disabled" } },
            "metrics": [{ "type": "Resource", "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 50 } } }],
        },
    })
}

fn named(hpa: &str) -> Value {
    json!({ "minReplicaCount": 1, "advanced": { "horizontalPodAutoscalerConfig": { "name": hpa, "behavior": null } } })
}

#[tokio::test]
async fn an_hpa_that_the_spec_names_is_adopted_and_replaced() {
    let namespace = TestNamespace::create(cluster().await, "adopt");
    namespace.apply([deployment("web", 5), user_hpa("mine"), scaled_object("web", [cron_open(2)], named("mine"))]);
    namespace
        .until("the operator has replaced it", json!(100), |namespace| {
            namespace.get("hpa", "mine")["spec"]["maxReplicas"].clone()
        })
        .await;
    let hpa = namespace.get("hpa", "mine");
    assert_eq!(hpa["metadata"]["ownerReferences"][0]["name"], "web");
    assert_eq!(hpa["spec"].get("behavior"), None, "nothing of the old behavior is left");
    assert_eq!(hpa["spec"]["metrics"].as_array().map(Vec::len), Some(1));
    assert_eq!(hpa["spec"]["metrics"][0]["type"], "External");
}

#[tokio::test]
async fn an_hpa_of_another_owner_is_not_changed() {
    let namespace = TestNamespace::create(cluster().await, "foreign");
    let hpa = user_hpa("keda-hpa-web");
    namespace.apply([deployment("web", 1), hpa, scaled_object("web", [cron_open(2)], json!({}))]);
    namespace
        .until("the condition is set", ("False".into(), "ScaledObjectCheckFailed".into()), |namespace| {
            namespace.condition("web", "Ready")
        })
        .await;
    let found = namespace.get("hpa", "keda-hpa-web");
    assert_eq!(
        (&found["spec"]["maxReplicas"], &found["metadata"]["labels"]),
        (&json!(9), &json!({ "created-by": "user" }))
    );
    namespace.events_with("ScaledObjectCheckFailed", &["advanced.horizontalPodAutoscalerConfig.name"]).await;
    namespace.kubectl(["delete", "hpa", "keda-hpa-web"]);
    namespace.until_replicas("web", 2).await;
}

#[tokio::test]
async fn drift_is_undone_and_names_can_change() {
    let namespace = TestNamespace::create(cluster().await, "drift");
    namespace.apply([deployment("web", 1), scaled_object("web", [cron_open(2)], json!({ "maxReplicaCount": 5 }))]);
    namespace.until_replicas("web", 2).await;
    namespace.kubectl(["patch", "hpa", "keda-hpa-web", "--type=merge", "--patch={\"spec\":{\"maxReplicas\":50}}"]);
    namespace
        .until("the maximum is back", json!(5), |namespace| {
            namespace.get("hpa", "keda-hpa-web")["spec"]["maxReplicas"].clone()
        })
        .await;
    namespace.kubectl(["delete", "hpa", "keda-hpa-web"]);
    namespace.until("it is created again", false, |namespace| namespace.get("hpa", "keda-hpa-web").is_null()).await;
    namespace.apply([scaled_object("web", [cron_open(2)], named("other"))]);
    namespace.until("the new one exists", false, |namespace| namespace.get("hpa", "other").is_null()).await;
    namespace.until("the old one is gone", true, |namespace| namespace.get("hpa", "keda-hpa-web").is_null()).await;
    namespace
        .until("the status has the new name", json!("other"), |namespace| {
            namespace.get("so", "web")["status"]["hpaName"].clone()
        })
        .await;
}

#[tokio::test]
async fn an_owned_hpa_that_the_status_does_not_name_is_deleted_too() {
    let namespace = TestNamespace::create(cluster().await, "stray");
    namespace.apply([deployment("web", 1), scaled_object("web", [cron_open(2)], json!({}))]);
    namespace.until_replicas("web", 2).await;
    // As if the operator was killed between the creation of the HPA and the status write with its name.
    let leave_stray = || {
        let mut stray = user_hpa("stray");
        let uid = namespace.get("so", "web")["metadata"]["uid"].clone();
        stray["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web", "uid": uid, "controller": true,
        }]);
        namespace.apply([stray]);
    };
    let hpas = |namespace: &TestNamespace<'_>| {
        namespace.kubectl(["get", "hpa", "--output=jsonpath={.items[*].metadata.name}"])
    };
    leave_stray();
    namespace.kubectl(["annotate", "so", "web", "autoscaling.keda.sh/paused=true"]);
    namespace.until("a pause leaves none", String::new(), hpas).await;
    namespace.kubectl(["annotate", "so", "web", "autoscaling.keda.sh/paused-"]);
    namespace.until("there is one again", "keda-hpa-web".to_owned(), hpas).await;
    leave_stray();
    namespace.apply([scaled_object("web", [cron_open(2)], named("other"))]);
    namespace.until("a new name leaves one", "other".to_owned(), hpas).await;
}
