//! The HPA of an object: kept, renamed, adopted, and never somebody else's.

use kedge_tests::story::{Story, cron_open, deployment, scaled_object};
use serde_json::{Value, json};

use super::cluster;

/// An HPA made by hand for the Deployment `web`, which never scales in.
fn made_by_hand(name: &str) -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": { "name": name, "labels": { "made": "by-hand" } },
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
async fn an_hpa_that_the_spec_names_is_adopted_whole() {
    let story = Story::begin(cluster().await, "adopt");
    story.apply([deployment("web", 5), made_by_hand("mine"), scaled_object("web", [cron_open(2)], named("mine"))]);
    story.until("it is ours", json!(100), |story| story.get("hpa", "mine")["spec"]["maxReplicas"].clone()).await;
    let hpa = story.get("hpa", "mine");
    assert_eq!(hpa["metadata"]["ownerReferences"][0]["name"], "web");
    assert_eq!(hpa["spec"].get("behavior"), None, "nothing of the old behavior is left");
    assert_eq!(hpa["spec"]["metrics"].as_array().map(Vec::len), Some(1));
    assert_eq!(hpa["spec"]["metrics"][0]["type"], "External");
}

#[tokio::test]
async fn an_hpa_of_somebody_else_is_left_alone() {
    let story = Story::begin(cluster().await, "foreign");
    let hpa = made_by_hand("keda-hpa-web");
    story.apply([deployment("web", 1), hpa, scaled_object("web", [cron_open(2)], json!({}))]);
    story
        .until("it says so", ("False".into(), "ScaledObjectCheckFailed".into()), |story| {
            story.condition("web", "Ready")
        })
        .await;
    let found = story.get("hpa", "keda-hpa-web");
    assert_eq!(
        (&found["spec"]["maxReplicas"], &found["metadata"]["labels"]),
        (&json!(9), &json!({ "made": "by-hand" }))
    );
    let told = story.events("ScaledObjectCheckFailed");
    assert!(told.iter().any(|note| note.contains("advanced.horizontalPodAutoscalerConfig.name")), "{told:?}");
    story.kubectl(["delete", "hpa", "keda-hpa-web"]);
    story.until_replicas("web", 2).await;
}

#[tokio::test]
async fn drift_is_undone_and_names_can_change() {
    let story = Story::begin(cluster().await, "drift");
    story.apply([deployment("web", 1), scaled_object("web", [cron_open(2)], json!({ "maxReplicaCount": 5 }))]);
    story.until_replicas("web", 2).await;
    story.kubectl(["patch", "hpa", "keda-hpa-web", "--type=merge", "--patch={\"spec\":{\"maxReplicas\":50}}"]);
    story
        .until("the maximum is back", json!(5), |story| story.get("hpa", "keda-hpa-web")["spec"]["maxReplicas"].clone())
        .await;
    story.kubectl(["delete", "hpa", "keda-hpa-web"]);
    story.until("it is made again", false, |story| story.get("hpa", "keda-hpa-web").is_null()).await;
    story.apply([scaled_object("web", [cron_open(2)], named("other"))]);
    story.until("the new one is there", false, |story| story.get("hpa", "other").is_null()).await;
    story.until("the old one is gone", true, |story| story.get("hpa", "keda-hpa-web").is_null()).await;
    story
        .until("the status says so", json!("other"), |story| story.get("so", "web")["status"]["hpaName"].clone())
        .await;
}

#[tokio::test]
async fn an_hpa_of_ours_that_the_status_does_not_know_goes_too() {
    let story = Story::begin(cluster().await, "stray");
    story.apply([deployment("web", 1), scaled_object("web", [cron_open(2)], json!({}))]);
    story.until_replicas("web", 2).await;
    // As an operator leaves it that is killed after it made an HPA and before it wrote the name down.
    let leave_stray = || {
        let mut stray = made_by_hand("stray");
        let uid = story.get("so", "web")["metadata"]["uid"].clone();
        stray["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web", "uid": uid, "controller": true,
        }]);
        story.apply([stray]);
    };
    let hpas = |story: &Story<'_>| story.kubectl(["get", "hpa", "--output=jsonpath={.items[*].metadata.name}"]);
    leave_stray();
    story.kubectl(["annotate", "so", "web", "autoscaling.keda.sh/paused=true"]);
    story.until("a pause leaves none", String::new(), hpas).await;
    story.kubectl(["annotate", "so", "web", "autoscaling.keda.sh/paused-"]);
    story.until("there is one again", "keda-hpa-web".to_owned(), hpas).await;
    leave_stray();
    story.apply([scaled_object("web", [cron_open(2)], named("other"))]);
    story.until("a new name leaves one", "other".to_owned(), hpas).await;
}
