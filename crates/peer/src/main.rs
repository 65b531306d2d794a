//! `cargo xtask peer`: measures Kedge beside the real KEDA, both as processes on a real control plane. CI does not run
//! this program, since KEDA takes 15 minutes to build.
//!
//! | module | contents |
//! |---|---|
//! | [`takeover`] | the steps of a takeover from KEDA to Kedge and back |
//! | [`results`] | what a takeover measures, as plain values |
//! | [`fleet`] | the ScaledObjects that are handed over |
//! | [`operators`] | KEDA and Kedge as processes: start, stop, and point the API server at one of them |
//! | [`recorder`] | watches, and records every change of the watched objects |
//! | [`prober`] | requests external metrics ten times a second |
//! | [`audit`] | counts writes by user, from the audit log |
//! | [`helm`] | the Helm releases of KEDA and Kedge |
//! | [`report`] | prints the result as tables, and writes them to a document |

mod audit;
mod fleet;
mod helm;
mod operators;
mod prober;
mod recorder;
mod report;
mod results;
mod takeover;

use std::process::ExitCode;

use clap::Parser;

/// Measure Kedge beside the real KEDA; the first run builds KEDA, which takes 15 minutes
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
