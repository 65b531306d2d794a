//! The nodes of a cluster: objects that kwok keeps alive.

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, PostParams};
use serde_json::json;

/// Creates the nodes `node-0` and so on.
pub(crate) async fn create(client: &kube::Client, count: usize) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    for index in 0..count {
        let name = format!("node-{index}");
        let node = serde_json::from_value(json!({
            "metadata": {
                "name": name,
                "labels": { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": "kwok" },
                // One kwok plays all kubelets, so each node has a path of its own for metrics-server.
                "annotations": { "metrics.k8s.io/resource-metrics-path": format!("/metrics/nodes/{name}/metrics/resource") },
            },
        }))?;
        nodes.create(&PostParams::default(), &node).await?;
    }
    Ok(())
}

/// Whether a node says that it is ready, and takes pods.
pub(crate) fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let tainted = node.spec.iter().any(|spec| spec.taints.iter().flatten().next().is_some());
    !tainted && conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
