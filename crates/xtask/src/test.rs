//! `cargo xtask test`: the one test command. It runs everything, or says what it leaves out.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kedge_test_cluster::control_plane;
use kedge_test_cluster::tools::{self, Tool};

use crate::{cargo, cargo_command, faults, image};

/// The tests on a cluster, as cargo is told.
const CLUSTER_TESTS: [&str; 4] = ["--package", "kedge-tests", "--test", "cluster"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave out the tests on a real cluster, which need Go to build its programs
    #[arg(long)]
    no_cluster: bool,

    /// Run only tests whose name contains this
    filter: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let filter: Vec<&str> = args.filter.as_deref().into_iter().collect();
    let cargo_test = |arguments: &[&str]| cargo(&[&["test"], arguments, &filter].concat());
    let mut times = Times::default();
    times.measure("unit tests", || cargo_test(&["--workspace", "--exclude", "kedge-tests"]))?;
    times.measure("golden tests", || cargo_test(&["--package", "kedge-tests", "--test", "golden"]))?;
    if args.filter.is_none() {
        times.measure("fault suite", faults::in_ci)?;
    }
    if args.no_cluster {
        times.print();
        println!("left out: the tests on a real cluster (--no-cluster)");
        return Ok(());
    }
    times.measure("programs for the cluster", || tools::build(&Tool::ALL))?;
    if args.filter.is_none() {
        // A test would build it anyway, but beside others, which then wait for the machine.
        times.measure("the program of the image", || image::build().map(drop))?;
    }
    times.measure("cluster tests", || cargo_test(&CLUSTER_TESTS))?;
    times.measure("scaling tests on the plane", || on_the_plane(&filter))?;
    times.measure("parity with KEDA", || cargo_test(&["--package", "kedge-tests", "--test", "parity"]))?;
    times.measure("the plane and a real API server", || {
        cargo_test(&["--package", "kedge-tests", "--test", "conformance"])
    })?;
    times.print();
    Ok(())
}

/// Runs the tests of ScaledObjects once more, on the API in memory. Cargo knows "one of these names" but no "both of these
/// parts of a name", so the names are looked up first.
fn on_the_plane(filter: &[&str]) -> anyhow::Result<()> {
    let mut cargo =
        cargo_command(&[&["test", "--quiet"], &CLUSTER_TESTS[..], &["--", "--list", "--format=terse"]].concat());
    let listed = cargo.output().context("cannot start cargo")?;
    if !listed.status.success() {
        bail!("the tests cannot be listed: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let listed = String::from_utf8(listed.stdout)?;
    let is_meant = |name: &&str| name.starts_with("scaling::") && filter.iter().all(|part| name.contains(part));
    let names: Vec<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).filter(is_meant).collect();
    if names.is_empty() {
        println!("none of them is meant");
        return Ok(());
    }
    let mut cargo = cargo_command(&[&["test"], &CLUSTER_TESTS[..], &["--", "--exact"], &names].concat());
    crate::run(cargo.env(control_plane::VARIABLE, "embedded"))
}

/// Where the time went.
#[derive(Default)]
struct Times(Vec<(&'static str, Duration)>);

impl Times {
    fn measure(&mut self, step: &'static str, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        println!("== {step}");
        let started = Instant::now();
        work()?;
        self.0.push((step, started.elapsed()));
        Ok(())
    }

    fn print(&self) {
        println!("== where the time went");
        for (step, time) in &self.0 {
            println!("{:>5} s  {step}", time.as_secs());
        }
    }
}
