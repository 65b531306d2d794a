//! The admission webhooks beside a real API server: how long answers take, and what they weigh, as the cluster grows.
//!
//! Two clocks: this program asks as an API server does, over TLS on a connection that stays open, and measures each answer; and
//! the API server tells how long it waited itself, as a mean, while objects are written through it.

mod caller;
mod waits;
mod webhooks;

use std::ops::Range;

use anyhow::ensure;
use http::Method;
use kedge_test_cluster::Cluster;
use serde_json::{Value, json};

use kedge_test_cluster::cargo::workspace;

use super::writer::Writer;
use crate::image;
use caller::Caller;
use waits::Waits;
use webhooks::Webhooks;

/// How many ScaledObjects share a namespace.
const OBJECTS_OF_A_NAMESPACE: usize = 100;

/// What the objects that are present are called.
const WRITTEN: &str = "order-processing-worker";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many ScaledObjects are many
    #[arg(long, default_value_t = 10_000)]
    objects: usize,

    /// How many questions are asked at each size, one after another
    #[arg(long, default_value_t = 5_000)]
    questions: usize,
}

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.objects >= OBJECTS_OF_A_NAMESPACE, "--objects: give {OBJECTS_OF_A_NAMESPACE} or more");
    ensure!(args.questions >= 100, "--questions: give 100 or more");
    println!("building as for the image, in release mode");
    let program = image::build()?;
    println!("starting a cluster");
    let cluster = Cluster::builder("bench-admission").start().await?;
    cluster.install_crds(&workspace().join("crds"))?;
    let mut webhooks = Webhooks::start(&cluster, &program).await?;
    let writer = Writer::new(&cluster).await?;
    let caller = Caller::new(&webhooks)?;

    let mut rows = Vec::new();
    let mut present = 0;
    for size in [OBJECTS_OF_A_NAMESPACE, args.objects] {
        println!("writing up to {size} ScaledObjects");
        let before = Waits::read(writer.client()).await?;
        fill(&writer, present..size).await?;
        let waits = Waits::read(writer.client()).await?.since(&before);
        present = size;
        println!("asking {} questions", args.questions);
        let times = caller.measure(args.questions, size).await?;
        rows.push(format!("| {size} | {} KiB | {times} | {waits} |", webhooks.weight()? / 1024));
    }
    println!("| ScaledObjects | resident | p50 | p99 | longest | the API server's mean while they were written |");
    println!("|---|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
    webhooks.check()
}

/// Writes objects, many at once.
async fn fill(writer: &Writer, numbers: Range<usize>) -> anyhow::Result<()> {
    for namespace in numbers.clone().step_by(OBJECTS_OF_A_NAMESPACE).map(namespace_of) {
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        writer.send(Method::POST, "/api/v1/namespaces", &object).await?;
    }
    let write = async |number: usize| {
        let path = format!("/apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects", namespace_of(number));
        writer.send(Method::POST, &path, &scaled_object(number, WRITTEN)).await
    };
    writer.for_each(&numbers.collect::<Vec<_>>(), write).await
}

fn namespace_of(number: usize) -> String {
    format!("team-{}", number / OBJECTS_OF_A_NAMESPACE)
}

fn scaled_object(number: usize, target: &str) -> Value {
    let name = format!("{target}-{number}");
    let query = "sum(rate(http_requests_total{job=\"web\"}[2m]))";
    let metadata = json!({ "serverAddress": "http://prometheus.monitoring:9090", "query": query, "threshold": "10" });
    json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": { "name": name, "namespace": namespace_of(number) },
        "spec": { "scaleTargetRef": { "name": name }, "triggers": [{ "type": "prometheus", "metadata": metadata }] },
    })
}
