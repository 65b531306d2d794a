//! Fallback: what counts in place of a source that keeps failing.

use kedge_tests::story::{Story, deployment, prometheus, scaled_object};
use serde_json::{Value, json};

use super::cluster;

/// A trigger whose source does not answer.
fn dead() -> Value {
    prometheus("http://127.0.0.1:9", "up", 10)
}

#[tokio::test]
async fn a_value_metric_falls_back_by_its_ready_pods() {
    let story = Story::begin(cluster().await, "value");
    let mut trigger = dead();
    trigger["metricType"] = json!("Value");
    let fallback = json!({ "fallback": { "failureThreshold": 1, "replicas": 4 } });
    story.apply([deployment("web", 2), scaled_object("web", [trigger], fallback)]);
    let ready = |story: &Story<'_>| story.get("deployment", "web")["status"]["readyReplicas"].as_i64();
    story.until_replicas("web", 4).await;
    story.until("all pods are ready", Some(4), ready).await;
    // The HPA multiplies by the ready pods, so that a value for two of them would mean eight now.
    let hpa = |story: &Story<'_>| story.get("hpa", "keda-hpa-web")["status"]["desiredReplicas"].as_i64();
    story.until("the HPA agrees", Some(4), hpa).await;
    assert_eq!(story.replicas("deployment", "web"), Some(4));
}

#[tokio::test]
async fn a_trigger_that_cannot_be_built_falls_back_too() {
    let story = Story::begin(cluster().await, "unbuilt");
    let abacus = json!({ "type": "abacus", "metadata": { "beads": "7" } });
    let fallback = json!({ "fallback": { "failureThreshold": 2, "replicas": 3 } });
    story.apply([deployment("web", 0), scaled_object("web", [abacus], fallback)]);
    story.until_replicas("web", 3).await;
    let word = ("True".to_owned(), "FallbackExists".to_owned());
    story.until("it says so", word, |story| story.condition("web", "Fallback")).await;
    let health = story.get("so", "web")["status"]["health"]["s0-abacus"].clone();
    assert_eq!(health, json!({ "numberOfFailures": 3, "status": "Failing" }));
    assert_eq!(story.condition("web", "Ready").0, "False");
}
