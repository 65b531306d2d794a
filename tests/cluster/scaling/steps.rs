//! The steps of a target: from zero, out, in, to zero, to idle, and back to the original replicas.

use kedge_test_cluster::Prometheus;
use kedge_tests::exposition::Exposition;
use kedge_tests::namespace::{TestNamespace, cron_closed, cron_open, deployment, prometheus, scaled_object};
use serde_json::json;

use super::cluster;

#[tokio::test]
async fn a_metric_scales_from_zero_and_back() {
    let namespace = TestNamespace::create(cluster().await, "metric");
    let source = Exposition::start().await.unwrap();
    source.set("orders_waiting", 0.0);
    let server = Prometheus::start("scaling-prometheus", &[source.address()]).await.unwrap();
    namespace.apply([
        deployment("web", 2),
        scaled_object("web", [prometheus(&server.url(), "sum(orders_waiting)", 10)], json!({ "maxReplicaCount": 5 })),
    ]);

    namespace.until_replicas("web", 0).await;
    // From 2, or from 1 if the HPA was quicker.
    let events = namespace.events_with("KEDAScaleTargetDeactivated", &["Deactivated"]).await;
    let begins = format!("Deactivated apps/v1.Deployment {}/web from ", namespace.name);
    assert!(events.len() == 1 && events[0].starts_with(&begins) && events[0].ends_with(" to 0"), "{events:?}");
    source.set("orders_waiting", 5.0);
    namespace.until_replicas("web", 1).await;
    namespace
        .until("it is active", ("True".into(), "ScalerActive".into()), |namespace| namespace.condition("web", "Active"))
        .await;
    source.set("orders_waiting", 42.0);
    namespace.until_replicas("web", 5).await;
    namespace
        .until("the HPA scales", ("True".into(), "HPAActive".into()), |namespace| {
            namespace.condition("web", "HPAActive")
        })
        .await;
    source.set("orders_waiting", 1000.0);
    source.set("orders_waiting", 8.0);
    namespace.until_replicas("web", 1).await;
    source.set("orders_waiting", 0.0);
    namespace.until_replicas("web", 0).await;

    let status = namespace.get("scaledobject", "web")["status"].clone();
    assert_eq!(status["externalMetricNames"], json!(["s0-prometheus"]));
    assert_eq!(status["hpaName"], "keda-hpa-web");
    assert_eq!(status["originalReplicaCount"], 2);
    assert_eq!(namespace.condition("web", "Ready"), ("True".into(), "ScaledObjectReady".into()));
}

#[tokio::test]
async fn a_cron_window_holds_its_replicas() {
    let namespace = TestNamespace::create(cluster().await, "cron");
    namespace.apply([deployment("open", 0), scaled_object("open", [cron_open(3)], json!({}))]);
    namespace.apply([deployment("closed", 2), scaled_object("closed", [cron_closed(3)], json!({}))]);
    namespace.until_replicas("open", 3).await;
    namespace.until_replicas("closed", 0).await;
    // The window closes: the schedule is replaced by one that is never open.
    namespace.apply([scaled_object("open", [cron_closed(3)], json!({}))]);
    namespace.until_replicas("open", 0).await;
}

#[tokio::test]
async fn a_changed_spec_swaps_triggers_and_bounds() {
    let namespace = TestNamespace::create(cluster().await, "swap");
    namespace.apply([deployment("web", 1), scaled_object("web", [cron_open(2)], json!({}))]);
    namespace.until_replicas("web", 2).await;
    let before = namespace.get("hpa", "keda-hpa-web")["spec"]["metrics"].clone();
    namespace.apply([scaled_object("web", [cron_closed(9), cron_open(4)], json!({ "maxReplicaCount": 3 }))]);
    namespace.until_replicas("web", 3).await;
    let hpa = namespace.get("hpa", "keda-hpa-web");
    assert_eq!(hpa["spec"]["maxReplicas"], 3);
    assert_eq!(hpa["spec"]["metrics"].as_array().map(Vec::len), Some(2), "{before} became {}", hpa["spec"]["metrics"]);
}

#[tokio::test]
async fn an_inactive_target_has_its_idle_count() {
    let namespace = TestNamespace::create(cluster().await, "idle");
    let bounds = json!({ "idleReplicaCount": 0, "minReplicaCount": 2 });
    namespace.apply([deployment("web", 1), scaled_object("web", [cron_open(1)], bounds.clone())]);
    namespace.until_replicas("web", 2).await;
    namespace.apply([scaled_object("web", [cron_closed(1)], bounds)]);
    namespace.until_replicas("web", 0).await;
}

#[tokio::test]
async fn deleting_an_object_restores_the_original_replicas() {
    let namespace = TestNamespace::create(cluster().await, "restore");
    let restore = json!({ "advanced": { "restoreToOriginalReplicaCount": true } });
    namespace.apply([deployment("web", 4), scaled_object("web", [cron_closed(1)], restore)]);
    namespace.until_replicas("web", 0).await;
    namespace.kubectl(["delete", "scaledobject", "web"]);
    namespace.until_replicas("web", 4).await;
    namespace.until("the HPA is gone", true, |namespace| namespace.get("hpa", "keda-hpa-web").is_null()).await;
    namespace.until("the object is gone", true, |namespace| namespace.get("scaledobject", "web").is_null()).await;
}

#[tokio::test]
async fn pauses_and_forced_activation_take_effect() {
    let namespace = TestNamespace::create(cluster().await, "pause");
    namespace.apply([deployment("web", 1), scaled_object("web", [cron_closed(1)], json!({}))]);
    namespace.until_replicas("web", 0).await;
    namespace.kubectl(["annotate", "so", "web", "autoscaling.keda.sh/force-activation=true"]);
    namespace.until_replicas("web", 1).await;
    namespace.kubectl(["annotate", "so", "web", "autoscaling.keda.sh/paused-replicas=3"]);
    namespace.until_replicas("web", 3).await;
    namespace.until("the HPA is gone", true, |namespace| namespace.get("hpa", "keda-hpa-web").is_null()).await;
    namespace
        .until("the condition is set", ("True".into(), "ScaledObjectPaused".into()), |namespace| {
            namespace.condition("web", "Paused")
        })
        .await;
    namespace.kubectl([
        "annotate",
        "so",
        "web",
        "autoscaling.keda.sh/paused-replicas-",
        "autoscaling.keda.sh/force-activation-",
    ]);
    namespace.until_replicas("web", 0).await;
    namespace
        .until("the condition is set", ("False".into(), "ScaledObjectUnpaused".into()), |namespace| {
            namespace.condition("web", "Paused")
        })
        .await;
}
