//! `cargo xtask peer`: Kedge beside the real KEDA, both as processes on a real control plane. Not a part of CI: KEDA takes a quarter
//! of an hour to build.
//!
//! | module | what it holds |
//! |---|---|
//! | [`takeover`] | handing over from KEDA to Kedge and back, watched all the time |
//! | [`fleet`] | the ScaledObjects that are handed over |
//! | [`operators`] | KEDA and Kedge as processes: starting, stopping, pointing the API server at one |
//! | [`recorder`] | every change of what is watched |
//! | [`prober`] | requests for external metrics, ten a second |
//! | [`audit`] | writes by user, from the audit log |
//! | [`helm`] | the Helm releases of both |
//! | [`report`] | the result, as a table and in a document |

mod audit;
mod fleet;
mod helm;
mod operators;
mod prober;
mod recorder;
mod report;
mod takeover;

use std::process::ExitCode;

use clap::Parser;

/// Measure Kedge beside the real KEDA, which is built the first time; the build takes a quarter of an hour
#[derive(Parser)]
#[command(name = "cargo xtask peer", bin_name = "cargo xtask peer", arg_required_else_help = true)]
enum Command {
    /// Hand 50 ScaledObjects over from KEDA to Kedge and back, and fail if anything changes
    Takeover(takeover::Args),
}

fn main() -> ExitCode {
    let Command::Takeover(args) = Command::parse();
    match takeover::run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
