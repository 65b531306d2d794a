//! `cargo xtask faults`: the fault suite, built so that it is quick.

use std::path::PathBuf;

use kedge_test_cluster::cargo;

/// How many runs CI plays.
pub(crate) const RUNS: u64 = 20_000;

/// The profile that is built sooner than it costs time to run.
pub(crate) const QUICKLY_BUILT: &str = "faults";

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

    /// Build in release mode, for long series: the build takes minutes, and each run is a little quicker
    #[arg(long)]
    release: bool,

    /// Build a copy of the operator with deliberate defects, and check that the suite detects each of them
    #[arg(long, conflicts_with_all = ["runs", "from", "resume", "one"])]
    mutants: bool,

    /// Run only the run with this number, and print every request and response
    #[arg(long, conflicts_with_all = ["runs", "from", "resume"])]
    one: Option<u64>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let text = |number: u64| number.to_string();
    let profile = if args.release { "release" } else { QUICKLY_BUILT };
    if args.mutants {
        return suite(profile, &["mutants"]);
    }
    if let Some(number) = args.one {
        return suite(profile, &["one", &text(number)]);
    }
    let (runs, from) = (text(args.runs), text(args.from));
    let resume = args.resume.as_ref().map(|file| file.display().to_string());
    let mut arguments = vec!["run", "--runs", &runs, "--from", &from];
    arguments.extend(resume.iter().flat_map(|file| ["--resume", file.as_str()]));
    suite(profile, &arguments)
}

fn suite(profile: &str, command: &[&str]) -> anyhow::Result<()> {
    cargo::run(&arguments(profile, command))
}

/// The arguments of the cargo that builds the suite and runs a command of it.
pub(crate) fn arguments<'a>(profile: &'a str, command: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--quiet", "--profile", profile, "--package", "kedge-faults", "--"], command].concat()
}
