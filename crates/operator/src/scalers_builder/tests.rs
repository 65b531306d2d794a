use kedge_scalers::{Connector, NoCluster, Settings};
use serde_json::json;

use super::*;
use crate::credentials::References;
use crate::test_cluster::TestCluster;
use kedge_api::ScaledObject;

fn builder() -> ScalersBuilder {
    let registry = Registry::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster));
    let client = TestCluster::new().client();
    let references = References::start(client.clone(), Arc::default(), &[]);
    let settings = crate::credentials::Settings::default();
    let credentials = Arc::new(Credentials::new(client, settings, references, registry.exchange()));
    let (queue, leadership, query_limits) = (Arc::default(), Arc::default(), QueryLimits::default());
    let telemetry = Arc::new(Telemetry::new("test"));
    ScalersBuilder { registry, telemetry, credentials, queue, leadership, query_limits }
}

fn target() -> ScaleTarget {
    crate::test_cluster::deployment("n", "web")
}

/// An object with one good trigger, and one whose time zone is the given one.
fn object(zone: &str, fallback: bool) -> ScaledObject {
    let cron = |zone: &str| {
        let metadata = json!({ "timezone": zone, "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "3" });
        json!({ "type": "cron", "metadata": metadata })
    };
    let mut object = json!({
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": { "name": "o", "namespace": "n", "uid": "u", "generation": 1 },
        "spec": { "scaleTargetRef": { "name": "web" }, "triggers": [cron("Etc/UTC"), cron(zone)] },
    });
    if fallback {
        object["spec"]["fallback"] = json!({ "failureThreshold": 2, "replicas": 5 });
    }
    serde_json::from_value(object).unwrap()
}

fn names(scalers: &ObjectScalers) -> Vec<&str> {
    scalers.metrics().map(|(_, metric)| metric.name.as_str()).collect()
}

const GOOD: &str = "s0-cron-Etc-UTC-08xxx-018xxx";

#[tokio::test]
async fn a_trigger_that_cannot_be_built_does_not_affect_the_others() {
    let scalers = builder().build(&(&object("Mars/Base", false)).into(), &target(), Earlier::default()).await;
    assert_eq!(names(&scalers), [GOOD]);
    let problem = scalers.triggers[1].scaler.as_ref().unwrap_err();
    assert!(
        matches!(problem, NotBuilt::Invalid(text) if text.starts_with("trigger 1 (cron): `timezone`")),
        "{problem}"
    );
}

#[tokio::test]
async fn it_keeps_the_metrics_it_had() {
    let good = builder().build(&(&object("Etc/GMT", false)).into(), &target(), Earlier::default()).await;
    let earlier = Earlier { scalers: Some(&good), hpa: None };
    let mut changed = object("Mars/Base", false);
    changed.metadata.generation = Some(2);
    let scalers = builder().build(&(&changed).into(), &target(), earlier).await;
    assert_eq!(names(&scalers), [GOOD, "s1-cron-Etc-GMT-08xxx-018xxx"]);
    assert!(scalers.triggers[1].scaler.is_err());
}

#[tokio::test]
async fn it_keeps_the_metrics_that_its_hpa_has() {
    let external = |name: &str| {
        json!({ "type": "External", "external": {
            "metric": { "name": name, "selector": { "matchLabels": { "scaledobject.keda.sh/name": "o" } } },
            "target": { "type": "AverageValue", "averageValue": "7" },
        }})
    };
    let hpa = serde_json::from_value(json!({
        "spec": { "maxReplicas": 3, "scaleTargetRef": { "kind": "Deployment", "name": "web" },
                  "metrics": [external("s0-a"), external("s1-b"), external("s10-c")] },
    }));
    let hpa: HorizontalPodAutoscaler = hpa.unwrap();
    let scalers = builder()
        .build(&(&object("Mars/Base", false)).into(), &target(), Earlier { scalers: None, hpa: Some(&hpa) })
        .await;
    assert_eq!(names(&scalers), [GOOD, "s1-b"]);
    let specs = scalers.triggers[1].specs.read();
    let spec = specs[0].external.as_ref().unwrap();
    assert_eq!(spec.metric.selector, None, "rendering adds it");
    assert_eq!(scalers.triggers[1].metrics[0].target.0, 7000);
}

#[tokio::test]
async fn a_fallback_is_served_through_a_placeholder_metric() {
    let scalers = builder().build(&(&object("Mars/Base", true)).into(), &target(), Earlier::default()).await;
    assert_eq!(names(&scalers), [GOOD, "s1-cron"]);
    assert_eq!(scalers.triggers[1].metrics[0].target.0, 1000);
}

#[tokio::test]
async fn failures_are_taken_from_the_cache_and_then_from_the_status() {
    let mut object = object("Mars/Base", true);
    let health = json!({ "health": { "s1-cron": { "numberOfFailures": 2, "status": "Failing" } } });
    object.status = serde_json::from_value(health).unwrap();
    let first = builder().build(&(&object).into(), &target(), Earlier::default()).await;
    assert_eq!(first.triggers[1].metrics[0].failures(), Failures(2));
    first.fail_unbuilt(&kedge_cluster::Clock::System);
    let second = builder().build(&(&object).into(), &target(), Earlier { scalers: Some(&first), hpa: None }).await;
    assert_eq!(second.triggers[1].metrics[0].failures(), Failures(3));
}

#[tokio::test]
async fn a_target_of_zero_is_invalid() {
    let mut object = object("Etc/UTC", false);
    let metadata = [("serverAddress", "http://p"), ("query", "up"), ("threshold", "0")];
    object.spec.triggers[1] = Trigger {
        r#type: "prometheus".to_owned(),
        metadata: metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        ..object.spec.triggers[1].clone()
    };
    let scalers = builder().build(&(&object).into(), &target(), Earlier::default()).await;
    let problem = scalers.triggers[1].scaler.as_ref().unwrap_err().to_string();
    assert!(problem.contains("trigger 1 (prometheus)") && problem.contains("s1-prometheus is 0"), "{problem}");
}

#[tokio::test]
async fn a_source_that_does_not_describe_its_metrics_is_queried_again_soon() {
    let rows = [("Etc/UTC", None, false), ("Mars/Base", None, false), ("Etc/UTC", Some("127.0.0.1:9"), true)];
    for (zone, scaler, expected) in rows {
        let mut object = object(zone, false);
        if let Some(address) = scaler {
            let trigger = json!({ "type": "external", "metadata": { "scalerAddress": address } });
            object.spec.triggers.push(serde_json::from_value(trigger).unwrap());
        }
        let scalers = builder().build(&(&object).into(), &target(), Earlier::default()).await;
        assert_eq!(scalers.refresh_at.is_some(), expected, "{zone} {scaler:?}: {:?}", scalers.triggers);
    }
}
