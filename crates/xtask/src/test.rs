//! `cargo xtask test`: the one test command. It runs everything, or says what it leaves out.

use std::time::{Duration, Instant};

use kedge_test_cluster::tools::{self, Tool};

use crate::{cargo, faults};

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
    times.measure("cluster tests", || cargo_test(&["--package", "kedge-tests", "--test", "cluster"]))?;
    times.measure("parity with KEDA", || cargo_test(&["--package", "kedge-tests", "--test", "parity"]))?;
    times.measure("the plane and a real API server", || {
        cargo_test(&["--package", "kedge-tests", "--test", "conformance"])
    })?;
    times.print();
    Ok(())
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
