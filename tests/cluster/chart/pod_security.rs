//! The pods of the chart in a namespace that enforces the restricted pod security standard.

use std::fs;

use kedge_test_cluster::Cluster;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::helm::Document;
use serde_json::{Value, json};

use super::{cases, render};
use crate::shared;

/// The pod that a Deployment would create.
fn pod(deployment: &Document) -> Value {
    let template = &deployment.object["spec"]["template"];
    let name = &deployment.object["metadata"]["name"];
    let mut spec = template["spec"].clone();
    // The service accounts and priority classes do not exist here.
    spec["serviceAccountName"] = json!("default");
    spec.as_object_mut().unwrap().remove("priorityClassName");
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "restricted", "labels": template["metadata"]["labels"] },
        "spec": spec,
    })
}

/// Creates the pod as a dry run.
fn dry_run(cluster: &Cluster, pod: &Value) -> anyhow::Result<String> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), pod.to_string())?;
    cluster.kubectl(["create", "--dry-run=server", "--filename", &file.path().display().to_string()])
}

#[tokio::test]
async fn pods_satisfy_the_restricted_standard() {
    let cluster = shared::ours().await;
    let labels = json!({ "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest" });
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "restricted", "labels": labels } });
    cluster.apply(&namespace).unwrap();
    wait_for("the namespace has its account", DEADLINE, async || {
        cluster.kubectl(["get", "serviceaccount", "default", "--namespace=restricted"])
    })
    .await
    .unwrap();
    let mut count = 0;
    for case in cases() {
        for deployment in render(&case).iter().filter(|document| document.is("Deployment")) {
            let pod = pod(deployment);
            let verdict = dry_run(cluster, &pod).map_err(|error| error.to_string());
            match pod["spec"]["hostNetwork"] == json!(true) || case.name == "pods" {
                // These request what the standard forbids: the host network, a container without a security context.
                true => assert!(
                    verdict.as_ref().is_err_and(|error| error.contains("PodSecurity")),
                    "{}: {verdict:?}",
                    case.name
                ),
                false => assert!(verdict.is_ok(), "{}: {verdict:?}", case.name),
            }
            count += 1;
        }
    }
    assert!(count > cases().len(), "only {count} pods");
}
