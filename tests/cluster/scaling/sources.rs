//! Triggers that read HTTP servers and the cluster itself.

use kedge_tests::exposition::Exposition;
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use serde_json::{Value, json};

use super::cluster;

fn of_pods(selector: &str, more: &Value) -> Value {
    let mut metadata = json!({ "podSelector": selector, "value": "1" });
    json_patch::merge(&mut metadata, more);
    json!({ "type": "kubernetes-workload", "metadata": metadata })
}

fn of_document(url: &str, location: &str, more: &Value) -> Value {
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
        scaled_object("web", [of_pods(selector, &json!({}))], json!({})),
        deployment("nodes", 0),
        scaled_object("nodes", [of_pods(selector, &json!({ "groupByNode": "true" }))], json!({})),
    ]);
    namespace.until_replicas("web", 3).await;
    // Three pods are on one to three of the three nodes; what the scheduler chose, the nodes say.
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
async fn a_number_of_a_server_wakes_scales_and_puts_to_sleep() {
    let namespace = TestNamespace::create(cluster().await, "document");
    let source = Exposition::start().await.unwrap();
    source.set("queue_depth", 12.0);
    let url = format!("http://{}/metrics", source.address());
    let trigger = of_document(&url, "queue_depth", &json!({}));
    namespace.apply([deployment("web", 0), scaled_object("web", [trigger], json!({}))]);
    namespace.until_replicas("web", 3).await;
    source.set("queue_depth", 0.0);
    namespace.until_replicas("web", 0).await;
    assert_eq!(namespace.condition("web", "Ready"), ("True".into(), "ScaledObjectReady".into()));
}

#[tokio::test]
async fn a_number_that_is_not_there_and_a_service_without_pods_are_errors() {
    let namespace = TestNamespace::create(cluster().await, "nothing");
    let source = Exposition::start().await.unwrap();
    source.set("queue_depth", 12.0);
    let lost = of_document(&format!("http://{}/metrics", source.address()), "queue_size", &json!({}));
    let url = format!("http://absent.{}.svc/metrics", namespace.name);
    let aggregated = of_document(&url, "queue_depth", &json!({ "aggregateFromKubeServiceEndpoints": "true" }));
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
        namespace.until("the event says why", true, has_event).await;
        assert_eq!(namespace.replicas("deployment", name), Some(2), "unknown is not zero");
    }
}
