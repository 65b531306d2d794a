//! The releases: a chart that replaces KEDA's, and ours. Their pods are played and run nothing; the processes run beside them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use kedge_test_cluster::running_keda::NAMESPACE;
use kedge_test_cluster::tools::{self, Tool};
use kedge_test_cluster::{Cluster, keda};

use kedge_test_cluster::cargo::workspace;

/// The release that takes over, and its namespace.
pub(crate) const KEDGE: &str = "kedge";

/// Installs the CRDs, registrations and the rest as KEDA's chart does: all of it goes when it is uninstalled.
pub(crate) fn install_keda(cluster: &Cluster) -> anyhow::Result<()> {
    let chart = keda::write_chart(&cluster.folder().join("keda-chart"))?;
    helm(cluster, &["install", "keda", &chart.display().to_string(), &in_namespace(NAMESPACE), "--create-namespace"])
}

/// Installs our chart. No pod runs its image, so its webhooks do not respond and no certificates are created.
pub(crate) fn install_kedge(cluster: &Cluster) -> anyhow::Result<()> {
    let chart = workspace().join("config/helm/kedge").display().to_string();
    let own = ["--set=operator.name=kedge-operator", "--set=webhooks.timeoutSeconds=1"];
    let fixed = ["install", KEDGE, &chart, &in_namespace(KEDGE), "--create-namespace"];
    helm(cluster, &[&fixed[..], &own].concat())
}

pub(crate) fn uninstall_keda(cluster: &Cluster) -> anyhow::Result<()> {
    helm(cluster, &["uninstall", "keda", &in_namespace(NAMESPACE), "--wait", "--timeout=60s"])
}

/// Has Kedge protect what would go with KEDA's release, and hand it over to ours.
pub(crate) fn prepare(cluster: &Cluster, kedge: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(kedge);
    command.args(["migrate", "prepare", "--kubeconfig"]).arg(cluster.kubeconfig());
    succeed(command, "kedge migrate prepare")
}

fn helm(cluster: &Cluster, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(tools::path(Tool::Helm)?);
    command.args(arguments).arg("--kubeconfig").arg(cluster.kubeconfig());
    succeed(command, &format!("helm {} {}", arguments[0], arguments[1]))
}

/// Runs a command without keeping others from their work.
fn succeed(mut command: Command, title: &str) -> anyhow::Result<()> {
    let output = tokio::task::block_in_place(|| command.output()).with_context(|| format!("{title} cannot start"))?;
    if !output.status.success() {
        bail!("{title} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

fn in_namespace(name: &str) -> String {
    format!("--namespace={name}")
}
