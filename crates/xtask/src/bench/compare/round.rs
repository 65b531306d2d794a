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
    pub(super) extent: Extent,
}

/// How much of an operator is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Also reads of metrics, a restart, and all targets from zero.
    Everything,
    SteadyState,
}

/// An operator, and what was measured of it so far.
struct Round<'a> {
    stage: &'a Stage<'a>,
    processes: Processes,
    values: Values,
    /// How many objects each wait left behind.
    left_behind: Vec<usize>,
}

/// Measures one operator. Afterwards no ScaledObject is left.
pub(super) async fn measure(stage: &Stage<'_>, contender: Contender, number: usize) -> anyhow::Result<Values> {
    let name = format!("{contender:?}-{number}").to_lowercase();
    stage.fleet.set_load(true).await?;
    let processes = Processes::start(contender, stage.cluster, &stage.kedge, &name).await?;
    let mut round = Round { stage, processes, values: Values::new(), left_behind: Vec::new() };
    round.measure_idle().await?;
    let (client, served) = round.create().await?;
    let background = round.measure_steady_state().await?;
    if stage.extent == Extent::Everything {
        round.measure_reads(&client, &served, background).await?;
        round.measure_restart().await?;
        round.measure_activation().await?;
    }
    round.measure_deletion().await?;
    round.processes.check()?;
    round.processes.stop().await?;
    Ok(round.values)
}

impl Round<'_> {
    async fn measure_idle(&mut self) -> anyhow::Result<()> {
        let idle = used_during(&self.processes, IDLE_FOR).await?;
        self.values.insert(Measure::IdleCpu, idle.cpu.as_secs_f64() / IDLE_FOR.as_secs_f64());
        self.values.insert(Measure::IdleMemory, idle.resident_mib());
        Ok(())
    }

    /// Creates the ScaledObjects, and waits until their metrics are served and their targets have replicas.
    async fn create(&mut self) -> anyhow::Result<(Client, Served)> {
        println!("  creating the ScaledObjects");
        let (cluster, fleet) = (self.stage.cluster, self.stage.fleet);
        let started = Instant::now();
        fleet.create_scaled_objects().await?;
        let created = started.elapsed();
        let hpas = fleet.until_hpas(fleet.len()).await?;
        self.values.insert(Measure::ApplyToHpas, (created + hpas.took).as_secs_f64());
        let client = reads::through_api_server(cluster).await?;
        let served = reads::until_all_served(&client, fleet).await?;
        let scaled = fleet.until_replicas(1).await?;
        self.left_behind.extend([hpas.missing, served.waited.missing, scaled.missing]);
        Ok((client, served))
    }

    /// The processor time that is used, in cores.
    async fn measure_steady_state(&mut self) -> anyhow::Result<f64> {
        let Stage { cluster, fleet, steady_for, .. } = *self.stage;
        println!("  waiting until nothing is written any more");
        settle(cluster, self.processes.user()).await?;
        println!("  measuring the steady state");
        fleet.source().take_queries()?;
        let log = LogPosition::end(cluster)?;
        let steady = used_during(&self.processes, steady_for).await?;
        let writes = log.count_writes_of(cluster, self.processes.user())?;
        let queries = fleet.source().take_queries()?;
        let values = &mut self.values;
        values.extend(queries.map(|count| (Measure::Queries, count as f64 / steady_for.as_secs_f64())));
        if let Some(port) = fleet.source().port() {
            let ids = self.processes.ids()?;
            let counts: Vec<usize> =
                ids.into_iter().map(|id| count_connections(id, port)).collect::<anyhow::Result<_>>()?;
            values.insert(Measure::Connections, counts.into_iter().sum::<usize>() as f64);
        }
        let cores = steady.cpu.as_secs_f64() / steady_for.as_secs_f64();
        values.insert(Measure::Cpu, cores);
        values.insert(Measure::Memory, steady.resident_mib());
        values.insert(Measure::PeakMemory, steady.peak_mib());
        values.insert(Measure::Writes, writes as f64 * 60.0 / steady_for.as_secs_f64());
        Ok(cores)
    }

    async fn measure_reads(&mut self, client: &Client, served: &Served, background: f64) -> anyhow::Result<()> {
        println!("  reading metrics");
        let (processes, values) = (&self.processes, &mut self.values);
        let (before, started) = (processes.usage()?, Instant::now());
        let times = served.one_at_a_time(client, READS).await?;
        let for_reads = cpu_beside(background, processes.usage()?.since(before), started.elapsed());
        insert_times(values, &times);
        values.insert(Measure::ReadCpu, for_reads * 1000.0 / READS as f64);
        values.insert(Measure::ReadRate, read_rate(served, client).await?);
        let straight = reads::straight(self.stage.cluster, processes.metrics_api_port()).await?;
        let (before, started) = (processes.usage()?, Instant::now());
        let rate = read_rate(served, &straight).await?;
        let for_reads = cpu_beside(background, processes.usage()?.since(before), started.elapsed());
        values.insert(Measure::StraightRate, rate);
        values.insert(Measure::StraightCpu, for_reads * 1000.0 / (rate * READS_FOR.as_secs_f64()).max(1.0));
        Ok(())
    }

    async fn measure_restart(&mut self) -> anyhow::Result<()> {
        println!("  restarting");
        let (cluster, fleet) = (self.stage.cluster, self.stage.fleet);
        self.processes.check()?;
        self.processes.restart().await?;
        // Not through the API server, which asks an operator that was away only now and then.
        let straight = reads::straight(cluster, self.processes.metrics_api_port()).await?;
        let again = reads::until_all_served(&straight, fleet).await?;
        self.values.insert(Measure::Restart, again.waited.took.as_secs_f64());
        self.left_behind.push(again.waited.missing);
        self.processes.until_registered(cluster).await
    }

    async fn measure_activation(&mut self) -> anyhow::Result<()> {
        println!("  scaling all targets to zero and back");
        let fleet = self.stage.fleet;
        fleet.set_load(false).await?;
        let asleep = fleet.until_replicas(0).await?;
        fleet.until_no_pods().await?;
        fleet.set_load(true).await?;
        let awake = fleet.until_replicas(1).await?;
        self.values.insert(Measure::Activation, awake.took.as_secs_f64());
        self.left_behind.extend([asleep.missing, awake.missing]);
        Ok(())
    }

    async fn measure_deletion(&mut self) -> anyhow::Result<()> {
        println!("  deleting the ScaledObjects");
        let fleet = self.stage.fleet;
        let started = Instant::now();
        fleet.delete_scaled_objects().await?;
        let requested = started.elapsed();
        let gone = fleet.until_scaled_objects(0).await?;
        self.values.insert(Measure::Deletion, (requested + gone.took).as_secs_f64());
        self.left_behind.push(gone.missing);
        self.values.insert(Measure::LeftBehind, self.left_behind.iter().copied().fold(0, usize::max) as f64);
        ensure!(gone.missing == 0 && fleet.until_no_hpas().await?.missing == 0, "objects cannot be deleted");
        Ok(())
    }
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
