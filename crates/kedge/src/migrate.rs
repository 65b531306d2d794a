//! `kedge migrate`: from KEDA to Kedge and back, without losing an object.
//!
//! | module | what it holds |
//! |---|---|
//! | `check` | the command that reports what would not work |
//! | `snapshot` | the part of a cluster that matters |
//! | `survey` | the issues of a cluster |
//! | `report` | the report of issues, as text and as JSON |
//! | `prepare` | the command that transfers ownership |
//! | `plan` | the changes that a transfer needs |
//! | `release` | releases as Helm stores them |
//! | `manifest` | annotations in the manifest of a release |
//! | `contents` | the objects of a release |
//! | `cluster` | reads of the cluster, and writes of changes |
//! | `target` | the release that takes over |

mod check;
mod cluster;
mod contents;
mod manifest;
mod plan;
mod prepare;
mod release;
mod report;
mod snapshot;
mod survey;
mod target;

use crate::outcome::Outcome;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Report what would not work with Kedge, and what to do first; changes nothing
    Check(check::Args),
    /// Protect the CRDs from `helm uninstall`, and transfer them to another release
    Prepare(prepare::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.command {
        Command::Check(args) => check::run(args),
        Command::Prepare(args) => prepare::run(args),
    }
}
