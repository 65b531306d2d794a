//! Numbers in ConfigMaps and Secrets.

use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use serde_json::{Value, json};

use super::cluster;

fn trigger(kind: &str, more: Value) -> Value {
    let mut metadata = json!({ "resourceKind": kind, "resourceName": "limits", "key": "depth", "targetValue": "5" });
    json_patch::merge(&mut metadata, &more);
    json!({ "type": "kubernetes-resource", "metadata": metadata })
}

fn object(kind: &str, depth: &str) -> Value {
    let data = if kind == "Secret" { "stringData" } else { "data" };
    json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": "limits" }, data: { "depth": depth } })
}

#[tokio::test]
async fn a_number_in_an_object_scales_a_deployment_from_zero_and_back() {
    let namespace = TestNamespace::create(cluster().await, "numbers");
    let json = json!({ "format": "json", "valueLocation": "queue.depth", "key": "depth" });
    namespace.apply([
        object("ConfigMap", "14"),
        object("Secret", r#"{"queue": {"depth": 9}}"#),
        deployment("web", 0),
        scaled_object("web", [trigger("ConfigMap", json!({}))], json!({})),
        deployment("secret", 0),
        scaled_object("secret", [trigger("Secret", json)], json!({})),
    ]);
    namespace.until_replicas("web", 3).await;
    namespace.until_replicas("secret", 2).await;
    let names = namespace.get("scaledobject", "web")["status"]["externalMetricNames"].clone();
    assert_eq!(names, json!(["s0-configmap-limits-depth"]));
    namespace.apply([object("ConfigMap", "0"), object("Secret", r#"{"queue": {"depth": 0}}"#)]);
    namespace.until_replicas("web", 0).await;
    namespace.until_replicas("secret", 0).await;
}

#[tokio::test]
async fn what_is_missing_keeps_the_replicas_and_is_named_without_the_value() {
    let namespace = TestNamespace::create(cluster().await, "no-numbers");
    namespace.apply([
        object("Secret", "s3cret-words"),
        deployment("absent", 2),
        scaled_object("absent", [trigger("ConfigMap", json!({}))], json!({})),
        deployment("keyless", 2),
        scaled_object("keyless", [trigger("Secret", json!({ "key": "size" }))], json!({})),
        deployment("wordy", 2),
        scaled_object("wordy", [trigger("Secret", json!({}))], json!({})),
    ]);
    for (name, message) in [
        ("absent", "it does not exist; create it"),
        ("keyless", "it has no key \"size\""),
        ("wordy", "does not begin with a number"),
    ] {
        namespace.until("it is not ready", "False".to_owned(), |namespace| namespace.condition(name, "Ready").0).await;
        let has_event = |namespace: &TestNamespace<'_>| {
            namespace.events("KEDAScalerFailed").iter().any(|note| note.contains(message))
        };
        namespace.until("the event has the error", true, has_event).await;
        assert_eq!(namespace.replicas("deployment", name), Some(2), "unknown is not zero");
    }
    let notes = namespace.events("KEDAScalerFailed");
    assert!(notes.iter().all(|note| !note.contains("s3cret")), "{notes:?}");
    namespace.apply([object("ConfigMap", "0")]);
    namespace.until_replicas("absent", 0).await;
}
