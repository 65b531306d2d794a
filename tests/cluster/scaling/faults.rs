//! An API server that refuses a write.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::denier::Denier;
use kedge_tests::story::{Story, cron_open, deployment, scaled_object};
use serde_json::json;

use super::cluster;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_hpa_stops_no_awakening() {
    let story = Story::begin(cluster().await, "refused");
    let denier = Denier::start("no HPAs today").await.unwrap();
    let webhook = json!({
        "name": "no-hpas.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
        "clientConfig": { "url": denier.url(), "caBundle": STANDARD.encode(denier.authority()) },
        "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": story.namespace } },
        "rules": [{
            "apiGroups": ["autoscaling"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["horizontalpodautoscalers"],
        }],
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": story.namespace }, "webhooks": [webhook],
    });
    story.cluster.apply(&configuration).unwrap();
    let hpa = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": { "name": "probe", "namespace": story.namespace },
        "spec": { "maxReplicas": 1, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "none" } },
    });
    wait_for("the webhook is asked", DEADLINE, async || match story.cluster.apply(&hpa) {
        Err(error) if error.to_string().contains("no HPAs today") => Ok(()),
        other => {
            story.kubectl(["delete", "hpa", "probe", "--ignore-not-found"]);
            Err(format!("{other:?}"))
        }
    })
    .await
    .unwrap();

    story.apply([deployment("web", 0), scaled_object("web", [cron_open(3)], json!({}))]);
    story.until_replicas("web", 1).await;
    let ready = |story: &Story<'_>| story.condition("web", "Ready").0;
    story.until("it says so", "False".to_owned(), ready).await;
    let object = story.get("so", "web").to_string();
    assert!(object.contains("no HPAs today"), "{object}");

    story.cluster.kubectl(["delete", "validatingwebhookconfiguration", &story.namespace]).unwrap();
    story.until_replicas("web", 3).await;
    story.until("all is well", "True".to_owned(), ready).await;
}
