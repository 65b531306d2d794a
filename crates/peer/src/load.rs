//! `cargo xtask peer load`: the same ScaledObjects on two clusters, one with KEDA and one with Kedge, at the same time. Counts the
//! requests of both at one source.

mod objects;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::ensure;
use kedge_test_cluster::cargo::workspace;
use kedge_test_cluster::http_source::HttpSource;
use kedge_test_cluster::machine::Machine;
use kedge_test_cluster::wait::wait_for;
use kedge_test_cluster::{Cluster, ControlPlane, RunningKeda, RunningOperator, keda, result_document};
use serde_json::{Value, json};

use crate::operators::{self, Peer, Profile};
use crate::report::print_progress;

/// The namespace of the objects.
const NAMESPACE: &str = "load";

/// The sync period of an HPA controller by default.
const SYNC_PERIOD: Duration = Duration::from_secs(15);

/// How long both may take to begin.
const START_LIMIT: Duration = Duration::from_secs(180);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Count this long
    #[arg(long, default_value_t = 10)]
    minutes: u64,

    /// Also write the result to this document, in place of the previous result
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// The requests for one query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Requests {
    keda: usize,
    kedge: usize,
}

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    print_progress("building KEDA and Kedge, and starting two clusters");
    let kedge_binary = operators::build(Profile::Dev)?;
    let [keda_cluster, kedge_cluster] = [start_cluster(Peer::Keda).await?, start_cluster(Peer::Kedge).await?];
    let crds = keda_cluster.folder().join("crds");
    std::fs::create_dir_all(&crds)?;
    keda::write_crds(&crds)?;
    keda_cluster.install_crds(&crds)?;
    kedge_cluster.install_crds(&workspace().join("crds"))?;
    let mut keda = RunningKeda::start(&keda_cluster).await?;
    let mut kedge = RunningOperator::start(&kedge_cluster, &kedge_binary).await?;

    let source = HttpSource::start().await?;
    for (peer, cluster) in [(Peer::Keda, &keda_cluster), (Peer::Kedge, &kedge_cluster)] {
        create_objects(peer, cluster, &source)?;
    }
    wait_until_settled(&[&keda_cluster, &kedge_cluster]).await?;
    print_progress(&format!("counting for {} minutes", args.minutes));
    source.take_received();
    // The time that is measured.
    tokio::time::sleep(Duration::from_secs(args.minutes * 60)).await;
    let counts = count(&source.take_received());
    keda.check()?;
    kedge.check()?;

    let machine = Machine::read(&kedge_cluster, Profile::Dev.describe()).await?;
    finish(&machine, &counts, args)
}

async fn start_cluster(peer: Peer) -> anyhow::Result<Cluster> {
    let name = format!("load-{}", peer.to_string().to_lowercase());
    Cluster::builder(name).nodes(2).hpa_sync_period(SYNC_PERIOD).control_plane(ControlPlane::Real).start().await
}

/// Creates the objects and their targets, and sets the responses of the source. A query begins with the name of the operator.
fn create_objects(peer: Peer, cluster: &Cluster, source: &HttpSource) -> anyhow::Result<()> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    let mut items = vec![namespace];
    for object in objects::all() {
        items.extend([object.deployment(NAMESPACE), object.scaled_object(NAMESPACE, peer, &source.url())]);
        for (query, response) in object.responses(peer) {
            source.set(&query, response);
        }
    }
    cluster.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": items }))
}

/// Waits until all objects have the replicas that their load asks for.
async fn wait_until_settled(clusters: &[&Cluster]) -> anyhow::Result<()> {
    for cluster in clusters {
        wait_for("the targets have their replicas", START_LIMIT, async || {
            let unsettled = objects::all()
                .into_iter()
                .filter(|object| replicas(cluster, &object.name).is_none_or(|replicas| replicas != object.replicas));
            let names: Vec<String> = unsettled.map(|object| object.name).collect();
            if names.is_empty() { Ok(()) } else { Err(names.join(", ")) }
        })
        .await?;
    }
    Ok(())
}

fn replicas(cluster: &Cluster, name: &str) -> Option<u64> {
    let arguments = ["get", "deployment", name, "--namespace", NAMESPACE, "--output", "json"];
    let deployment: Value = serde_json::from_str(&cluster.kubectl(arguments).ok()?).ok()?;
    deployment["spec"]["replicas"].as_u64()
}

/// The requests of both, by the query without the name of the operator.
fn count(received: &[(String, Instant)]) -> BTreeMap<String, Requests> {
    let mut counts: BTreeMap<String, Requests> = BTreeMap::new();
    for (query, _) in received {
        match query.split_once('/') {
            Some(("keda", query)) => counts.entry(query.to_owned()).or_default().keda += 1,
            Some(("kedge", query)) => counts.entry(query.to_owned()).or_default().kedge += 1,
            _ => {}
        }
    }
    counts
}

fn finish(machine: &Machine, counts: &BTreeMap<String, Requests>, args: &Args) -> anyhow::Result<()> {
    let result = render(machine, counts, args.minutes);
    println!("\n{result}");
    if let Some(path) = &args.write {
        result_document::write(path, "peer load", &result)?;
    }
    let exceeded: Vec<&String> =
        counts.iter().filter(|(_, requests)| requests.exceed()).map(|(query, _)| query).collect();
    ensure!(exceeded.is_empty(), "Kedge sends more requests than KEDA for {exceeded:?}");
    Ok(())
}

impl Requests {
    /// Whether Kedge sends more than KEDA. One request more is the chance of when the time began.
    fn exceed(self) -> bool {
        self.kedge > self.keda + 1
    }
}

fn render(machine: &Machine, counts: &BTreeMap<String, Requests>, minutes: u64) -> String {
    let mut lines = vec![
        machine.to_string(),
        String::new(),
        format!("Requests in {minutes} minutes:"),
        String::new(),
        "| object and trigger | what | KEDA | Kedge |".to_owned(),
        "|---|---|---:|---:|".to_owned(),
    ];
    for object in objects::all() {
        for trigger in object.triggers() {
            let Requests { keda, kedge } = counts.get(&trigger).copied().unwrap_or_default();
            lines.push(format!("| `{trigger}` | {} | {keda} | {kedge} |", object.about));
        }
    }
    let sum = |of: fn(&Requests) -> usize| counts.values().map(of).sum::<usize>();
    lines.push(format!("| all | | {} | {} |", sum(|requests| requests.keda), sum(|requests| requests.kedge)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_query_and_operator() {
        let now = Instant::now();
        let received = ["keda/a/0", "kedge/a/0", "keda/a/0", "kedge/b/1", "other"].map(|query| (query.to_owned(), now));
        let expected = [("a/0", Requests { keda: 2, kedge: 1 }), ("b/1", Requests { keda: 0, kedge: 1 })];
        assert_eq!(count(&received), expected.map(|(query, requests)| (query.to_owned(), requests)).into());
    }

    #[test]
    fn one_request_more_is_chance() {
        assert!(!Requests { keda: 40, kedge: 41 }.exceed());
        assert!(Requests { keda: 40, kedge: 42 }.exceed());
    }
}
