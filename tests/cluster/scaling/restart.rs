//! An operator that is killed and started again: nothing is scaled or written, and scaling continues from the stored state.

use std::time::{Duration, Instant};

use kedge_test_cluster::RunningOperator;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{TestNamespace, cron_closed, cron_open, deployment, scaled_object};
use kedge_tests::programs;
use serde_json::json;

use super::load::writes;

/// For how long an operator that has nothing to do must write nothing: several polls and HPA syncs.
const SILENCE: Duration = Duration::from_secs(8);

#[tokio::test]
async fn a_killed_operator_continues_from_the_stored_state() {
    let cluster = super::start(super::quick("restart")).await;
    let operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    let namespace = TestNamespace::create(&cluster, "restart");
    let cooling = json!({ "initialCooldownPeriod": 3600 });
    namespace.apply([deployment("active", 0), scaled_object("active", [cron_open(3)], json!({}))]);
    namespace.apply([deployment("inactive", 2), scaled_object("inactive", [cron_closed(3)], json!({}))]);
    namespace.apply([deployment("cooling", 1), scaled_object("cooling", [cron_closed(3)], cooling)]);
    namespace.until_replicas("active", 3).await;
    namespace.until_replicas("inactive", 0).await;
    let settled = [("active", "HPAActive"), ("cooling", "HPAActive"), ("inactive", "ScalingDisabled")];
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
        let replicas = ["active", "inactive", "cooling"].map(|name| namespace.replicas("deployment", name));
        assert_eq!(replicas, [Some(3), Some(0), Some(1)], "{}", operator.log());
    }
    // While the operator was away, two HPAs could not read their metrics, and then could again. Their conditions change for that,
    // on a machine that stalls more than once; nothing else causes a write, and soon nothing does.
    let is_expected = |write: &String| {
        let has_hpa = write.contains("/scaledobjects/active/status") || write.contains("/scaledobjects/cooling/status");
        write.starts_with("patch") && has_hpa
    };
    let silence = wait_for("no write after the restart", DEADLINE, async || {
        let count = writes(&namespace).len();
        tokio::time::sleep(SILENCE).await;
        let written = writes(&namespace).split_off(before);
        if before + written.len() == count { Ok(written) } else { Err(written) }
    });
    let written = silence.await.unwrap();
    assert!(written.iter().all(is_expected), "{written:?}");

    // Objects change while no operator runs; the next one corrects them.
    drop(operator);
    namespace.kubectl(["delete", "hpa", "keda-hpa-active"]);
    namespace.kubectl(["scale", "deployment", "inactive", "--replicas=1"]);
    namespace.apply([scaled_object("cooling", [cron_open(4)], json!({}))]);
    let _operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    namespace.until_replicas("inactive", 0).await;
    namespace.until_replicas("cooling", 4).await;
    namespace
        .until("the HPA is created again", false, |namespace| namespace.get("hpa", "keda-hpa-active").is_null())
        .await;
}

#[tokio::test]
async fn a_terminated_operator_writes_the_last_active_times() {
    let cluster = super::start(super::quick("stop")).await;
    let operator = RunningOperator::start(&cluster, &programs::kedge()).await.unwrap();
    let namespace = TestNamespace::create(&cluster, "stop");
    namespace.apply([deployment("active", 0), scaled_object("active", [cron_open(1)], json!({}))]);
    namespace.apply([deployment("inactive", 0), scaled_object("inactive", [cron_closed(1)], json!({}))]);
    let until_active = |name: &'static str, status: &str, reason: &str| {
        let wanted = (status.to_owned(), reason.to_owned());
        namespace.until(name, wanted, move |namespace| namespace.condition(name, "Active"))
    };
    until_active("active", "True", "ScalerActive").await;
    until_active("inactive", "False", "ScalerNotActive").await;
    let last = |name: &str| namespace.get("so", name)["status"]["lastActiveTime"].clone();
    let began = last("active");
    // Times are written in whole seconds.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(last("active"), began, "while it is active nothing is written");
    operator.terminate().await.unwrap();
    assert!(last("active").as_str() > began.as_str(), "{} is not after {began}", last("active"));
    assert!(last("inactive").is_null());
}

#[tokio::test]
async fn the_original_replicas_are_written_before_the_target_is_scaled() {
    let namespace = TestNamespace::create(super::cluster().await, "original");
    namespace.apply([deployment("web", 4), scaled_object("web", [cron_closed(1)], json!({}))]);
    namespace.until_replicas("web", 0).await;
    // An operator that is killed between the two must not take its own number for the original one.
    let written = writes(&namespace);
    let first = |part: &str| written.iter().position(|write| write.contains(part));
    let (noted, scaled) = (first("/scaledobjects/web/status"), first("/deployments/web/scale"));
    assert!(noted.is_some() && scaled.is_some() && noted < scaled, "{written:?}");
    assert_eq!(namespace.get("so", "web")["status"]["originalReplicaCount"], 4);
}
