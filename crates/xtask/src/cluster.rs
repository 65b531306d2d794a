//! `cargo xtask cluster`: a real control plane for a person to use.
//!
//! `run` owns a cluster and ends with it. `up` starts a `run` of its own in the background and returns when it is ready;
//! `down` asks it to end.

mod down;
mod run;
mod status;
mod up;

use std::time::Duration;

use kedge_test_cluster::StateFolder;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Start a cluster with Kedge's CRDs in the background, and return when it is ready
    Up(Choices),
    /// Start a cluster in the foreground; it ends with this command
    Run(run::Args),
    /// List the clusters
    Status,
    /// Stop a cluster; its logs stay
    Down(down::Args),
}

/// What may be chosen about a cluster.
#[derive(Clone, clap::Args)]
pub(crate) struct Choices {
    /// Name the cluster; clusters with different names run side by side
    #[arg(long, default_value = "default")]
    name: String,

    /// Set the number of nodes
    #[arg(long, default_value_t = 1)]
    nodes: usize,

    /// Set the sync period of the HPA controller, in milliseconds
    #[arg(long, default_value_t = 15_000, value_name = "MS")]
    hpa_sync_period_ms: u64,

    /// Run this checkout's operator beside the cluster
    #[arg(long)]
    with_operator: bool,

    /// Pass a flag to kube-controller-manager; may be repeated
    #[arg(long = "controller-manager-flag", value_name = "FLAG", allow_hyphen_values = true)]
    controller_manager_flags: Vec<String>,

    /// Pass a flag to kube-apiserver; may be repeated
    #[arg(long = "apiserver-flag", value_name = "FLAG", allow_hyphen_values = true)]
    apiserver_flags: Vec<String>,
}

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Up(choices) => up::run(&choices),
        Command::Run(args) => run::run(&args),
        Command::Status => status::run(),
        Command::Down(args) => down::run(&args),
    }
}

impl Choices {
    fn builder(&self) -> kedge_test_cluster::ClusterBuilder {
        let builder = kedge_test_cluster::Cluster::builder(&self.name)
            .nodes(self.nodes)
            .hpa_sync_period(Duration::from_millis(self.hpa_sync_period_ms));
        let builder = self.apiserver_flags.iter().fold(builder, |builder, flag| builder.apiserver_flag(flag));
        self.controller_manager_flags.iter().fold(builder, |builder, flag| builder.controller_manager_flag(flag))
    }

    /// The arguments that give the same choices to another process.
    fn to_arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--name={}", self.name),
            format!("--nodes={}", self.nodes),
            format!("--hpa-sync-period-ms={}", self.hpa_sync_period_ms),
        ];
        arguments.extend(self.with_operator.then(|| "--with-operator".to_owned()));
        arguments.extend(self.apiserver_flags.iter().map(|flag| format!("--apiserver-flag={flag}")));
        arguments.extend(self.controller_manager_flags.iter().map(|flag| format!("--controller-manager-flag={flag}")));
        arguments
    }
}

/// A file that says that a cluster is ready for use.
fn ready_file(state: &StateFolder) -> std::path::PathBuf {
    state.path().join("ready")
}

/// Says how to use a cluster that is ready.
fn print_usage(name: &str, state: &StateFolder) -> anyhow::Result<()> {
    use kedge_test_cluster::tools::{self, Tool};
    let kubeconfig = state.kubeconfig().unwrap_or_default();
    println!("cluster `{name}` is ready: Kubernetes with Kedge's CRDs");
    println!();
    println!("  export KUBECONFIG={}", kubeconfig.display());
    println!("  alias kubectl={}", tools::path(Tool::Kubectl)?.display());
    println!("  kubectl explain scaledobject.spec");
    println!("  kubectl apply --server-side -f config/samples/");
    println!();
    println!("  logs: {}", state.path().join("logs").display());
    println!("  stop: cargo xtask cluster down --name {name}");
    Ok(())
}
