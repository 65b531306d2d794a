//! Nodes: each is ready as soon as there is such an object, and every pod is put on the one with the fewest. Where there are
//! no nodes, pods run nowhere.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::client::{ChangeWaiter, ControllerClient, ObjectKey, Part};
use crate::api::error::ApiError;
use crate::api::resource::Gvr;
use crate::plane::Plane;

static NODES: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "nodes"));
static PODS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "pods"));

/// What is wrong with a healthy node, and what it says instead.
const CONDITIONS: [(&str, &str, &str, &str); 4] = [
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
];

/// Keeps nodes ready, and binds pods to them.
#[derive(Debug)]
pub struct Nodes {
    kubelet: ControllerClient,
    scheduler: ControllerClient,
}

impl Nodes {
    pub fn new(plane: &Plane) -> Self {
        Self {
            kubelet: ControllerClient::new(plane, "system:nodes"),
            scheduler: ControllerClient::new(plane, "system:kube-scheduler"),
        }
    }

    /// Runs until it is dropped.
    pub async fn run(self) -> Infallible {
        let mut changes = ChangeWaiter::new(&self.kubelet.plane, &[&NODES, &PODS]);
        loop {
            changes.wait().await;
            changes.note(self.act().await);
        }
    }

    async fn act(&self) -> Result<(), ApiError> {
        for node in self.kubelet.plane.objects(&NODES, None).iter().filter(|node| !is_ready(node)) {
            let key = ObjectKey::new("", text(&node["metadata"]["name"]));
            self.kubelet.update(&NODES, &key, Part::Status, &readied(node, &self.kubelet)).await?;
        }
        let pods = self.scheduler.plane.objects(&PODS, None);
        let mut loads = self.loads(pods.iter().map(|pod| text(&pod["spec"]["nodeName"])));
        for pod in pods.iter().filter(|pod| is_unbound(pod)) {
            let Some((node, load)) = loads.iter_mut().min_by_key(|(_, load)| **load) else { break };
            *load += 1;
            self.bind(pod, node).await?;
        }
        Ok(())
    }

    /// How many pods each node has.
    fn loads<'a>(&self, places: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
        let nodes = self.kubelet.plane.objects(&NODES, None);
        let mut loads: BTreeMap<_, _> =
            nodes.iter().map(|node| (text(&node["metadata"]["name"]).to_owned(), 0)).collect();
        for place in places {
            if let Some(load) = loads.get_mut(place) {
                *load += 1;
            }
        }
        loads
    }

    async fn bind(&self, pod: &Value, node: &str) -> Result<(), ApiError> {
        let key = ObjectKey::new(text(&pod["metadata"]["namespace"]), text(&pod["metadata"]["name"]));
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": { "name": key.name, "namespace": key.namespace },
            "target": { "apiVersion": "v1", "kind": "Node", "name": node },
        });
        self.scheduler.create_part(&PODS, &key, Part::Binding, &binding).await
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_unbound(pod: &Value) -> bool {
    text(&pod["spec"]["nodeName"]).is_empty() && pod["metadata"]["deletionTimestamp"].is_null()
}

fn is_ready(node: &Value) -> bool {
    let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// A node with unlimited capacity.
fn readied(node: &Value, client: &ControllerClient) -> Value {
    let (name, now) = (&node["metadata"]["name"], json!(client.time()));
    let condition = |(kind, status, reason, message)| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    };
    let plenty = json!({ "cpu": "1k", "memory": "1Ti", "pods": "10k" });
    let mut node = node.clone();
    node["status"] = json!({
        "phase": "Running",
        "conditions": CONDITIONS.map(condition),
        "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }, { "type": "Hostname", "address": name }],
        "capacity": plenty,
        "allocatable": plenty,
    });
    node
}
