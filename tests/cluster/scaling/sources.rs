//! Triggers that read HTTP servers and the cluster itself.

use kedge_tests::exposition::Exposition;
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use serde_json::{Value, json};

use super::cluster;

fn workload_trigger(selector: &str, more: &Value) -> Value {
    let mut metadata = json!({ "podSelector": selector, "value": "1" });
    json_patch::merge(&mut metadata, more);
    json!({ "type": "kubernetes-workload", "metadata": metadata })
}

fn metrics_api_trigger(url: &str, location: &str, more: &Value) -> Value {
    let mut metadata = json!({ "url": url, "valueLocation": location, "targetValue": "5", "format": "prometheus" });
    json_patch::merge(&mut metadata, more);
    json!({ "type": "metrics-api", "metadata": metadata })
}

#[tokio::test]
async fn pods_of_another_workload_are_counted() {
    let namespace = TestNamespace::create(cluster().await, "workload");
    let selector = "app in (load, other),!old";
    namespace.apply([
        deployment("load", 3),
        deployment("web", 0),
        scaled_object("web", [workload_trigger(selector, &json!({}))], json!({})),
        deployment("nodes", 0),
        scaled_object("nodes", [workload_trigger(selector, &json!({ "groupByNode": "true" }))], json!({})),
    ]);
    namespace.until_replicas("web", 3).await;
    // The scheduler places three pods on one to three of the three nodes.
    let names =
        namespace.kubectl(["get", "pods", "--selector=app=load", "--output=jsonpath={.items[*].spec.nodeName}"]);
    let nodes: std::collections::BTreeSet<&str> = names.split_whitespace().collect();
    namespace.until_replicas("nodes", i64::try_from(nodes.len()).unwrap()).await;
    let names = namespace.get("scaledobject", "web")["status"]["externalMetricNames"].clone();
    assert_eq!(names, json!([format!("s0-workload-{}", namespace.name)]));
    namespace.kubectl(["scale", "deployment/load", "--replicas=0"]);
    namespace.until_replicas("web", 0).await;
    namespace.until_replicas("nodes", 0).await;
}

#[tokio::test]
async fn a_value_of_an_http_server_scales_from_zero_and_back() {
    let namespace = TestNamespace::create(cluster().await, "document");
    let source = Exposition::start().await.unwrap();
    source.set("queue_depth", 12.0);
    let url = format!("http://{}/metrics", source.address());
    let trigger = metrics_api_trigger(&url, "queue_depth", &json!({}));
    namespace.apply([deployment("web", 0), scaled_object("web", [trigger], json!({}))]);
    namespace.until_replicas("web", 3).await;
    source.set("queue_depth", 0.0);
    namespace.until_replicas("web", 0).await;
    assert_eq!(namespace.condition("web", "Ready"), ("True".into(), "ScaledObjectReady".into()));
}

#[tokio::test]
async fn a_missing_value_and_a_service_without_pods_are_errors() {
    let namespace = TestNamespace::create(cluster().await, "nothing");
    let source = Exposition::start().await.unwrap();
    source.set("queue_depth", 12.0);
    let lost = metrics_api_trigger(&format!("http://{}/metrics", source.address()), "queue_size", &json!({}));
    let url = format!("http://absent.{}.svc/metrics", namespace.name);
    let aggregated = metrics_api_trigger(&url, "queue_depth", &json!({ "aggregateFromKubeServiceEndpoints": "true" }));
    namespace.apply([
        deployment("lost", 2),
        scaled_object("lost", [lost], json!({})),
        deployment("absent", 2),
        scaled_object("absent", [aggregated], json!({})),
    ]);
    for (name, message) in [("lost", "leads to nothing"), ("absent", "Service absent in namespace")] {
        namespace.until("it is not ready", "False".to_owned(), |namespace| namespace.condition(name, "Ready").0).await;
        let has_event = |namespace: &TestNamespace<'_>| {
            namespace.events("KEDAScalerFailed").iter().any(|note| note.contains(message))
        };
        namespace.until("the event has the error", true, has_event).await;
        assert_eq!(namespace.replicas("deployment", name), Some(2), "unknown is not zero");
    }
}
