//! `cargo xtask peer`: measures Kedge beside the real KEDA, both as processes on a real control plane. CI does not run
//! this program, since KEDA takes 15 minutes to build.
//!
//! | module | contents |
//! |---|---|
//! | [`load`] | the requests that both send to sources, for the same ScaledObjects |
//! | [`record`] | KEDA recorded for the parity tests |
//! | [`takeover`] | the steps of a takeover from KEDA to Kedge and back |
//! | [`results`] | what a takeover measures, as plain values |
//! | [`fleet`] | the ScaledObjects that are handed over |
//! | [`operators`] | KEDA and Kedge as processes: start, stop, and point the API server at one of them |
//! | [`recorder`] | watches, and records every change of the watched objects |
//! | [`prober`] | requests external metrics ten times a second |
//! | [`helm`] | the Helm releases of KEDA and Kedge |
//! | [`report`] | prints the result of a takeover as tables |

mod fleet;
mod helm;
mod load;
mod operators;
mod prober;
mod record;
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
    /// Count the requests that KEDA and Kedge send to sources for the same ScaledObjects, and fail if Kedge sends more
    Load(load::Args),

    /// Play cases of the parity tests with KEDA, and write what it does into tests/parity/keda/golden
    Record(record::Args),

    /// Hand 50 ScaledObjects over from KEDA to Kedge and back, and fail if anything changes
    Takeover(takeover::Args),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Load(args) => load::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Takeover(args) => takeover::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
