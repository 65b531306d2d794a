//! Mistakes: each is named, with its remedy, and nothing else stops for it.

use kedge_tests::story::{Story, cron_closed, cron_open, deployment, prometheus, scaled_object};
use serde_json::json;

use super::cluster;

fn failed() -> (String, String) {
    ("False".into(), "ScaledObjectCheckFailed".into())
}

#[tokio::test]
async fn a_wrong_trigger_is_named_and_the_others_go_on() {
    let story = Story::begin(cluster().await, "wrong");
    let abacus = json!({ "type": "abacus", "metadata": { "beads": "7" } });
    story.apply([deployment("web", 0), scaled_object("web", [abacus, cron_open(2)], json!({}))]);
    story.until_replicas("web", 2).await;
    story.until("it says so", failed(), |story| story.condition("web", "Ready")).await;
    let told = story.events("ScaledObjectCheckFailed").join(" ");
    for part in ["trigger 0 (abacus)", "no scaler found for type: abacus", "cron"] {
        assert!(told.contains(part), "{told}");
    }
}

#[tokio::test]
async fn wrong_parameters_are_all_named_at_once() {
    let story = Story::begin(cluster().await, "parameters");
    let cron = json!({ "type": "cron", "metadata": { "timezone": "Mars/Olympus", "start": "0 8 * * 7", "end": "0 18 * * *" } });
    story.apply([deployment("web", 2), scaled_object("web", [cron], json!({}))]);
    story.until("it says so", failed(), |story| story.condition("web", "Ready")).await;
    let told = story.events("ScaledObjectCheckFailed").join(" ");
    for part in ["`timezone`", "`start`", "`desiredReplicas`"] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(story.replicas("deployment", "web"), Some(2), "nothing is scaled on what is not known");
}

#[tokio::test]
async fn two_objects_on_one_target_leave_it_to_the_first() {
    let story = Story::begin(cluster().await, "rivals");
    story.apply([deployment("web", 1), scaled_object("web", [cron_open(2)], json!({}))]);
    story.until_replicas("web", 2).await;
    story.apply([scaled_object("zweit", [cron_closed(5)], json!({ "scaleTargetRef": { "name": "web" } }))]);
    story.until("it says so", failed(), |story| story.condition("zweit", "Ready")).await;
    let told = story.events("ScaledObjectCheckFailed").join(" ");
    assert!(told.contains("already managed by the ScaledObject 'web'"), "{told}");
    assert!(story.get("hpa", "keda-hpa-zweit").is_null());
    assert_eq!(story.condition("web", "Ready"), ("True".into(), "ScaledObjectReady".into()));
}

#[tokio::test]
async fn a_source_that_does_not_answer_holds_the_replicas() {
    let story = Story::begin(cluster().await, "unreachable");
    let trigger = || prometheus("http://127.0.0.1:9", "up", 1);
    story.apply([deployment("held", 3), scaled_object("held", [trigger()], json!({ "cooldownPeriod": 0 }))]);
    story.until("it says so", ("False".into(), "TriggerError".into()), |story| story.condition("held", "Ready")).await;
    let told = story.events("KEDAScalerFailed");
    assert!(told.len() == 1 && told[0].contains("cannot be reached"), "{told:?}");
    assert_eq!(story.replicas("deployment", "held"), Some(3));

    let fallback = json!({ "fallback": { "failureThreshold": 1, "replicas": 4 } });
    story.apply([deployment("fallen", 0), scaled_object("fallen", [trigger()], fallback)]);
    story.until_replicas("fallen", 4).await;
    story
        .until("it says so", ("True".into(), "FallbackExists".into()), |story| story.condition("fallen", "Fallback"))
        .await;
}

#[tokio::test]
async fn a_scaled_job_is_told_that_it_is_not_run() {
    let story = Story::begin(cluster().await, "job");
    let template = json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "main" }] } });
    story.apply([json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": { "name": "nightly" },
        "spec": { "jobTargetRef": { "template": template }, "triggers": [cron_open(1)] },
    })]);
    let ready = |story: &Story<'_>| story.get("scaledjob", "nightly")["status"]["conditions"][0].clone();
    story.until("it is told", json!("ScaledJobCheckFailed"), |story| ready(story)["reason"].clone()).await;
    assert!(ready(&story)["message"].as_str().unwrap().contains("keep KEDA for them"));
}
