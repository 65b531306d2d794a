//! `kedge-faults`: plays runs of the fault suite.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use kedge_faults::plan::Book;
use kedge_faults::run::perturbed;
use kedge_faults::series::{Failure, Limits, Summary, play};
use kedge_faults::{mutants, scenario};

/// The operator on a Kubernetes API in memory, in virtual time, while something goes wrong.
#[derive(Parser)]
#[command(version, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Plays many runs, and says which break a law.
    Run {
        /// How many runs.
        #[arg(long, default_value_t = 10_000)]
        runs: u64,
        /// The number of the first.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// How many at once; as many as there are cores unless said otherwise.
        #[arg(long)]
        threads: Option<usize>,
        /// A file that remembers how far earlier runs came: this one goes on from there.
        #[arg(long)]
        resume: Option<PathBuf>,
        /// After so many failures the rest is left.
        #[arg(long, default_value_t = 20)]
        failures_max: usize,
    },
    /// Plays one run, and shows every request and answer of it.
    One { number: u64 },
    /// Runs one scenario until an invariant is violated, and prints the violation; fails when there is none.
    FindViolation {
        #[arg(long)]
        scenario: String,
        /// Gives up after this many runs.
        #[arg(long, default_value_t = 4_000)]
        runs: u64,
    },
    /// Builds a copy of the operator with deliberate defects, and checks that the suite detects each of them.
    Mutants {
        /// Gives a mutant up after this many runs.
        #[arg(long, default_value_t = 4_000)]
        runs: u64,
    },
    /// Lists the scenarios, and how much there is of everything in each.
    Scenarios,
}

fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().command {
        Command::Run { runs, from, threads, resume, failures_max } => {
            let limits = Limits { threads: threads.unwrap_or_else(cores), failures_max };
            run(runs, from, limits, resume)
        }
        Command::One { number } => Ok(one(number)),
        Command::FindViolation { scenario, runs } => find_violation(&scenario, runs),
        Command::Mutants { runs } => mutants::detect_all(runs),
        Command::Scenarios => Ok(scenarios()),
    }
}

/// Plays runs in parts, so that what is done is not done again if this is stopped.
fn run(runs: u64, from: u64, limits: Limits, resume: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    const PART: u64 = 5_000;
    let book = Book::open();
    let mut ok = report_baselines(&book);
    println!("{} runs with a single fault, then several at once", book.singles());
    let mut done = match &resume {
        Some(file) => read_progress(file)?.max(from),
        None => from,
    };
    let end = from + runs;
    let mut failures = 0;
    while done < end && failures < limits.failures_max {
        let part = done..end.min(done + PART);
        let summary = play(&book, part.clone(), limits, |played, took| {
            let rate = played as f64 / took.as_secs_f64();
            eprintln!("{} of {end}, {rate:.0} a second", part.start + played);
        });
        summary.failures.iter().for_each(tell);
        tell_progress(part.end, end, &summary);
        failures += summary.failures.len();
        ok &= summary.failures.is_empty();
        done = part.end;
        if let (Some(file), true) = (&resume, summary.failures.is_empty()) {
            std::fs::write(file, done.to_string()).with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read_progress(file: &PathBuf) -> anyhow::Result<u64> {
    match std::fs::read_to_string(file) {
        Ok(text) => text.trim().parse().with_context(|| format!("{} does not hold a number", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

fn tell_progress(done: u64, end: u64, summary: &Summary) {
    let days = summary.lived.as_secs_f64() / 86_400.0;
    println!("{done} of {end}: {} runs, {days:.1} days lived, {} failures", summary.runs, summary.failures.len());
}

fn tell(failure: &Failure) {
    println!("run {} ({}): {}", failure.number, failure.scenario, failure.faults.join("; "));
    failure.violations.iter().for_each(|violation| println!("    {violation}"));
    println!("    again: cargo xtask faults --one {}", failure.number);
}

fn report_baselines(book: &Book) -> bool {
    let wrong = book.baselines().filter(|baseline| !baseline.violations.is_empty());
    let told = wrong.inspect(|baseline| {
        println!("{} without any fault:", baseline.scenario.name);
        baseline.violations.iter().for_each(|violation| println!("    {violation}"));
    });
    told.count() == 0
}

fn one(number: u64) -> ExitCode {
    let book = Book::open();
    let plan = book.plan(number);
    println!("{}", plan.baseline.scenario.name);
    plan.faults.iter().for_each(|fault| println!("  {fault}"));
    let outcome = perturbed(&plan);
    for line in outcome.evidence.lines() {
        println!("{line}");
    }
    println!("it lasted {:?}", outcome.lasted);
    outcome.violations.iter().for_each(|violation| println!("VIOLATION {violation}"));
    if outcome.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn find_violation(name: &str, runs: u64) -> anyhow::Result<ExitCode> {
    let scenario = scenario::all().into_iter().find(|scenario| scenario.name == name);
    let book = Book::of(vec![scenario.with_context(|| format!("there is no scenario {name}"))?]);
    let limits = Limits { threads: cores(), failures_max: 1 };
    let summary = play(&book, 0..runs, limits, |_, _| {});
    let Some(failure) = summary.failures.first() else { return Ok(ExitCode::FAILURE) };
    let violation = failure.violations.first().map_or("", String::as_str);
    println!("detected after {} runs of {name}: {violation}", summary.runs);
    Ok(ExitCode::SUCCESS)
}

fn scenarios() -> ExitCode {
    let book = Book::open();
    println!("{:<22} {:>7} {:>7} {:>7} {:>9}", "scenario", "calls", "writes", "events", "questions");
    for baseline in book.baselines() {
        let counts = baseline.counts;
        let name = baseline.scenario.name;
        println!("{name:<22} {:>7} {:>7} {:>7} {:>9}", counts.calls, counts.writes, counts.events, counts.questions);
    }
    if report_baselines(&book) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
