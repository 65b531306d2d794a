//! The Helm releases: a chart that replaces KEDA's, and Kedge's own. kwok simulates their pods; the operators run
//! as processes outside.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use kedge_test_cluster::cargo::workspace;
use kedge_test_cluster::running_keda::NAMESPACE;
use kedge_test_cluster::tools::{self, Tool};
use kedge_test_cluster::{Cluster, keda};

/// The name of Kedge's release, and of its namespace.
pub(crate) const KEDGE_RELEASE: &str = "kedge";

/// Installs the CRDs, webhook configurations and other objects that KEDA's chart owns. `helm uninstall` deletes them.
pub(crate) fn install_keda(cluster: &Cluster) -> anyhow::Result<()> {
    let chart = keda::write_chart(&cluster.folder().join("keda-chart"))?;
    helm(cluster, &["install", "keda", &chart.display().to_string(), &namespace_flag(NAMESPACE), "--create-namespace"])
}

/// Installs Kedge's chart. No pod runs its image, so its webhooks do not respond and no certificates are created.
pub(crate) fn install_kedge(cluster: &Cluster) -> anyhow::Result<()> {
    let chart = workspace().join("config/helm/kedge").display().to_string();
    let values = ["--set=operator.name=kedge-operator", "--set=webhooks.timeoutSeconds=1"];
    let install = ["install", KEDGE_RELEASE, &chart, &namespace_flag(KEDGE_RELEASE), "--create-namespace"];
    helm(cluster, &[&install[..], &values].concat())
}

pub(crate) fn uninstall_keda(cluster: &Cluster) -> anyhow::Result<()> {
    helm(cluster, &["uninstall", "keda", &namespace_flag(NAMESPACE), "--wait", "--timeout=60s"])
}

/// Runs `kedge migrate prepare`, which keeps the objects of KEDA's release and transfers them to Kedge's.
pub(crate) fn run_migrate_prepare(cluster: &Cluster, kedge_binary: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(kedge_binary);
    command.args(["migrate", "prepare", "--kubeconfig"]).arg(cluster.kubeconfig());
    run_command(command, "kedge migrate prepare")
}

fn helm(cluster: &Cluster, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(tools::path(Tool::Helm)?);
    command.args(arguments).arg("--kubeconfig").arg(cluster.kubeconfig());
    run_command(command, &format!("helm {} {}", arguments[0], arguments[1]))
}

/// Runs a command without blocking other tasks; fails if the command does.
fn run_command(mut command: Command, title: &str) -> anyhow::Result<()> {
    let output = tokio::task::block_in_place(|| command.output()).with_context(|| format!("{title} cannot start"))?;
    if !output.status.success() {
        bail!("{title} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

fn namespace_flag(name: &str) -> String {
    format!("--namespace={name}")
}
