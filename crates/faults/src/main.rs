//! `kedge-faults`: the command line of the fault suite.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Parser, Subcommand};
use kedge_faults::batch::{Failure, Limits, Summary, run_batch};
use kedge_faults::plan::SuitePlan;
use kedge_faults::run::run_with_faults;
use kedge_faults::{mutants, scenario};

/// A sixth quicker than glibc's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Run the operator on an in-memory Kubernetes API, in virtual time, and inject faults.
#[derive(Parser)]
#[command(version, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Execute many runs, and report those that violate an invariant.
    Run {
        /// Execute this many runs.
        #[arg(long, default_value_t = 10_000)]
        runs: u64,
        /// Start with this run number.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// Execute this many runs in parallel (default: the number of cores).
        #[arg(long)]
        threads: Option<usize>,
        /// Store the progress in this file, and continue from there.
        #[arg(long)]
        resume: Option<PathBuf>,
        /// Stop after this many failures.
        #[arg(long, default_value_t = 20)]
        failures_max: usize,
        /// Stop after this many minutes, and print how many runs there were.
        #[arg(long)]
        minutes_max: Option<u32>,
    },
    /// Execute one run, and print every request and response.
    One { number: u64 },
    /// Execute runs of one scenario until one violates an invariant, and print the violation; fail if none does.
    FindViolation {
        /// Run the scenario of this name.
        #[arg(long)]
        scenario: String,
        /// Stop after this many runs.
        #[arg(long, default_value_t = 4_000)]
        runs: u64,
    },
    /// Build a copy of the operator with deliberate defects, and check that the suite detects each of them.
    Mutants {
        /// Stop after this many runs of a mutant.
        #[arg(long, default_value_t = 4_000)]
        runs: u64,
    },
    /// List the scenarios, with the number of requests, writes, watch events and queries of each.
    Scenarios,
}

fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().command {
        Command::Run { runs, from, threads, resume, failures_max, minutes_max } => {
            let until = minutes_max.map(|minutes| Instant::now() + Duration::from_secs(60) * minutes);
            run(runs, from, Limits { threads: threads.unwrap_or_else(cores), failures_max, until }, resume)
        }
        Command::One { number } => Ok(one(number)),
        Command::FindViolation { scenario, runs } => find_violation(&scenario, runs),
        Command::Mutants { runs } => mutants::detect_all(runs),
        Command::Scenarios => Ok(scenarios()),
    }
}

/// Executes runs in parts, and stores the progress after each.
fn run(runs: u64, from: u64, limits: Limits, resume: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    const PART: u64 = 5_000;
    let suite = SuitePlan::all_scenarios();
    let mut ok = report_baselines(&suite);
    println!("{} runs with a single fault, then several at once", suite.single_faults());
    let mut done = match &resume {
        Some(file) => read_progress(file)?.max(from),
        None => from,
    };
    let end = from + runs;
    let mut failures = 0;
    while done < end && failures < limits.failures_max {
        let part = done..end.min(done + PART);
        let summary = run_batch(&suite, part.clone(), limits, |finished, took| {
            let rate = finished as f64 / took.as_secs_f64();
            eprintln!("{} of {end}, {rate:.0} a second", part.start + finished);
        });
        summary.failures.iter().for_each(print_failure);
        // Runs are started in their order, and each that was started has ended.
        done += summary.runs;
        print_progress(done, end, &summary);
        failures += summary.failures.len();
        ok &= summary.failures.is_empty();
        if let (Some(file), true) = (&resume, summary.failures.is_empty()) {
            std::fs::write(file, done.to_string()).with_context(|| format!("cannot write {}", file.display()))?;
        }
        if done < part.end {
            println!("stopped before run {end}: the time or the failures are at their limit");
            break;
        }
    }
    println!("{failures} failures in all");
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read_progress(file: &PathBuf) -> anyhow::Result<u64> {
    match std::fs::read_to_string(file) {
        Ok(text) => text.trim().parse().with_context(|| format!("{} does not hold a number", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

fn print_progress(done: u64, end: u64, summary: &Summary) {
    let days = summary.virtual_time.as_secs_f64() / 86_400.0;
    println!(
        "{done} of {end}: {} runs, {days:.1} days of virtual time, {} failures",
        summary.runs,
        summary.failures.len()
    );
}

fn print_failure(failure: &Failure) {
    println!("run {} ({}): {}", failure.number, failure.scenario, failure.faults.join("; "));
    failure.violations.iter().for_each(|violation| println!("    {violation}"));
    println!("    repeat it with: cargo xtask faults --one {}", failure.number);
}

fn report_baselines(suite: &SuitePlan) -> bool {
    let failing = suite.baselines().filter(|baseline| !baseline.violations.is_empty());
    let printed = failing.inspect(|baseline| {
        println!("{} without faults:", baseline.scenario.name);
        baseline.violations.iter().for_each(|violation| println!("    {violation}"));
    });
    printed.count() == 0
}

fn one(number: u64) -> ExitCode {
    let suite = SuitePlan::all_scenarios();
    let plan = suite.plan(number);
    println!("{}", plan.baseline.scenario.name);
    plan.faults.iter().for_each(|fault| println!("  {fault}"));
    let outcome = run_with_faults(&plan);
    for line in outcome.record.lines() {
        println!("{line}");
    }
    println!("virtual time: {:?}", outcome.virtual_time);
    outcome.violations.iter().for_each(|violation| println!("VIOLATION {violation}"));
    if outcome.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn find_violation(name: &str, runs: u64) -> anyhow::Result<ExitCode> {
    let scenario = scenario::all().into_iter().find(|scenario| scenario.name == name);
    let suite = SuitePlan::for_scenarios(vec![scenario.with_context(|| format!("scenario {name} does not exist"))?]);
    let limits = Limits { threads: cores(), failures_max: 1, until: None };
    let summary = run_batch(&suite, 0..runs, limits, |_, _| {});
    let Some(failure) = summary.failures.first() else { return Ok(ExitCode::FAILURE) };
    let violation = failure.violations.first().map_or("", String::as_str);
    println!("detected after {} runs of {name}: {violation}", summary.runs);
    Ok(ExitCode::SUCCESS)
}

fn scenarios() -> ExitCode {
    let suite = SuitePlan::all_scenarios();
    println!("{:<22} {:>7} {:>7} {:>7} {:>9}", "scenario", "calls", "writes", "events", "queries");
    for baseline in suite.baselines() {
        let counts = baseline.counts;
        let name = baseline.scenario.name;
        println!("{name:<22} {:>7} {:>7} {:>7} {:>9}", counts.calls, counts.writes, counts.events, counts.queries);
    }
    if report_baselines(&suite) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
