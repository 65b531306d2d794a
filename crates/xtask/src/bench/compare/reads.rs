//! Reads of metrics.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use kedge_test_cluster::Cluster;
use kedge_test_cluster::audit::HPA_CONTROLLER;
use kube::Client;

use crate::bench::fleet::Fleet;
use crate::bench::stall::{Waited, until_none_missing};
use crate::bench::times::Times;

/// How many reads at once count as many.
pub(super) const MANY: usize = 16;

/// The pause before metrics that were not served are read again.
const PAUSE: Duration = Duration::from_millis(100);

/// Reads through the API server, as the HPA controller: the API server lets administrators pass without asking.
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

async fn read(client: &Client, path: &str) -> anyhow::Result<()> {
    let request = Request::get(path).body(Vec::new())?;
    client.request_text(request).await.map(drop).context("a metric cannot be read")
}

/// The metrics that are served, and those that are not.
pub(super) struct Served {
    paths: Vec<String>,
    pub(super) waited: Waited,
}

impl Served {
    /// Reads metrics one at a time.
    pub(super) async fn one_at_a_time(&self, client: &Client, reads: usize) -> anyhow::Result<Times> {
        let mut times = Vec::with_capacity(reads);
        for path in self.paths.iter().cycle().take(reads) {
            let started = Instant::now();
            read(client, path).await?;
            times.push(started.elapsed());
        }
        Ok(Times::new(times))
    }

    /// Reads metrics, many at once, for so long. How many it read.
    pub(super) async fn many_at_once(&self, client: &Client, lasting: Duration) -> anyhow::Result<usize> {
        let started = Instant::now();
        let paths = self.paths.iter().cycle().take_while(|_| started.elapsed() < lasting);
        let done = stream::iter(paths).map(|path| Ok(read(client, path))).try_buffer_unordered(MANY);
        done.try_fold(0, |count, ()| async move { Ok(count + 1) }).await
    }
}

/// Waits until every metric can be read.
pub(super) async fn until_all_served(client: &Client, fleet: &Fleet) -> anyhow::Result<Served> {
    let mut missing =
        (0..fleet.len()).map(|number| fleet.metric_path(number)).collect::<anyhow::Result<Vec<String>>>()?;
    let mut paths = Vec::new();
    let count = async || {
        let one = |path: String| async { (read(client, &path).await.is_ok(), path) };
        let asked = stream::iter(std::mem::take(&mut missing)).map(one).buffer_unordered(MANY);
        let (served, rest): (Vec<_>, Vec<_>) =
            asked.collect::<Vec<_>>().await.into_iter().partition(|(is_served, _)| *is_served);
        paths.extend(served.into_iter().map(|(_, path)| path));
        missing = rest.into_iter().map(|(_, path)| path).collect::<Vec<String>>();
        Ok(missing.len())
    };
    let waited = until_none_missing("every metric is served", PAUSE, count).await?;
    ensure!(!paths.is_empty(), "no metric is served");
    Ok(Served { paths, waited })
}
