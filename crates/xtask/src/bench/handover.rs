//! Two replicas with many active ScaledObjects, whose leader is asked to end: how long until the other leads.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use kedge_test_cluster::cargo::workspace;
use kedge_test_cluster::wait::wait_for;
use kedge_test_cluster::{Cluster, RunningOperator, operator};

use super::fleet::{Fleet, Shape};
use super::replicas::{leader, replica};
use super::settle::settle;
use super::source::TriggerType;
use crate::image;

/// How long the other replica may take.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Create this many ScaledObjects
    #[arg(long, default_value_t = 1_000)]
    objects: usize,
}

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.objects > 0, "--objects must be above 0");
    println!("building as for the image, in release mode");
    let program = tokio::task::block_in_place(image::build)?;
    println!("starting a cluster");
    let cluster = Cluster::builder("bench-handover").start().await?;
    cluster.install_crds(&workspace().join("crds"))?;
    let shape = Shape {
        objects: args.objects,
        namespaces: 1,
        trigger_type: TriggerType::Prometheus,
        triggers: 1,
        polling_seconds: 10,
    };
    let fleet = Fleet::create(&cluster, shape).await?;
    fleet.set_load(true).await?;
    let launches = (0..2).map(|number| replica(number, &[])).collect();
    let (mut operators, _balancer) = RunningOperator::launch_replicas(&cluster, &program, launches).await?;
    println!("creating {} ScaledObjects", args.objects);
    fleet.create_scaled_objects().await?;
    let waited = fleet.until_hpas(args.objects).await?;
    ensure!(waited.missing == 0, "{} ScaledObjects have no HPA", waited.missing);
    settle(&cluster, operator::IDENTITY).await?;
    let first = leader(&cluster)?.context("no replica leads")?;
    let started = Instant::now();
    let next = async {
        wait_for("the other replica leads", LIMIT, async || match leader(&cluster) {
            Ok(Some(number)) if number != first => Ok(started.elapsed()),
            other => Err(other),
        })
        .await
    };
    let (took, ended) = tokio::join!(next, operators.swap_remove(first).terminate());
    ended?;
    let took = took?;
    println!(
        "from SIGTERM to the next leader, with {} active ScaledObjects: {:.2} s",
        args.objects,
        took.as_secs_f64()
    );
    Ok(())
}
