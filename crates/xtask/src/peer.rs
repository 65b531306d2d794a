//! `cargo xtask peer`: Kedge beside the real KEDA, both as processes at work on a real control plane. Not a part of CI: KEDA takes a
//! quarter of an hour to build.
//!
//! | module | what it holds |
//! |---|---|
//! | [`takeover`] | the one from the other and back again, watched all the time |
//! | [`fleet`] | the ScaledObjects that are handed over |
//! | [`source`] | where their values come from |
//! | [`regime`] | who is in charge: starting, stopping, telling the API server |
//! | [`recorder`] | every change of what is watched |
//! | [`prober`] | whether external metrics are answered, ten times a second |
//! | [`audit`] | who wrote what |
//! | [`helm`] | the releases of both |
//! | [`report`] | the result, as a table and in a document |

mod audit;
mod fleet;
mod helm;
mod prober;
mod recorder;
mod regime;
mod report;
mod source;
mod takeover;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Hand 50 ScaledObjects over from KEDA to Kedge and back, and fail if anything moves
    Takeover(takeover::Args),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Takeover(args) => takeover::run(args),
    }
}
