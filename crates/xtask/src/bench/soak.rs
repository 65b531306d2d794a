//! Two replicas of the operator beside a real control plane for an hour or more, while objects, sources and leaders change all the time.
//! First without kills, so that a leak would show in each process; then with kills of the leader.
//!
//! | module | contents |
//! |---|---|
//! | `fleet` | the ScaledObjects, and what happens to them |
//! | `samples` | what each process weighs over time, and whether that grows |
//! | `graph` | the samples as a picture |

mod fleet;
mod graph;
mod samples;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use kedge_core::rng::Rng;
use kedge_test_cluster::cargo::workspace;
use kedge_test_cluster::{Cluster, Launch, RunningOperator};

use super::replicas::{leader, replica};
use crate::image;
use fleet::Fleet;
use samples::{Sample, Samples};

/// How often something happens to the fleet.
const TICK: Duration = Duration::from_secs(1);
/// How often the processes are weighed, and how often a leader is killed, in ticks.
const SAMPLE_EVERY: u64 = 10;
const KILL_EVERY: u64 = 60;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Create this many ScaledObjects
    #[arg(long, default_value_t = 500)]
    objects: usize,

    /// Run this long without kills
    #[arg(long, default_value_t = 50)]
    minutes: u64,

    /// Then run this long with kills of the leader
    #[arg(long, default_value_t = 15)]
    minutes_with_kills: u64,

    /// Write the samples (soak.csv) and the graph (soak.svg) to this folder
    #[arg(long, default_value = "target/soak")]
    output: PathBuf,
}

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.objects > 0 && args.minutes > 0, "--objects and --minutes must be above 0");
    println!("building as for the image, in release mode");
    let program = image::build()?;
    println!("starting a cluster");
    let cluster = Cluster::builder("soak").nodes(1 + args.objects.div_ceil(50)).start().await?;
    cluster.install_crds(&workspace().join("crds"))?;
    let launches = (0..2).map(launch).collect();
    let (mut operators, _balancer) = RunningOperator::launch_replicas(&cluster, &program, launches).await?;
    println!("creating {} ScaledObjects", args.objects);
    let mut fleet = Fleet::create(&cluster, args.objects).await?;

    let mut samples = Samples::default();
    let mut rng = Rng::from_seed(1);
    let (calm, all) = (args.minutes * 60, (args.minutes + args.minutes_with_kills) * 60);
    let started_at = Instant::now();
    let mut kills = 0;
    for tick in 0..all {
        tokio::time::sleep_until((started_at + TICK * u32::try_from(tick)?).into()).await;
        fleet.disturb(tick, &mut rng).await?;
        if tick.is_multiple_of(SAMPLE_EVERY) {
            for (replica, operator) in operators.iter_mut().enumerate() {
                operator.check()?;
                let sample = Sample::take(operator, replica, tick, tick >= calm).await;
                samples.add(sample.with_context(|| format!("cannot weigh replica {replica} after {tick} s"))?);
            }
        }
        if tick >= calm && tick.is_multiple_of(KILL_EVERY) {
            kills += usize::from(kill_leader(&cluster, &mut operators)?);
        }
        if tick.is_multiple_of(300) {
            println!("{:>4} min  {}", tick / 60, samples.latest());
        }
    }
    fs::create_dir_all(&args.output)?;
    fs::write(args.output.join("soak.csv"), samples.csv())?;
    fs::write(args.output.join("soak.svg"), graph::render(&samples))?;
    println!("{} kills; {}", kills, fleet.summary());
    println!("everything becomes active; waiting until each target has its replicas");
    fleet.until_all_are_scaled().await?;
    println!("nothing is lost: {} targets have their replicas", args.objects);
    let growth = samples.growth();
    println!("{growth}");
    ensure!(growth.is_flat(), "a process grew; see {}", args.output.join("soak.csv").display());
    Ok(())
}

/// A replica whose certificate lasts minutes.
fn launch(number: usize) -> Launch {
    let flags = [
        "--enable-cert-rotation",
        "--cert-secret-name=soak-certs",
        "--metrics-server-service-name=kedge-metrics",
        "--enable-webhook-patching=false",
        "--cert-lifetime=180s",
        "--cert-authority-lifetime=15m",
    ];
    replica(number, &flags)
}

/// Kills the leader and starts it again; returns whether there was one.
fn kill_leader(cluster: &Cluster, operators: &mut [RunningOperator]) -> anyhow::Result<bool> {
    match leader(cluster)? {
        Some(number) => operators[number].kill_and_restart().map(|()| true),
        None => Ok(false),
    }
}
