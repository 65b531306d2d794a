//! `kedge migrate`: from KEDA to Kedge and back, without losing an object on the way.
//!
//! | module | what it holds |
//! |---|---|
//! | `check` | the command that says what would not work |
//! | `survey` | what there is, judged |
//! | `report` | what is said of it, as text and as JSON |
//! | `prepare` | the command that hands things over |
//! | `plan` | what has to change, from what there is |
//! | `release` | releases as Helm stores them |
//! | `manifest` | marking objects in the text of a release |
//! | `contents` | what a release holds |
//! | `cluster` | reading what there is, and writing changes |

mod check;
mod cluster;
mod contents;
mod manifest;
mod plan;
mod prepare;
mod release;
mod report;
mod survey;

use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Say what would not work with Kedge, and what is to be done first; nothing is changed
    Check(check::Args),
    /// Protect the CRDs from `helm uninstall`, and hand them over to another release
    Prepare(prepare::Args),
}

/// Which cluster, and what Kedge's release is or will be.
#[derive(clap::Args)]
struct Place {
    /// The kubeconfig to use; without it, $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The Helm release that takes over
    #[arg(long, value_name = "NAME", default_value = "kedge")]
    release: String,

    /// The namespace of that release
    #[arg(long, short, value_name = "NAME", default_value = "kedge")]
    namespace: String,
}

impl Place {
    fn owner(&self) -> plan::Owner {
        plan::Owner { release: self.release.clone(), namespace: self.namespace.clone() }
    }
}

pub(crate) fn run(args: &Args) -> ExitCode {
    match &args.command {
        Command::Check(args) => check::run(args),
        Command::Prepare(args) => prepare::run(args),
    }
}

/// Runs to the end what asks a cluster.
fn wait_for<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
