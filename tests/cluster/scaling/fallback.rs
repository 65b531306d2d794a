//! Fallback: the replicas of an object whose source keeps failing.

use kedge_test_cluster::http_source::HttpSource;
use kedge_tests::namespace::{TestNamespace, deployment, prometheus, scaled_object};
use serde_json::{Value, json};

use super::cluster;

/// A trigger whose source does not answer.
fn dead() -> Value {
    prometheus("http://127.0.0.1:9", "up", 10)
}

#[tokio::test]
async fn a_value_metric_falls_back_by_its_ready_pods() {
    let namespace = TestNamespace::create(cluster().await, "value");
    let mut trigger = dead();
    trigger["metricType"] = json!("Value");
    let fallback = json!({ "fallback": { "failureThreshold": 1, "replicas": 4 } });
    namespace.apply([deployment("web", 2), scaled_object("web", [trigger], fallback)]);
    let ready = |namespace: &TestNamespace<'_>| namespace.get("deployment", "web")["status"]["readyReplicas"].as_i64();
    namespace.until_replicas("web", 4).await;
    namespace.until("all pods are ready", Some(4), ready).await;
    // The HPA multiplies by the ready pods, so that a value for two of them would mean eight now.
    let hpa =
        |namespace: &TestNamespace<'_>| namespace.get("hpa", "keda-hpa-web")["status"]["desiredReplicas"].as_i64();
    namespace.until("the HPA agrees", Some(4), hpa).await;
    assert_eq!(namespace.replicas("deployment", "web"), Some(4));
}

#[tokio::test]
async fn a_trigger_that_cannot_be_built_falls_back_too() {
    let namespace = TestNamespace::create(cluster().await, "unbuilt");
    let abacus = json!({ "type": "abacus", "metadata": { "beads": "7" } });
    let fallback = json!({ "fallback": { "failureThreshold": 2, "replicas": 3 } });
    namespace.apply([deployment("web", 0), scaled_object("web", [abacus], fallback)]);
    namespace.until_replicas("web", 3).await;
    let expected = ("True".to_owned(), "FallbackExists".to_owned());
    namespace.until("the condition is set", expected, |namespace| namespace.condition("web", "Fallback")).await;
    let health = namespace.get("so", "web")["status"]["health"]["s0-abacus"].clone();
    assert_eq!(health, json!({ "numberOfFailures": 3, "status": "Failing" }));
    assert_eq!(namespace.condition("web", "Ready").0, "False");
}

/// A trigger for a source that requires a header. A test makes the source fail when it changes the required value.
fn guarded(source: &HttpSource) -> Value {
    let mut trigger = prometheus(&source.url(), "load", 10);
    trigger["metadata"]["customHeaders"] = json!("Authorization=open");
    trigger
}

#[tokio::test]
async fn every_behavior_begins_after_the_threshold_and_ends_with_the_failure() {
    let namespace = TestNamespace::create(cluster().await, "behaviors");
    let source = HttpSource::start_protected(50.0, "open").await.unwrap();
    // Name, behavior, replicas of the fallback, and what five replicas become.
    let rows = [
        ("plain", None, 3, 3),
        ("static", Some("static"), 8, 8),
        ("current", Some("currentReplicas"), 2, 5),
        ("higher-more", Some("currentReplicasIfHigher"), 8, 8),
        ("higher-less", Some("currentReplicasIfHigher"), 2, 5),
        ("lower-more", Some("currentReplicasIfLower"), 8, 5),
        ("lower-less", Some("currentReplicasIfLower"), 2, 2),
    ];
    for (name, behavior, replicas, _) in rows {
        let mut fallback = json!({ "failureThreshold": 2, "replicas": replicas });
        if let Some(behavior) = behavior {
            fallback["behavior"] = json!(behavior);
        }
        namespace
            .apply([deployment(name, 0), scaled_object(name, [guarded(&source)], json!({ "fallback": fallback }))]);
    }
    for (name, ..) in rows {
        namespace.until_replicas(name, 5).await;
    }
    source.protect_all("closed");
    let until_fallback = |name: &'static str, status: &str, reason: &str| {
        let wanted = (status.to_owned(), reason.to_owned());
        namespace.until(name, wanted, move |namespace| namespace.condition(name, "Fallback"))
    };
    for (name, _, _, expected) in rows {
        until_fallback(name, "True", "FallbackExists").await;
        namespace.until_replicas(name, expected).await;
        let health = namespace.get("so", name)["status"]["health"]["s0-prometheus"].clone();
        assert_eq!(health, json!({ "numberOfFailures": 3, "status": "Failing" }), "{name}");
        assert_eq!(namespace.condition(name, "Ready").0, "True", "{name}: an object with an active fallback is ready");
    }
    source.protect_all("open");
    for (name, ..) in rows {
        until_fallback(name, "False", "NoFallbackFound").await;
        namespace.until_replicas(name, 5).await;
        let health = namespace.get("so", name)["status"]["health"]["s0-prometheus"].clone();
        assert_eq!(health, json!({ "numberOfFailures": 0, "status": "Happy" }), "{name}");
    }
    for reason in ["ScaledObjectFallbackActivated", "ScaledObjectFallbackDeactivated"] {
        let published = |namespace: &TestNamespace<'_>| namespace.events(reason).len();
        namespace.until(&format!("{reason} is published once for each"), rows.len(), published).await;
    }
}
