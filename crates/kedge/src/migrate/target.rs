//! The release that takes over, as arguments of the commands.

use std::path::PathBuf;

use super::plan::Owner;

/// The cluster, and the release that takes over.
#[derive(clap::Args)]
pub(super) struct ReleaseArgs {
    /// Use this kubeconfig; by default $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,

    /// Set the Helm release that takes over
    #[arg(long, value_name = "NAME", default_value = "kedge")]
    release: String,

    /// Set the namespace of that release
    #[arg(long, short, value_name = "NAME", default_value = "kedge")]
    namespace: String,
}

impl ReleaseArgs {
    pub(super) fn owner(&self) -> Owner {
        Owner { release: self.release.clone(), namespace: self.namespace.clone() }
    }
}

/// Runs asynchronous work to its end.
pub(super) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
