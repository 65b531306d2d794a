//! What triggers read of the cluster: pods, counted; where the pods behind a Service are; ConfigMaps and Secrets, each by its name.
//! Lists come from the API server's cache, and of each object in them only a few fields are read; `tally` lists them.

mod tally;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::Shared;
use kedge_core::credentials::{CredentialError, Reference, ReferenceContent};
use kedge_scalers::cluster::what;
use kedge_scalers::{BoxFuture, ClusterReads, PodCount, ReadError, ServiceEndpoint};
use kube::Client;
use kube::core::Request;
use kube::core::params::ListParams;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::credentials;
use crate::credentials::read::{READS_AT_ONCE, Reads};
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
    /// Which Secrets may be read, among others.
    credentials: credentials::Settings,
    /// One permit for each object that is being read, by the namespace whose triggers read it.
    reads_at_once: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl fmt::Debug for KubeReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KubeReads")
    }
}

impl KubeReads {
    /// Reads within the limits that also hold for credentials.
    pub fn new(client: Client, credentials: credentials::Settings) -> Self {
        Self { client, counts: Mutex::default(), credentials, reads_at_once: Mutex::default() }
    }

    /// The permits for reads of objects in a namespace: no namespace waits for another.
    fn permits(&self, namespace: &str) -> Arc<Semaphore> {
        let mut all = self.reads_at_once.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(permits) = all.get(namespace).and_then(Weak::upgrade) {
            return permits;
        }
        all.retain(|_, permits| permits.strong_count() > 0);
        let permits = Arc::new(Semaphore::new(READS_AT_ONCE));
        all.insert(namespace.to_owned(), Arc::downgrade(&permits));
        permits
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

    fn content<'a>(&'a self, reference: &'a Reference) -> BoxFuture<'a, Result<ReferenceContent, ReadError>> {
        Box::pin(async move {
            if self.credentials.withholds(reference) {
                return Ok(ReferenceContent::Withheld);
            }
            let mut reads = Reads::new(self.permits(&reference.namespace));
            let content = reads.content(&self.client, reference).await;
            content.map_err(|error| ReadError::Cluster { what: what(reference), problem: problem(error) })
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

/// Why an object cannot be read, without its name, which the error of the trigger has.
fn problem(error: CredentialError) -> String {
    match error {
        CredentialError::Unreadable { problem, .. } => problem,
        other => other.to_string(),
    }
}

fn unreadable(what: &'static str, error: &kube::Error) -> ReadError {
    ReadError::Cluster { what, problem: api_error::message(error) }
}

#[cfg(test)]
mod tests;
