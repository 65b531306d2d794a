//! An operator that is killed and started again: nothing moves, nothing is written, and work is picked up where it was.

use std::time::{Duration, Instant};

use kedge_test_cluster::RunningOperator;
use kedge_tests::namespace::{TestNamespace, cron_closed, cron_open, deployment, scaled_object};
use kedge_tests::programs;
use serde_json::json;

use super::load::writes;

#[tokio::test]
async fn a_killed_operator_goes_on_where_it_was() {
    let cluster = super::start(super::quick("restart")).await;
    let operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    let namespace = TestNamespace::create(&cluster, "restart");
    let cooling = json!({ "initialCooldownPeriod": 3600 });
    namespace.apply([deployment("awake", 0), scaled_object("awake", [cron_open(3)], json!({}))]);
    namespace.apply([deployment("asleep", 2), scaled_object("asleep", [cron_closed(3)], json!({}))]);
    namespace.apply([deployment("cooling", 1), scaled_object("cooling", [cron_closed(3)], cooling)]);
    namespace.until_replicas("awake", 3).await;
    namespace.until_replicas("asleep", 0).await;
    let settled = [("awake", "HPAActive"), ("cooling", "HPAActive"), ("asleep", "ScalingDisabled")];
    for (name, word) in settled {
        let wanted = ("True".to_owned(), word.to_owned());
        namespace.until("the HPA has settled", wanted, |namespace| namespace.condition(name, "HPAActive")).await;
    }
    assert_eq!(namespace.condition("cooling", "Active"), ("False".into(), "ScalerCooldown".into()));

    // Dropping it is kill -9.
    drop(operator);
    let before = writes(&namespace).len();
    let operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        // Each is reconciled about ten times meanwhile.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let replicas = ["awake", "asleep", "cooling"].map(|name| namespace.replicas("deployment", name));
        assert_eq!(replicas, [Some(3), Some(0), Some(1)], "{}", operator.log());
    }
    // While the operator was away, two HPAs could not read their metrics, and then could again. Their conditions change for that;
    // nothing else causes a write.
    let is_expected = |write: &String| {
        let awake = write.contains("/scaledobjects/awake/status") || write.contains("/scaledobjects/cooling/status");
        write.starts_with("patch") && awake
    };
    let written = writes(&namespace).split_off(before);
    assert!(written.len() <= 4 && written.iter().all(is_expected), "{written:?}");

    // Objects change while no operator runs; the next one corrects them.
    drop(operator);
    namespace.kubectl(["delete", "hpa", "keda-hpa-awake"]);
    namespace.kubectl(["scale", "deployment", "asleep", "--replicas=1"]);
    namespace.apply([scaled_object("cooling", [cron_open(4)], json!({}))]);
    let _operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    namespace.until_replicas("asleep", 0).await;
    namespace.until_replicas("cooling", 4).await;
    namespace.until("the HPA is made again", false, |namespace| namespace.get("hpa", "keda-hpa-awake").is_null()).await;
}

#[tokio::test]
async fn an_operator_that_is_asked_to_stop_writes_down_when_objects_were_last_active() {
    let cluster = super::start(super::quick("stop")).await;
    let operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    let namespace = TestNamespace::create(&cluster, "stop");
    namespace.apply([deployment("awake", 0), scaled_object("awake", [cron_open(1)], json!({}))]);
    namespace.apply([deployment("asleep", 0), scaled_object("asleep", [cron_closed(1)], json!({}))]);
    let is = |name: &'static str, status: &str, reason: &str| {
        let wanted = (status.to_owned(), reason.to_owned());
        namespace.until(name, wanted, move |namespace| namespace.condition(name, "Active"))
    };
    is("awake", "True", "ScalerActive").await;
    is("asleep", "False", "ScalerNotActive").await;
    let last = |name: &str| namespace.get("so", name)["status"]["lastActiveTime"].clone();
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
    let namespace = TestNamespace::create(super::cluster().await, "original");
    namespace.apply([deployment("web", 4), scaled_object("web", [cron_closed(1)], json!({}))]);
    namespace.until_replicas("web", 0).await;
    // A process that is killed between the two must not take its own number for what was there.
    let written = writes(&namespace);
    let first = |part: &str| written.iter().position(|write| write.contains(part));
    let (noted, scaled) = (first("/scaledobjects/web/status"), first("/deployments/web/scale"));
    assert!(noted.is_some() && scaled.is_some() && noted < scaled, "{written:?}");
    assert_eq!(namespace.get("so", "web")["status"]["originalReplicaCount"], 4);
}
