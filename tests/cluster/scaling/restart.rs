//! An operator that is killed and started again: nothing moves, nothing is written, and work is picked up where it was.

use std::time::{Duration, Instant};

use kedge_test_cluster::RunningOperator;
use kedge_tests::programs;
use kedge_tests::story::{Story, cron_closed, cron_open, deployment, scaled_object};
use serde_json::json;

use super::load::writes;

#[tokio::test]
async fn a_killed_operator_goes_on_where_it_was() {
    let cluster = super::start(super::quick("restart")).await;
    let operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    let story = Story::begin(&cluster, "restart");
    let cooling = json!({ "initialCooldownPeriod": 3600 });
    story.apply([deployment("awake", 0), scaled_object("awake", [cron_open(3)], json!({}))]);
    story.apply([deployment("asleep", 2), scaled_object("asleep", [cron_closed(3)], json!({}))]);
    story.apply([deployment("cooling", 1), scaled_object("cooling", [cron_closed(3)], cooling)]);
    story.until_replicas("awake", 3).await;
    story.until_replicas("asleep", 0).await;
    let settled = [("awake", "HPAActive"), ("cooling", "HPAActive"), ("asleep", "ScalingDisabled")];
    for (name, word) in settled {
        let wanted = ("True".to_owned(), word.to_owned());
        story.until("the HPA has settled", wanted, |story| story.condition(name, "HPAActive")).await;
    }
    assert_eq!(story.condition("cooling", "Active"), ("False".into(), "ScalerCooldown".into()));

    // Dropping it is kill -9.
    drop(operator);
    let before = writes(&story).len();
    let operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        // Each is looked at about ten times meanwhile.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let replicas = ["awake", "asleep", "cooling"].map(|name| story.replicas("deployment", name));
        assert_eq!(replicas, [Some(3), Some(0), Some(1)], "{}", operator.log());
    }
    // While it was away two HPAs could not read their metrics, said so, and then said that they can again. That is told in the
    // conditions; nothing else is worth a write.
    let told = |write: &String| {
        let awake = write.contains("/scaledobjects/awake/status") || write.contains("/scaledobjects/cooling/status");
        write.starts_with("patch") && awake
    };
    let written = writes(&story).split_off(before);
    assert!(written.len() <= 4 && written.iter().all(told), "{written:?}");

    // While nobody looks, somebody changes things; the next operator finds out.
    drop(operator);
    story.kubectl(["delete", "hpa", "keda-hpa-awake"]);
    story.kubectl(["scale", "deployment", "asleep", "--replicas=1"]);
    story.apply([scaled_object("cooling", [cron_open(4)], json!({}))]);
    let _operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    story.until_replicas("asleep", 0).await;
    story.until_replicas("cooling", 4).await;
    story.until("the HPA is made again", false, |story| story.get("hpa", "keda-hpa-awake").is_null()).await;
}

#[tokio::test]
async fn an_operator_that_is_asked_to_stop_writes_down_when_objects_were_last_active() {
    let cluster = super::start(super::quick("stop")).await;
    let operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    let story = Story::begin(&cluster, "stop");
    story.apply([deployment("awake", 0), scaled_object("awake", [cron_open(1)], json!({}))]);
    story.apply([deployment("asleep", 0), scaled_object("asleep", [cron_closed(1)], json!({}))]);
    let is = |name: &'static str, status: &str, reason: &str| {
        let wanted = (status.to_owned(), reason.to_owned());
        story.until(name, wanted, move |story| story.condition(name, "Active"))
    };
    is("awake", "True", "ScalerActive").await;
    is("asleep", "False", "ScalerNotActive").await;
    let last = |name: &str| story.get("so", name)["status"]["lastActiveTime"].clone();
    let began = last("awake");
    // Times are written in whole seconds.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(last("awake"), began, "while it is active nothing is written");
    operator.terminate().await.unwrap();
    assert!(last("awake").as_str() > began.as_str(), "{} is not after {began}", last("awake"));
    assert!(last("asleep").is_null());
}

#[tokio::test]
async fn what_a_target_had_is_written_down_before_it_is_scaled() {
    let story = Story::begin(super::cluster().await, "original");
    story.apply([deployment("web", 4), scaled_object("web", [cron_closed(1)], json!({}))]);
    story.until_replicas("web", 0).await;
    // A process that is killed between the two must not take its own number for what was there.
    let written = writes(&story);
    let first = |part: &str| written.iter().position(|write| write.contains(part));
    let (noted, scaled) = (first("/scaledobjects/web/status"), first("/deployments/web/scale"));
    assert!(noted.is_some() && scaled.is_some() && noted < scaled, "{written:?}");
    assert_eq!(story.get("so", "web")["status"]["originalReplicaCount"], 4);
}
