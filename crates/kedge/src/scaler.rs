//! `kedge scaler`: checks of triggers and of external scalers.

mod check;

use crate::outcome::Outcome;
use crate::settings::Environment;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Ask the source of each trigger of a manifest once, or call an external scaler, and report what is wrong
    Check(Box<check::Args>),
}

pub(crate) fn run(args: &Args, environment: &Environment) -> anyhow::Result<Outcome> {
    match &args.command {
        Command::Check(args) => check::run(args, environment),
    }
}
