//! `kedge scaler`: for those who write external scalers.

mod check;

use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Call an external scaler as the operator would, show what it answers, and say what is wrong with it
    Check(check::Args),
}

pub(crate) fn run(args: &Args) -> ExitCode {
    match &args.command {
        Command::Check(args) => check::run(args),
    }
}
