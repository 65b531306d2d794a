//! Invalid objects: each error is reported with its remedy, and other triggers and objects continue.

use kedge_tests::namespace::{TestNamespace, cron_closed, cron_open, deployment, prometheus, scaled_object};
use serde_json::json;

use super::cluster;

fn failed() -> (String, String) {
    ("False".into(), "ScaledObjectCheckFailed".into())
}

#[tokio::test]
async fn an_invalid_trigger_is_reported_and_the_others_continue() {
    let namespace = TestNamespace::create(cluster().await, "wrong");
    let abacus = json!({ "type": "abacus", "metadata": { "beads": "7" } });
    namespace.apply([deployment("web", 0), scaled_object("web", [abacus, cron_open(2)], json!({}))]);
    namespace.until_replicas("web", 2).await;
    namespace.until("the condition is set", failed(), |namespace| namespace.condition("web", "Ready")).await;
    let parts = ["trigger 0 (abacus)", "no scaler found for type: abacus", "cron"];
    namespace.events_with("ScaledObjectCheckFailed", &parts).await;
}

#[tokio::test]
async fn all_invalid_parameters_are_reported_at_once() {
    let namespace = TestNamespace::create(cluster().await, "parameters");
    let cron = json!({ "type": "cron", "metadata": { "timezone": "Mars/Olympus", "start": "0 8 * * 7", "end": "0 18 * * *" } });
    namespace.apply([deployment("web", 2), scaled_object("web", [cron], json!({}))]);
    namespace.until("the condition is set", failed(), |namespace| namespace.condition("web", "Ready")).await;
    namespace.events_with("ScaledObjectCheckFailed", &["`timezone`", "`start`", "`desiredReplicas`"]).await;
    assert_eq!(namespace.replicas("deployment", "web"), Some(2), "an invalid trigger scales nothing");
}

#[tokio::test]
async fn of_two_objects_with_one_target_only_the_first_scales_it() {
    let namespace = TestNamespace::create(cluster().await, "rivals");
    namespace.apply([deployment("web", 1), scaled_object("web", [cron_open(2)], json!({}))]);
    namespace.until_replicas("web", 2).await;
    namespace.apply([scaled_object("zweit", [cron_closed(5)], json!({ "scaleTargetRef": { "name": "web" } }))]);
    namespace.until("the condition is set", failed(), |namespace| namespace.condition("zweit", "Ready")).await;
    namespace.events_with("ScaledObjectCheckFailed", &["already managed by the ScaledObject 'web'"]).await;
    assert!(namespace.get("hpa", "keda-hpa-zweit").is_null());
    assert_eq!(namespace.condition("web", "Ready"), ("True".into(), "ScaledObjectReady".into()));
}

#[tokio::test]
async fn a_source_that_does_not_answer_holds_the_replicas() {
    let namespace = TestNamespace::create(cluster().await, "unreachable");
    let trigger = || prometheus("http://127.0.0.1:9", "up", 1);
    namespace.apply([deployment("held", 3), scaled_object("held", [trigger()], json!({ "cooldownPeriod": 0 }))]);
    namespace
        .until("the condition is set", ("False".into(), "TriggerError".into()), |namespace| {
            namespace.condition("held", "Ready")
        })
        .await;
    let events = namespace.events_with("KEDAScalerFailed", &["cannot be reached"]).await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(namespace.replicas("deployment", "held"), Some(3));

    let fallback = json!({ "fallback": { "failureThreshold": 1, "replicas": 4 } });
    namespace.apply([deployment("fallen", 0), scaled_object("fallen", [trigger()], fallback)]);
    namespace.until_replicas("fallen", 4).await;
    namespace
        .until("the condition is set", ("True".into(), "FallbackExists".into()), |namespace| {
            namespace.condition("fallen", "Fallback")
        })
        .await;
}

#[tokio::test]
async fn a_scaled_job_has_a_condition_that_it_is_not_run() {
    let namespace = TestNamespace::create(cluster().await, "job");
    let template = json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "main" }] } });
    namespace.apply([json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": { "name": "nightly" },
        "spec": { "jobTargetRef": { "template": template }, "triggers": [cron_open(1)] },
    })]);
    let ready =
        |namespace: &TestNamespace<'_>| namespace.get("scaledjob", "nightly")["status"]["conditions"][0].clone();
    namespace
        .until("the condition is set", json!("ScaledJobCheckFailed"), |namespace| ready(namespace)["reason"].clone())
        .await;
    assert!(ready(&namespace)["message"].as_str().unwrap().contains("keep KEDA for them"));
}
