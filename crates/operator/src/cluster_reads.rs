//! What triggers read of the cluster: pods, counted, and where the pods behind a Service are. Lists come from the API
//! server's cache, and of each object only a few fields are read; `tally` lists them.

mod tally;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::Shared;
use kedge_scalers::{BoxFuture, ClusterReads, PodCount, ReadError, ServiceEndpoint};
use kube::Client;
use kube::core::Request;
use kube::core::params::ListParams;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use kedge_cluster::api_error;
use tally::{Page, PodPage, SlicePage};

/// How long a count is good for triggers that want the same one.
const SHARED_FOR: Duration = Duration::from_secs(1);

/// Pods that have ended are left out by the API server already: of Jobs, there may be many.
const NOT_ENDED: &str = "status.phase!=Succeeded,status.phase!=Failed";

type Counting = Shared<BoxFuture<'static, Result<PodCount, ReadError>>>;

/// Reads from the API server.
pub struct KubeReads {
    client: Client,
    /// Counts that are under way or a moment old, by namespace and selector.
    counts: Mutex<HashMap<(String, String), (Instant, Counting)>>,
}

impl fmt::Debug for KubeReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KubeReads")
    }
}

impl KubeReads {
    pub fn new(client: Client) -> Self {
        Self { client, counts: Mutex::default() }
    }

    /// A count of these pods: the one of a moment ago, or a new one.
    fn counting(&self, namespace: &str, selector: &str) -> Counting {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        counts.retain(|_, (began_at, _)| now < *began_at + SHARED_FOR);
        let key = (namespace.to_owned(), selector.to_owned());
        let (_, counting) = counts.entry(key).or_insert_with_key(|(namespace, selector)| {
            let counting = count_pods(self.client.clone(), namespace.clone(), selector.clone());
            let counting: BoxFuture<'static, _> = Box::pin(counting);
            (now, counting.shared())
        });
        counting.clone()
    }
}

impl ClusterReads for KubeReads {
    fn pods<'a>(&'a self, namespace: &'a str, selector: &'a str) -> BoxFuture<'a, Result<PodCount, ReadError>> {
        Box::pin(self.counting(namespace, selector))
    }

    fn endpoints<'a>(
        &'a self,
        namespace: &'a str,
        service: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ServiceEndpoint>, ReadError>> {
        Box::pin(async move {
            let path = format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices");
            let params = params(&format!("kubernetes.io/service-name={service}"));
            let mut found = Vec::new();
            let pages = pages(&self.client, &path, params, |page: SlicePage| found.extend(page.endpoints()));
            pages.await.map_err(|error| unreadable("EndpointSlices", &error))?;
            Ok(found)
        })
    }
}

async fn count_pods(client: Client, namespace: String, selector: String) -> Result<PodCount, ReadError> {
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let params = params(&selector).fields(NOT_ENDED);
    let (mut pods, mut nodes) = (0, BTreeSet::new());
    let add = |page: PodPage| {
        let (pods_of_page, nodes_of_page) = page.counted();
        pods += pods_of_page;
        nodes.extend(nodes_of_page);
    };
    pages(&client, &path, params, add).await.map_err(|error| unreadable("pods", &error))?;
    Ok(PodCount { pods, nodes: nodes.len() as u64 })
}

/// Any version will do: that is what lets the API server answer from its cache, where it makes no pages unless it wants to.
fn params(selector: &str) -> ListParams {
    ListParams::default().labels(selector).match_any()
}

/// Shows each page of a list.
async fn pages<P: Page + DeserializeOwned>(
    client: &Client,
    path: &str,
    mut params: ListParams,
    mut show: impl FnMut(P),
) -> Result<(), kube::Error> {
    loop {
        let request = Request::new(path).list(&params).map_err(kube::Error::BuildRequest)?;
        let page: P = client.request(request).await?;
        let next = page.next();
        show(page);
        match next {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(()),
        }
    }
}

fn unreadable(what: &'static str, error: &kube::Error) -> ReadError {
    ReadError::Cluster { what, problem: api_error::message(error) }
}

#[cfg(test)]
mod tests;
