//! A thousand ScaledObjects of which nine hundred have sources that accept connections and never respond: how late the others are polled.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::ensure;
use http::Method;
use kedge_test_cluster::cargo::workspace;
use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use kedge_test_cluster::{Cluster, RunningOperator, silent_server};
use serde_json::{Value, json};

use super::polls::until_polled;
use super::times::Times;
use super::writer::Writer;
use crate::image;

/// The polling interval of every object.
const INTERVAL: Duration = Duration::from_secs(10);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Create this many ScaledObjects
    #[arg(long, default_value_t = 1_000)]
    objects: usize,

    /// Let the sources of this many of them hang
    #[arg(long, default_value_t = 900)]
    hung: usize,

    /// Measure this long
    #[arg(long, default_value_t = 5)]
    minutes: u64,
}

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.hung < args.objects, "--hung must be below --objects");
    println!("building as for the image, in release mode");
    let program = image::build()?;
    println!("starting a cluster");
    let cluster = Cluster::builder("bench-hung").start().await?;
    cluster.install_crds(&workspace().join("crds"))?;
    let mut operator = RunningOperator::start(&cluster, &program).await?;
    let source = HttpSource::start().await?;
    let silent = silent_server::start().await?;
    let writer = Writer::new(&cluster).await?;
    for tenant in ["tenant", "others"] {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": tenant } });
        writer.send(Method::POST, "/api/v1/namespaces", &namespace).await?;
    }
    println!("creating {} ScaledObjects, {} of them with sources that hang", args.objects, args.hung);
    let numbers: Vec<usize> = (0..args.objects).collect();
    let create = async |number: usize| {
        let object = Object { number, url: if number < args.hung { format!("http://{silent}") } else { source.url() } };
        source.set(&object.name(), SourceResponse::Value(0.0));
        let namespace = if number < args.hung { "tenant" } else { "others" };
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
        writer.send(Method::POST, &path, &object.deployment()).await?;
        let path = format!("/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects");
        writer.send(Method::POST, &path, &object.scaled_object()).await
    };
    writer.for_each(&numbers, create).await?;
    until_polled(&mut operator, &source, args.objects - args.hung).await?;
    println!("measuring for {} minutes", args.minutes);
    let started = Instant::now();
    tokio::time::sleep(Duration::from_secs(args.minutes * 60)).await;
    operator.check()?;
    let received: Vec<_> = source.take_received().into_iter().filter(|(_, at)| *at >= started).collect();
    let lateness = Times::new(lateness(&received));
    println!("| objects | hung | polls of the others | lateness p50 | p99 | longest |");
    println!("|---|---|---|---|---|---|");
    println!("| {} | {} | {} | {lateness} |", args.objects, args.hung, lateness.count());
    Ok(())
}

/// By how much each poll came later than one interval after the poll before it.
fn lateness(received: &[(String, Instant)]) -> Vec<Duration> {
    let mut last: BTreeMap<&str, Instant> = BTreeMap::new();
    let mut late = Vec::new();
    for (query, at) in received {
        if let Some(before) = last.insert(query, *at) {
            late.push(at.duration_since(before).saturating_sub(INTERVAL));
        }
    }
    late
}

/// One object and its target, which has no replicas: only the scale loop queries its source.
struct Object {
    number: usize,
    url: String,
}

impl Object {
    fn name(&self) -> String {
        format!("worker-{}", self.number)
    }

    fn deployment(&self) -> Value {
        super::objects::deployment(&self.name(), 0)
    }

    fn scaled_object(&self) -> Value {
        let name = self.name();
        let metadata = json!({ "serverAddress": self.url, "query": name, "threshold": "10", "timeout": "10h" });
        json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": name },
            "spec": {
                "scaleTargetRef": { "name": name }, "pollingInterval": INTERVAL.as_secs(),
                "triggers": [{ "type": "prometheus", "metadata": metadata }],
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_is_late_by_what_exceeds_the_interval() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let received = [("a", 0), ("b", 1), ("a", 10), ("b", 14), ("a", 19)];
        let received: Vec<_> = received.map(|(query, seconds)| (query.to_owned(), at(seconds))).into();
        assert_eq!(lateness(&received), [0, 3, 0].map(Duration::from_secs));
    }
}
