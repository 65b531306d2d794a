//! One operator from its start to its end.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::ensure;
use kedge_test_cluster::Cluster;
use kedge_test_cluster::audit::LogPosition;
use kedge_test_cluster::usage::Usage;
use kube::Client;

use super::contender::{Contender, Processes};
use super::measure::Measure;
use super::reads::{self, Served};
use super::responder::StaticResponder;
use super::results::Values;
use crate::bench::connections::count_connections;
use crate::bench::fleet::Fleet;
use crate::bench::settle::settle;
use crate::bench::times::Times;

/// How long it is measured without objects.
const IDLE_FOR: Duration = Duration::from_secs(30);

/// How many reads are made one at a time, and how long many are made at once.
const READS: usize = 500;
const READS_FOR: Duration = Duration::from_secs(15);

/// What all rounds share.
pub(super) struct Stage<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) fleet: &'a Fleet,
    pub(super) kedge: PathBuf,
    pub(super) steady_for: Duration,
}

/// Measures one operator. Afterwards no ScaledObject is left.
pub(super) async fn measure(stage: &Stage<'_>, contender: Contender, number: usize) -> anyhow::Result<Values> {
    let name = format!("{contender:?}-{number}").to_lowercase();
    let (fleet, mut values) = (stage.fleet, Values::new());
    fleet.set_load(true).await?;
    let mut processes = Processes::start(contender, stage.cluster, &stage.kedge, &name).await?;

    tokio::time::sleep(IDLE_FOR).await;
    let idle = used_during(&processes, IDLE_FOR).await?;
    values.insert(Measure::IdleCpu, idle.cpu.as_secs_f64() / IDLE_FOR.as_secs_f64());
    values.insert(Measure::IdleMemory, idle.resident_mib());

    println!("  creating the ScaledObjects");
    let started = Instant::now();
    fleet.create_scaled_objects().await?;
    let created = started.elapsed();
    let hpas = fleet.until_hpas(fleet.len()).await?;
    values.insert(Measure::ApplyToHpas, (created + hpas.took).as_secs_f64());
    let client = reads::through_api_server(stage.cluster).await?;
    let served = reads::until_all_served(&client, fleet).await?;
    let scaled = fleet.until_replicas(1).await?;

    println!("  waiting until nothing is written any more");
    settle(stage.cluster, processes.user()).await?;
    println!("  measuring the steady state");
    fleet.source().take_queries()?;
    let log = LogPosition::end(stage.cluster)?;
    let steady = used_during(&processes, stage.steady_for).await?;
    let writes = log.count_writes_of(stage.cluster, processes.user())?;
    let queries = fleet.source().take_queries()?;
    values.extend(queries.map(|count| (Measure::Queries, count as f64 / stage.steady_for.as_secs_f64())));
    if let Some(port) = fleet.source().port() {
        let counts: Vec<usize> =
            processes.ids()?.into_iter().map(|id| count_connections(id, port)).collect::<anyhow::Result<_>>()?;
        values.insert(Measure::Connections, counts.into_iter().sum::<usize>() as f64);
    }
    let background = steady.cpu.as_secs_f64() / stage.steady_for.as_secs_f64();
    values.insert(Measure::Cpu, background);
    values.insert(Measure::Memory, steady.resident_mib());
    values.insert(Measure::PeakMemory, steady.peak_mib());
    values.insert(Measure::Writes, writes as f64 * 60.0 / stage.steady_for.as_secs_f64());

    println!("  reading metrics");
    let (before, started) = (processes.usage()?, Instant::now());
    let times = served.one_at_a_time(&client, READS).await?;
    let for_reads = cpu_beside(background, processes.usage()?.since(before), started.elapsed());
    insert_times(&mut values, &times);
    values.insert(Measure::ReadCpu, for_reads * 1000.0 / READS as f64);
    values.insert(Measure::ReadRate, read_rate(&served, &client).await?);
    let straight = reads::straight(stage.cluster, processes.metrics_api_port()).await?;
    let (before, started) = (processes.usage()?, Instant::now());
    let rate = read_rate(&served, &straight).await?;
    let for_reads = cpu_beside(background, processes.usage()?.since(before), started.elapsed());
    values.insert(Measure::StraightRate, rate);
    values.insert(Measure::StraightCpu, for_reads * 1000.0 / (rate * READS_FOR.as_secs_f64()).max(1.0));

    println!("  restarting");
    processes.check()?;
    processes.restart().await?;
    // Not through the API server, which asks an operator that was away only now and then.
    let again = reads::until_all_served(&straight, fleet).await?;
    values.insert(Measure::Restart, again.waited.took.as_secs_f64());
    processes.until_registered(stage.cluster).await?;

    println!("  scaling all targets to zero and back");
    fleet.set_load(false).await?;
    let asleep = fleet.until_replicas(0).await?;
    fleet.until_no_pods().await?;
    fleet.set_load(true).await?;
    let awake = fleet.until_replicas(1).await?;
    values.insert(Measure::Activation, awake.took.as_secs_f64());

    println!("  deleting the ScaledObjects");
    let started = Instant::now();
    fleet.delete_scaled_objects().await?;
    let requested = started.elapsed();
    let gone = fleet.until_scaled_objects(0).await?;
    values.insert(Measure::Deletion, (requested + gone.took).as_secs_f64());
    let waits = [hpas, served.waited, scaled, again.waited, asleep, awake, gone];
    values.insert(Measure::LeftBehind, waits.map(|wait| wait.missing).into_iter().fold(0, usize::max) as f64);
    ensure!(gone.missing == 0 && fleet.until_no_hpas().await?.missing == 0, "objects of {contender} cannot be deleted");
    processes.check()?;
    processes.stop().await?;
    Ok(values)
}

/// Measures what no operator can fall below: the requests until every object has its HPA, made without one, and reads of a server that
/// does nothing else.
pub(super) async fn measure_floor(stage: &Stage<'_>) -> anyhow::Result<Values> {
    let (fleet, mut values) = (stage.fleet, Values::new());
    let started = Instant::now();
    fleet.create_with_hpas().await?;
    values.insert(Measure::ApplyToHpas, started.elapsed().as_secs_f64());
    fleet.delete_scaled_objects().await?;
    fleet.delete_hpas().await?;
    let left = [fleet.until_scaled_objects(0).await?, fleet.until_no_hpas().await?].map(|wait| wait.missing);
    ensure!(left == [0, 0], "objects of the floor cannot be deleted");
    let _responder = StaticResponder::start(stage.cluster).await?;
    let client = reads::through_api_server(stage.cluster).await?;
    let served = reads::until_all_served(&client, fleet).await?;
    insert_times(&mut values, &served.one_at_a_time(&client, READS).await?);
    values.insert(Measure::ReadRate, read_rate(&served, &client).await?);
    Ok(values)
}

fn insert_times(values: &mut Values, times: &Times) {
    values.insert(Measure::ReadMedian, times.quantile(0.5).as_secs_f64() * 1000.0);
    values.insert(Measure::ReadSlowest, times.quantile(0.99).as_secs_f64() * 1000.0);
}

/// How many reads are made in a second, many at once.
async fn read_rate(served: &Served, client: &Client) -> anyhow::Result<f64> {
    Ok(served.many_at_once(client, READS_FOR).await? as f64 / READS_FOR.as_secs_f64())
}

/// The seconds of processor time that came on top of those of the steady state.
fn cpu_beside(background: f64, used: Usage, elapsed: Duration) -> f64 {
    (used.cpu.as_secs_f64() - background * elapsed.as_secs_f64()).max(0.0)
}

/// What is used while time passes.
async fn used_during(processes: &Processes, lasting: Duration) -> anyhow::Result<Usage> {
    let before = processes.usage()?;
    tokio::time::sleep(lasting).await;
    Ok(processes.usage()?.since(before))
}
