//! The pod of the leader, and the port of its dashboard.

use anyhow::{Context, bail};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kedge_cluster::lease::instance_of;
use kube::Client;
use kube::api::Api;

/// The name that the chart gives to the port of the container.
const PORT_NAME: &str = "dashboard";

/// Which pod is wanted.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    HolderOf { lease: String },
    Pod(String),
}

/// Finds the pod whenever it is asked: leaders change.
#[derive(Clone)]
pub(super) struct Leader {
    pub(super) pods: Api<Pod>,
    leases: Api<Lease>,
    namespace: String,
    choice: Choice,
}

/// A pod that serves a dashboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DashboardPod {
    pub(super) name: String,
    pub(super) port: u16,
}

impl Leader {
    pub(super) fn new(client: Client, namespace: String, choice: Choice) -> Self {
        let (pods, leases) = (Api::namespaced(client.clone(), &namespace), Api::namespaced(client, &namespace));
        Self { pods, leases, namespace, choice }
    }

    pub(super) async fn find(&self) -> anyhow::Result<DashboardPod> {
        let namespace = &self.namespace;
        let name = match &self.choice {
            Choice::Pod(name) => name.clone(),
            Choice::HolderOf { lease } => self.holder(lease).await?,
        };
        let read = self.pods.get_opt(&name).await;
        let pod = read.with_context(|| format!("cannot read the pod {namespace}/{name}"))?;
        let pod = pod.with_context(|| format!("there is no pod {namespace}/{name}; name one with --pod"))?;
        let port = dashboard_port(&pod).with_context(|| {
            format!("the pod {namespace}/{name} has no port {PORT_NAME}; enable it with `--set operator.dashboard.enabled=true` of the chart")
        })?;
        Ok(DashboardPod { name, port })
    }

    async fn holder(&self, name: &str) -> anyhow::Result<String> {
        let namespace = &self.namespace;
        let read = self.leases.get_opt(name).await;
        let lease = read.with_context(|| format!("cannot read the Lease {namespace}/{name}"))?;
        let lease = lease.with_context(|| {
            format!("there is no Lease {namespace}/{name}; name the namespace of the operator with --namespace")
        })?;
        let holder = lease.spec.and_then(|spec| spec.holder_identity).filter(|holder| !holder.is_empty());
        let Some(holder) = holder else {
            bail!("no replica holds the Lease {namespace}/{name}; try again, or name a --pod")
        };
        Ok(instance_of(&holder).to_owned())
    }
}

/// The port that a container of the pod calls so.
fn dashboard_port(pod: &Pod) -> Option<u16> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
    let found = ports.find(|port| port.name.as_deref() == Some(PORT_NAME))?;
    u16::try_from(found.container_port).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_chart_calls_the_port_so() {
        let template = include_str!("../../../../config/helm/kedge/templates/operator-deployment.yaml");
        assert!(template.contains(&format!("- name: {PORT_NAME}\n")), "{template}");
    }

    #[test]
    fn the_port_is_found_by_its_name() {
        let pod = |ports: serde_json::Value| -> Pod {
            let container = json!({ "name": "operator", "ports": ports });
            serde_json::from_value(json!({ "spec": { "containers": [{ "name": "mesh" }, container] } })).unwrap()
        };
        let (health, own) =
            (json!({ "name": "health", "containerPort": 8081 }), json!({ "name": "dashboard", "containerPort": 8443 }));
        assert_eq!(dashboard_port(&pod(json!([health, own]))), Some(8443));
        assert_eq!(dashboard_port(&pod(json!([health]))), None);
        assert_eq!(dashboard_port(&Pod::default()), None);
    }
}
