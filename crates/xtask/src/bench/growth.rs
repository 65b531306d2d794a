//! What the operator weighs and uses as a cluster grows: without objects, with many, after a restart, beside objects that it has nothing
//! to do with, and after many names came and went.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, ensure};
use http::Method;
use kedge_test_cluster::audit::{HPA_CONTROLLER, LogPosition, MetricRead};
use kedge_test_cluster::cargo::workspace;
use kedge_test_cluster::{Cluster, ControlPlane, operator};
use serde_json::{Value, json};

use super::connections::count_connections;
use super::fleet::{Fleet, Shape, name};
use super::full_operator::FullOperator;
use super::objects::deployment;
use super::settle::settle;
use super::source::TriggerType;
use super::times::Times;
use crate::image;

/// How many names of a churn exist at once.
const NAMES_AT_ONCE: usize = 500;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Create this many ScaledObjects
    #[arg(long, default_value_t = 1_000)]
    objects: usize,

    /// Spread them over this many namespaces
    #[arg(long, default_value_t = 1)]
    namespaces: usize,

    /// Give them triggers of this type
    #[arg(long, value_enum, default_value_t = TriggerType::Prometheus)]
    trigger_type: TriggerType,

    /// Give each this many triggers
    #[arg(long, default_value_t = 1)]
    triggers: usize,

    /// Poll each trigger every so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    polling_interval: u32,

    /// Create this many pods, Secrets and ReplicaSets that no ScaledObject refers to
    #[arg(long, default_value_t = 0)]
    unrelated: usize,

    /// Create and delete this many other ScaledObjects
    #[arg(long, default_value_t = 0)]
    churn: usize,

    /// Give the sources no load, so that no target has a replica and no HPA reads a metric
    #[arg(long)]
    inactive: bool,

    /// Run on the API in memory, which holds more objects than an API server on the same machine
    #[arg(long)]
    embedded: bool,

    /// Set how often the HPA controller syncs each HPA, in seconds; more often than it can, and it uses the whole machine
    #[arg(long, value_name = "SECONDS", default_value_t = 15)]
    hpa_sync_period: u64,

    /// Measure each state this long
    #[arg(long, default_value_t = 2)]
    minutes: u64,
}

/// The measurements, each printed as soon as it is there.
struct Growth<'a> {
    cluster: &'a Cluster,
    fleet: &'a Fleet,
    lasting: Duration,
    kedge: FullOperator,
}

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let is_positive = args.objects > 0 && args.namespaces > 0 && args.triggers > 0;
    ensure!(is_positive, "--objects, --namespaces and --triggers must be above 0");
    println!("building as for the image, in release mode");
    let program = tokio::task::block_in_place(image::build)?;
    println!("starting a cluster");
    let control_plane = if args.embedded { ControlPlane::Embedded } else { ControlPlane::Real };
    let hpa_sync_period = Duration::from_secs(args.hpa_sync_period);
    let cluster = Cluster::builder("bench-growth").control_plane(control_plane).hpa_sync_period(hpa_sync_period);
    let cluster = cluster.optimize_plane().start().await?;
    cluster.install_crds(&workspace().join("crds"))?;
    let (objects, namespaces) = (args.objects, args.namespaces);
    let (triggers, polling_seconds) = (args.triggers, args.polling_interval);
    let shape = Shape { objects, namespaces, trigger_type: args.trigger_type, triggers, polling_seconds };
    let fleet = Fleet::create(&cluster, shape).await?;
    fleet.set_load(!args.inactive).await?;
    let lasting = Duration::from_secs(args.minutes * 60);
    let kedge = FullOperator::start(&cluster, &program, "growth").await?;
    let mut growth = Growth { cluster: &cluster, fleet: &fleet, lasting, kedge };
    println!(
        "| state | resident memory | peak | processor cores | queries a second | connections to the source | HPA reads its metric every, p50 / p99 | a read takes, p50 / p99 |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    growth.measure("no objects").await?;
    let started = Instant::now();
    fleet.create_scaled_objects().await?;
    let waited = fleet.until_hpas(objects).await?;
    ensure!(waited.missing == 0, "{} ScaledObjects have no HPA", waited.missing);
    let until_hpas = started.elapsed();
    growth.measure(&format!("{objects} ScaledObjects with {triggers} triggers each")).await?;
    growth.restart().await?;
    growth.measure("the same, after a restart").await?;
    if args.unrelated > 0 {
        growth.create_unrelated(args.unrelated).await?;
        growth.restart().await?;
        growth
            .measure(&format!("beside {} pods, Secrets and ReplicaSets each, after a restart", args.unrelated))
            .await?;
    }
    if args.churn > 0 {
        growth.churn(args.churn).await?;
        growth.measure(&format!("after {} other ScaledObjects came and went", args.churn)).await?;
    }
    println!("\nfrom the first ScaledObject to the last HPA: {:.1} s", until_hpas.as_secs_f64());
    growth.kedge.operator.terminate().await
}

impl Growth<'_> {
    /// Waits until nothing is written any more, and measures.
    async fn measure(&mut self, state: &str) -> anyhow::Result<()> {
        settle(self.cluster, operator::IDENTITY).await?;
        self.fleet.source().take_queries()?;
        let (before, log) = (self.kedge.usage()?, LogPosition::end(self.cluster)?);
        tokio::time::sleep(self.lasting).await;
        self.kedge.operator.check()?;
        let used = self.kedge.usage()?.since(before);
        let cores = used.cpu.as_secs_f64() / self.lasting.as_secs_f64();
        let (resident, peak) = (used.resident_mib(), used.peak_mib());
        let queries = self.fleet.source().take_queries()?;
        let queries =
            queries.map_or("–".to_owned(), |count| format!("{:.1}", count as f64 / self.lasting.as_secs_f64()));
        let process = self.kedge.operator.process_id().context("the operator does not run")?;
        let connections = self.fleet.source().port().map(|port| count_connections(process, port)).transpose()?;
        let connections = connections.map_or("–".to_owned(), |count| count.to_string());
        let reads = HpaReads::new(&log.metric_reads_of(self.cluster, HPA_CONTROLLER)?);
        println!("| {state} | {resident:.1} MiB | {peak:.1} MiB | {cores:.3} | {queries} | {connections} | {reads} |");
        Ok(())
    }

    /// Ends the operator, and starts it again.
    async fn restart(&mut self) -> anyhow::Result<()> {
        self.kedge.operator.restart().await?;
        self.kedge.operator.until_registered(self.cluster).await
    }

    /// Creates objects that no ScaledObject refers to.
    async fn create_unrelated(&self, count: usize) -> anyhow::Result<()> {
        let (writer, namespace) = (self.fleet.writer(), self.fleet.namespace(0));
        let numbers: Vec<usize> = (0..count).collect();
        let create = async |number: usize| {
            for (resource, object) in unrelated(number) {
                writer.send(Method::POST, &resource.replace("NAMESPACE", &namespace), &object).await?;
            }
            Ok(())
        };
        writer.for_each(&numbers, create).await
    }

    /// Creates ScaledObjects of other names and their targets, waits for the HPAs, and deletes them, some at a time.
    async fn churn(&self, names: usize) -> anyhow::Result<()> {
        for first in (0..names).step_by(NAMES_AT_ONCE) {
            self.come_and_go(first..names.min(first + NAMES_AT_ONCE)).await?;
        }
        Ok(())
    }

    async fn come_and_go(&self, numbers: Range<usize>) -> anyhow::Result<()> {
        let (fleet, writer, namespace) = (self.fleet, self.fleet.writer(), self.fleet.namespace(0));
        let deployments = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
        let scaled_objects = format!("/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects");
        let numbers: Vec<usize> = numbers.collect();
        let create = async |number: usize| {
            let name = passing(number);
            writer.send(Method::POST, &deployments, &deployment(&name, 0)).await?;
            writer.send(Method::POST, &scaled_objects, &fleet.scaled_object(&name)).await
        };
        writer.for_each(&numbers, create).await?;
        let come = fleet.until_hpas(fleet.len() + numbers.len()).await?;
        ensure!(come.missing == 0, "{} ScaledObjects have no HPA", come.missing);
        let delete = async |number: usize| {
            let name = passing(number);
            writer.send(Method::DELETE, &format!("{scaled_objects}/{name}"), &json!({})).await?;
            writer.send(Method::DELETE, &format!("{deployments}/{name}"), &json!({})).await
        };
        writer.for_each(&numbers, delete).await?;
        let gone = fleet.until_scaled_objects(fleet.len()).await?;
        ensure!(gone.missing == 0, "{} ScaledObjects cannot be deleted", gone.missing);
        Ok(())
    }
}

/// How the HPA controller reads metrics. Displayed as cells of a table.
struct HpaReads {
    /// Between two reads of a metric.
    intervals: Times,
    durations: Times,
}

impl HpaReads {
    fn new(reads: &[MetricRead]) -> Self {
        let mut last: BTreeMap<&str, SystemTime> = BTreeMap::new();
        let mut intervals = Vec::new();
        for read in reads {
            intervals.extend(
                last.insert(&read.path, read.at).map(|before| read.at.duration_since(before).unwrap_or_default()),
            );
        }
        Self { intervals: Times::new(intervals), durations: Times::new(reads.iter().map(|read| read.took).collect()) }
    }
}

impl fmt::Display for HpaReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.intervals.count() == 0 {
            return f.write_str("– | –");
        }
        let seconds = |times: &Times, share| times.quantile(share).as_secs_f64();
        let [between, longest] = [0.5, 0.99].map(|share| seconds(&self.intervals, share));
        let [took, longest_read] = [0.5, 0.99].map(|share| seconds(&self.durations, share) * 1000.0);
        write!(f, "{between:.1} s / {longest:.1} s | {took:.1} ms / {longest_read:.1} ms")
    }
}

fn passing(number: usize) -> String {
    format!("passing-{number}")
}

/// A pod, a Secret and a ReplicaSet, each with the path of its resource.
fn unrelated(number: usize) -> [(&'static str, Value); 3] {
    let metadata = json!({ "name": format!("unrelated-{number}") });
    let labels = json!({ "app": "unrelated" });
    let pod = json!({ "containers": [{ "name": "main", "image": "main" }] });
    let template = json!({ "metadata": { "labels": labels }, "spec": pod });
    [
        ("/api/v1/namespaces/NAMESPACE/pods", json!({ "metadata": metadata, "spec": pod })),
        (
            "/api/v1/namespaces/NAMESPACE/secrets",
            json!({ "metadata": metadata, "stringData": { "token": name(number) } }),
        ),
        (
            "/apis/apps/v1/namespaces/NAMESPACE/replicasets",
            json!({ "metadata": metadata, "spec": { "replicas": 0, "selector": { "matchLabels": labels }, "template": template } }),
        ),
    ]
}
