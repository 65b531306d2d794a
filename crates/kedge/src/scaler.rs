//! `kedge scaler`: for authors of external scalers.

mod check;

use crate::outcome::Outcome;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Call an external scaler as the operator would, print its responses, and report what is wrong with them
    Check(check::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.command {
        Command::Check(args) => check::run(args),
    }
}
