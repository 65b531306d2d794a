//! `cargo xtask test`: the one test command. It runs every step, then reports where the time went and what failed.
//!
//! | module | what it holds |
//! |---|---|
//! | `steps` | running steps in two lanes, each after the steps that it needs |
//! | `command` | the commands that steps are made of |
//! | `summary` | the time table, and how to repeat what failed |

mod command;
mod steps;
mod summary;

use std::iter;
use std::time::Instant;

use anyhow::{Context, bail};
use kedge_test_cluster::{cargo, control_plane};

use crate::faults;
use command::{Invocation, Output};
use steps::{Lane, Step};

/// The tests on a cluster, as arguments of cargo. `--workspace` chooses the same features of dependencies as every other step, so
/// that nothing is compiled twice.
const CLUSTER_TESTS: [&str; 3] = ["--workspace", "--test", "cluster"];

/// The benchmarks without a cluster, as arguments of cargo.
const BENCHMARKS: [&str; 7] = ["--workspace", "--bench", "decisions", "--bench", "queries", "--bench", "fleet"];

/// How many cluster tests run at once on each core: they wait for much of their time.
const CLUSTER_TESTS_PER_CORE: usize = 2;

/// The programs that tests start, built in one go. Naming an example makes cargo choose the features that tests have, so that
/// nothing is compiled twice.
const PROGRAMS: [&str; 9] =
    ["--workspace", "--bin", "kedge", "--bin", "xtask", "--bin", "kedge-plane", "--example", "scaler"];

mod step_names {
    pub(super) const BUILD: &str = "build the tests and programs";
    pub(super) const TOOLS: &str = "programs of the cluster";
    pub(super) const IMAGE: &str = "program of the image";
    pub(super) const FAULTS_BUILD: &str = "build the fault suite";
}
use step_names::{BUILD, FAULTS_BUILD, IMAGE, TOOLS};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave out the tests on a real cluster, which need Go to build its programs
    #[arg(long)]
    no_cluster: bool,

    /// Set how many cluster tests run at once; two per core unless given
    #[arg(long, value_name = "N")]
    cluster_tests_at_once: Option<usize>,

    /// Run only the tests whose name contains this text; leaves out the fault suite and the program of the image
    filter: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let started = Instant::now();
    let results = steps::run_all(&plan(args));
    print!("{}", summary::render(&results, started.elapsed()));
    if args.no_cluster {
        println!("left out: the tests on a real cluster (--no-cluster)");
    }
    if !summary::has_passed(&results) {
        bail!("not all steps passed");
    }
    Ok(())
}

/// Every step, in order.
fn plan(args: &Args) -> Vec<Step<'_>> {
    let filter = args.filter.as_deref();
    let mut steps = vec![
        step(BUILD, &[], vec![cargo_with(["test", "--no-run"], &["--workspace"]), cargo_with(["build"], &PROGRAMS)]),
        step("unit tests", &[BUILD], vec![test(&["--workspace", "--exclude", "kedge-tests"], filter)]),
        step("golden tests", &[BUILD], vec![test(&["--workspace", "--test", "golden"], filter)]),
    ];
    if args.filter.is_none() {
        steps.push(step("benchmarks, each once", &[BUILD], vec![test(&BENCHMARKS, None)]));
        steps.extend(fault_suite());
    }
    if !args.no_cluster {
        steps.extend(on_clusters(args));
    }
    steps
}

/// The fault suite runs beside the cluster tests, which leave the processor idle for much of their time. Built beside them, it would begin
/// when they are over.
fn fault_suite() -> [Step<'static>; 3] {
    let (runs, minutes) = (faults::RUNS.to_string(), faults::MINUTES_MAX.to_string());
    let suite = |arguments: &[&str]| vec![Invocation::xtask(iter::once("faults").chain(arguments.iter().copied()))];
    let in_background = |step| Step { lane: Lane::Back, ..step };
    [
        step(FAULTS_BUILD, &[], vec![Invocation::cargo(faults::build_arguments())]),
        in_background(step("fault suite", &[FAULTS_BUILD], suite(&["--runs", &runs, "--minutes-max", &minutes]))),
        in_background(step("mutants in the fault suite", &[FAULTS_BUILD], suite(&["--mutants"]))),
    ]
}

fn on_clusters(args: &Args) -> Vec<Step<'_>> {
    let filter = args.filter.as_deref();
    let mut steps = vec![step(TOOLS, &[], vec![Invocation::xtask(["tools"])])];
    let mut needs = vec![BUILD, TOOLS];
    if args.filter.is_none() {
        // A test would build it as well, while other tests wait for the processor.
        steps.push(step(IMAGE, &[], vec![Invocation::new("config/image/build", ["target/image/kedge-dev", "dev"])]));
        needs.push(IMAGE);
    }
    let at_once = at_once(args);
    let threads = ["--", "--test-threads", &at_once];
    let with_threads = |mut invocation: Invocation| {
        invocation.extend(threads);
        invocation
    };
    steps.push(step("cluster tests", &needs, vec![with_threads(test(&CLUSTER_TESTS, filter))]));
    steps.push(on_the_plane(filter, &at_once));
    steps.push(step("parity with KEDA", &[BUILD, TOOLS], vec![test(&["--workspace", "--test", "parity"], filter)]));
    let conformance = test(&["--workspace", "--test", "conformance"], filter);
    steps.push(step("conformance of the plane", &[BUILD, TOOLS], vec![conformance]));
    steps
}

fn at_once(args: &Args) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    args.cluster_tests_at_once.unwrap_or(CLUSTER_TESTS_PER_CORE * cores).to_string()
}

/// The tests of ScaledObjects once more, on the Kubernetes API in memory.
fn on_the_plane<'a>(filter: Option<&'a str>, at_once: &str) -> Step<'a> {
    let invocation = |rest: &[&str]| {
        let arguments = [&["test"], &CLUSTER_TESTS[..], &["--", "--test-threads", at_once], rest].concat();
        Invocation::cargo(arguments).env(control_plane::VARIABLE, "embedded")
    };
    let Some(filter) = filter else {
        return step("scaling tests on the plane", &[BUILD, TOOLS], vec![invocation(&["scaling::"])]);
    };
    let repeat = format!("{}", invocation(&["scaling::"]));
    let at_once = at_once.to_owned();
    let work = move |output: &Output| -> anyhow::Result<()> {
        let names = scaling_tests(filter)?;
        if names.is_empty() {
            println!("no scaling test has this name");
            return Ok(());
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let arguments =
            [&["test"], &CLUSTER_TESTS[..], &["--", "--test-threads", &at_once, "--exact"], &names].concat();
        Invocation::cargo(arguments).env(control_plane::VARIABLE, "embedded").run(output)
    };
    let needs = vec![BUILD, TOOLS];
    Step { name: "scaling tests on the plane", lane: Lane::Front, needs, repeat, work: Box::new(work) }
}

/// The scaling tests whose name contains a text. The test harness knows "one of these names", but not "both of these parts of a
/// name", so the names are listed first.
fn scaling_tests(filter: &str) -> anyhow::Result<Vec<String>> {
    let arguments = [&["test", "--quiet"], &CLUSTER_TESTS[..], &["--", "--list", "--format=terse"]].concat();
    let listed = cargo::command(&arguments).output().context("cannot start cargo")?;
    if !listed.status.success() {
        bail!("cannot list the tests: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let listed = String::from_utf8(listed.stdout)?;
    let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.filter(|name| name.starts_with("scaling::") && name.contains(filter)).map(str::to_owned).collect())
}

/// A step of the front lane that runs commands, all of them, and fails when one does.
fn step(name: &'static str, needs: &[&'static str], commands: Vec<Invocation>) -> Step<'static> {
    let repeat = commands.iter().map(Invocation::to_string).collect::<Vec<_>>().join(" && ");
    let work = move |output: &Output| commands.iter().try_for_each(|command| command.run(output));
    Step { name, lane: Lane::Front, needs: needs.to_vec(), repeat, work: Box::new(work) }
}

/// `cargo test` of these targets, which continues after a failing target.
fn test(targets: &[&str], filter: Option<&str>) -> Invocation {
    Invocation::cargo(["test", "--no-fail-fast"].into_iter().chain(targets.iter().copied()).chain(filter))
}

fn cargo_with<const N: usize>(command: [&str; N], arguments: &[&str]) -> Invocation {
    Invocation::cargo(command.into_iter().chain(arguments.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(no_cluster: bool, filter: Option<&str>) -> Args {
        Args { no_cluster, cluster_tests_at_once: Some(4), filter: filter.map(str::to_owned) }
    }

    fn repeats(args: &Args) -> Vec<String> {
        plan(args).into_iter().map(|step| step.repeat).collect()
    }

    #[test]
    fn every_step_has_a_command_that_repeats_it() {
        let repeats = repeats(&args(false, None));
        assert_eq!(repeats.len(), 13, "{repeats:#?}");
        for expected in [
            "cargo test --no-fail-fast --workspace --exclude kedge-tests",
            "cargo test --no-fail-fast --workspace --test cluster -- --test-threads 4",
            "KEDGE_TEST_PLANE=embedded cargo test --workspace --test cluster -- --test-threads 4 scaling::",
            "config/image/build target/image/kedge-dev dev",
            "cargo xtask faults --mutants",
        ] {
            assert!(repeats.iter().any(|repeat| repeat == expected), "{expected} is not in {repeats:#?}");
        }
    }

    #[test]
    fn a_filter_leaves_out_what_has_no_names() {
        let repeats = repeats(&args(false, Some("push")));
        assert!(repeats.iter().all(|repeat| !repeat.contains("faults") && !repeat.contains("image")), "{repeats:#?}");
        assert!(repeats.iter().any(|repeat| repeat.ends_with("--test golden push")), "{repeats:#?}");
    }

    #[test]
    fn without_a_cluster_no_step_needs_one() {
        let repeats = repeats(&args(true, None));
        assert!(repeats.iter().all(|repeat| !repeat.contains("cluster")), "{repeats:#?}");
    }
}
