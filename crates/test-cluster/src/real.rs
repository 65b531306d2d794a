//! The real control plane: each of its programs started in its time.

use std::fs;
use std::path::Path;

use anyhow::Context;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::Api;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::components::{self, Ports};
use crate::metrics_server;
use crate::options::ClusterOptions;
use crate::ports::Port;
use crate::tools::{self, Tool};

const AUDIT_POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/config/audit-policy.yaml");
const STAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/config/stages.yaml");
const USAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/config/usage.yaml");

/// The programs that a cluster with these options consists of.
pub(crate) fn tools(options: &ClusterOptions) -> Vec<Tool> {
    Tool::CLUSTER.into_iter().chain(options.metrics_server.then_some(Tool::MetricsServer)).collect()
}

/// Starts everything, and returns when pods can run.
pub(crate) async fn start(cluster: &mut Cluster, options: &ClusterOptions) -> anyhow::Result<()> {
    let ports = reserve_ports(cluster)?;
    launch(cluster, options, ports)?;
    cluster.until_answering("kube-apiserver is ready").await?;
    launch_clients(cluster, options, ports)?;
    cluster.create_nodes(options.nodes).await?;
    let client = cluster.client().await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let work = async || accounts.get("default").await.map_err(|error| error.to_string());
    cluster.wait_alive("kube-controller-manager works", work).await?;
    cluster.until_nodes_are_ready(options.nodes).await?;
    if options.metrics_server { start_metrics_server(cluster, &client, ports).await } else { Ok(()) }
}

fn reserve_ports(cluster: &mut Cluster) -> anyhow::Result<Ports> {
    let apiserver = cluster.apiserver_port();
    let mut port = || -> anyhow::Result<u16> {
        let port = Port::reserve()?;
        let number = port.number;
        cluster.reserved.push(port);
        Ok(number)
    };
    Ok(Ports {
        etcd_client: port()?,
        etcd_peer: port()?,
        apiserver,
        controller_manager: port()?,
        scheduler: port()?,
        kwok: port()?,
        metrics_server: port()?,
    })
}

/// Starts etcd and the API server, which waits for etcd by itself.
fn launch(cluster: &mut Cluster, options: &ClusterOptions, ports: Ports) -> anyhow::Result<()> {
    let (group, folder) = (&mut cluster.group, &cluster.folder);
    group.spawn("etcd", &tools::path(Tool::Etcd)?, components::etcd(folder, ports))?;
    let mut flags = components::apiserver(folder, ports, &cluster.pki, Path::new(AUDIT_POLICY));
    flags.extend(options.apiserver_flags.iter().cloned());
    group.spawn("kube-apiserver", &tools::path(Tool::KubeApiserver)?, flags)
}

/// Starts what needs an API server that answers: the controller manager gives up at once without one.
fn launch_clients(cluster: &mut Cluster, options: &ClusterOptions, ports: Ports) -> anyhow::Result<()> {
    let (group, pki) = (&mut cluster.group, &cluster.pki);
    let mut flags = components::controller_manager(ports, pki, options.hpa_sync_period);
    flags.extend(options.controller_manager_flags.iter().cloned());
    group.spawn("kube-controller-manager", &tools::path(Tool::KubeControllerManager)?, flags)?;
    let flags = components::scheduler(ports, pki);
    group.spawn("kube-scheduler", &tools::path(Tool::KubeScheduler)?, flags)?;
    let forwarded = cluster.folder.join("forwarded-ports.yaml");
    fs::write(&forwarded, forwarded_ports(options).to_string())?;
    let flags = components::kwok(ports, pki, &[Path::new(STAGES), Path::new(USAGE), &forwarded]);
    group.spawn("kwok", &tools::path(Tool::Kwok)?, flags)
}

/// kwok's configuration of forwarded ports.
fn forwarded_ports(options: &ClusterOptions) -> Value {
    let forward = |(of_pods, of_machine): &(u16, u16)| json!({ "ports": [of_pods], "target": { "address": "127.0.0.1", "port": of_machine } });
    json!({
        "apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterPortForward", "metadata": { "name": "forwarded-ports" },
        "spec": { "forwards": options.forwarded_ports.iter().map(forward).collect::<Vec<_>>() },
    })
}

async fn start_metrics_server(cluster: &mut Cluster, client: &kube::Client, ports: Ports) -> anyhow::Result<()> {
    let flags = components::metrics_server(&cluster.folder, ports, &cluster.pki);
    cluster.group.spawn("metrics-server", &tools::path(Tool::MetricsServer)?, flags)?;
    metrics_server::register(client, ports.metrics_server).await.context("metrics-server cannot be registered")?;
    cluster.wait_alive("metrics-server is available", async || metrics_server::is_available(client).await).await
}
