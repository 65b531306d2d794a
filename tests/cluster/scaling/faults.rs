//! An API server that refuses a write.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::denying_webhook::DenyingWebhook;
use kedge_tests::namespace::{TestNamespace, cron_open, deployment, scaled_object};
use serde_json::json;

use super::cluster;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_hpa_does_not_prevent_scaling_from_zero() {
    let namespace = TestNamespace::create(cluster().await, "refused");
    let webhook_server = DenyingWebhook::start("no HPAs today").await.unwrap();
    let webhook = json!({
        "name": "no-hpas.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
        "clientConfig": { "url": webhook_server.url(), "caBundle": STANDARD.encode(webhook_server.ca_pem()) },
        "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace.name } },
        "rules": [{
            "apiGroups": ["autoscaling"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["horizontalpodautoscalers"],
        }],
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": namespace.name }, "webhooks": [webhook],
    });
    namespace.cluster.apply(&configuration).unwrap();
    let hpa = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": { "name": "probe", "namespace": namespace.name },
        "spec": { "maxReplicas": 1, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "none" } },
    });
    wait_for("the webhook is called", DEADLINE, async || match namespace.cluster.apply(&hpa) {
        Err(error) if error.to_string().contains("no HPAs today") => Ok(()),
        other => {
            namespace.kubectl(["delete", "hpa", "probe", "--ignore-not-found"]);
            Err(format!("{other:?}"))
        }
    })
    .await
    .unwrap();

    namespace.apply([deployment("web", 0), scaled_object("web", [cron_open(3)], json!({}))]);
    namespace.until_replicas("web", 1).await;
    let ready = |namespace: &TestNamespace<'_>| namespace.condition("web", "Ready").0;
    namespace.until("the condition is set", "False".to_owned(), ready).await;
    let object = namespace.get("so", "web").to_string();
    assert!(object.contains("no HPAs today"), "{object}");

    namespace.cluster.kubectl(["delete", "validatingwebhookconfiguration", &namespace.name]).unwrap();
    namespace.until_replicas("web", 3).await;
    namespace.until("the object is ready", "True".to_owned(), ready).await;
}
