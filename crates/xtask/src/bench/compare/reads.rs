//! Reads of metrics.

use std::time::{Duration, Instant};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use kedge_test_cluster::Cluster;
use kedge_test_cluster::wait::wait_for;
use kube::Client;

use super::fleet::Fleet;
use crate::bench::times::Times;

/// The account of the HPA controller: the API server lets administrators pass without asking.
const HPA_CONTROLLER: &str = "system:serviceaccount:kube-system:horizontal-pod-autoscaler";

/// How many reads at once count as many.
pub(super) const MANY: usize = 16;

/// How long all metrics may take to be served.
const LIMIT: Duration = Duration::from_secs(900);

/// Reads through the API server, as the HPA controller.
pub(super) async fn through_api_server(cluster: &Cluster) -> anyhow::Result<Client> {
    let mut config = cluster.client_config().await?;
    config.auth_info.impersonate = Some(HPA_CONTROLLER.to_owned());
    Ok(Client::try_from(config)?)
}

/// Reads straight from the metrics server, with the certificate of the administrator.
pub(super) async fn straight(cluster: &Cluster, port: u16) -> anyhow::Result<Client> {
    let mut config = cluster.client_config().await?;
    config.cluster_url = format!("https://localhost:{port}").parse()?;
    config.accept_invalid_certs = true;
    Ok(Client::try_from(config)?)
}

async fn read(client: &Client, path: String) -> anyhow::Result<()> {
    let request = Request::get(path).body(Vec::new())?;
    client.request_text(request).await.map(drop).context("a metric cannot be read")
}

/// Reads metrics one at a time.
pub(super) async fn one_at_a_time(client: &Client, fleet: &Fleet<'_>, reads: usize) -> anyhow::Result<Times> {
    let mut times = Vec::with_capacity(reads);
    for number in 0..reads {
        let started = Instant::now();
        read(client, fleet.metric_path(number % fleet.len())).await?;
        times.push(started.elapsed());
    }
    Ok(Times::new(times))
}

/// Reads metrics, many at once, for so long. How many it read.
pub(super) async fn many_at_once(client: &Client, fleet: &Fleet<'_>, lasting: Duration) -> anyhow::Result<usize> {
    let started = Instant::now();
    let paths = (0..).map(|number| fleet.metric_path(number % fleet.len())).take_while(|_| started.elapsed() < lasting);
    let done = stream::iter(paths).map(|path| Ok(read(client, path))).try_buffer_unordered(MANY);
    done.try_fold(0, |count, ()| async move { Ok(count + 1) }).await
}

/// Waits until every metric can be read.
pub(super) async fn until_all_served(client: &Client, fleet: &Fleet<'_>) -> anyhow::Result<()> {
    let mut missing: Vec<usize> = (0..fleet.len()).collect();
    wait_for("every metric is served", LIMIT, async || {
        let one = |number: usize| async move { (number, read(client, fleet.metric_path(number)).await.is_ok()) };
        let asked = stream::iter(std::mem::take(&mut missing)).map(one).buffer_unordered(MANY);
        missing = asked.filter_map(|(number, is_served)| async move { (!is_served).then_some(number) }).collect().await;
        if missing.is_empty() { Ok(()) } else { Err(format!("{} are not", missing.len())) }
    })
    .await
}
