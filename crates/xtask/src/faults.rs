//! `cargo xtask faults`: the fault suite, built so that it is quick.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use kedge_test_cluster::cargo;

const PROGRAM: &str = "kedge-faults";

/// How many runs CI plays.
pub(crate) const RUNS: u64 = 20_000;

/// For how many minutes CI plays runs on a machine that is too slow for all of them.
pub(crate) const MINUTES_MAX: u32 = 30;

/// The profile of long series. The one that is shipped is optimized for size.
const QUICKLY_RUN: &str = "bench";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Set the number of runs
    #[arg(long, default_value_t = RUNS)]
    runs: u64,

    /// Set the number of the first run
    #[arg(long, default_value_t = 0)]
    from: u64,

    /// Continue after the last run recorded in this file, and record progress there
    #[arg(long)]
    resume: Option<PathBuf>,

    /// Stop after this many minutes, and print how many runs there were
    #[arg(long, value_name = "MINUTES")]
    minutes_max: Option<u32>,

    /// Build with all optimizations, for long series: the build takes five minutes, and each run is quicker
    #[arg(long)]
    release: bool,

    /// Build a copy of the operator with deliberate defects, and check that the suite detects each of them
    #[arg(long, conflicts_with_all = ["runs", "from", "resume", "minutes_max", "one"])]
    mutants: bool,

    /// Run only the run with this number, and print every request and response
    #[arg(long, conflicts_with_all = ["runs", "from", "resume", "minutes_max"])]
    one: Option<u64>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let text = |number: u64| number.to_string();
    let profile = if args.release { QUICKLY_RUN } else { cargo::QUICKLY_BUILT };
    if args.mutants {
        return suite(profile, &["mutants"]);
    }
    if let Some(number) = args.one {
        return suite(profile, &["one", &text(number)]);
    }
    let (runs, from) = (text(args.runs), text(args.from));
    let resume = args.resume.as_ref().map(|file| file.display().to_string());
    let mut arguments = vec!["run", "--runs", &runs, "--from", &from];
    let minutes = args.minutes_max.map(|minutes| minutes.to_string());
    arguments.extend(minutes.iter().flat_map(|minutes| ["--minutes-max", minutes.as_str()]));
    arguments.extend(resume.iter().flat_map(|file| ["--resume", file.as_str()]));
    suite(profile, &arguments)
}

/// The arguments of the cargo that builds the suite for the test command.
pub(crate) fn build_arguments() -> [&'static str; 9] {
    cargo::build_arguments(PROGRAM, cargo::QUICKLY_BUILT)
}

/// Builds the suite and runs a command of it.
fn suite(profile: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let program = cargo::build(PROGRAM, profile)?;
    let status = Command::new(program).args(arguments).status().context("cannot start the fault suite")?;
    if !status.success() {
        bail!("the fault suite failed ({status})");
    }
    Ok(())
}
