//! What triggers read of the cluster. The caller implements it: this crate has no Kubernetes client.

use std::time::Duration;

use kedge_core::credentials::{Reference, ReferenceContent, ReferenceKind};

use crate::error::ReadError;
use crate::scaler::BoxFuture;

/// Reads of the cluster. An implementation never guesses: what cannot be read is an error.
pub trait ClusterReads: Send + Sync + std::fmt::Debug {
    /// Counts the pods that have not ended, by a label selector.
    fn pods<'a>(&'a self, namespace: &'a str, selector: &'a str) -> BoxFuture<'a, Result<PodCount, ReadError>>;

    /// Where the pods behind a Service are, without those that are known not to be ready.
    fn endpoints<'a>(
        &'a self,
        namespace: &'a str,
        service: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ServiceEndpoint>, ReadError>>;

    /// What a ConfigMap or a Secret holds.
    fn content<'a>(&'a self, reference: &'a Reference) -> BoxFuture<'a, Result<ReferenceContent, ReadError>>;
}

/// Pods whose phase is neither Succeeded nor Failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodCount {
    pub pods: u64,
    /// The nodes that these pods are on; one that is not placed is on none.
    pub nodes: u64,
}

/// One address of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceEndpoint {
    pub address: String,
    pub ports: Vec<u16>,
}

pub(crate) const PODS: &str = "pods";
pub(crate) const ENDPOINTS: &str = "EndpointSlices";
const CONFIG_MAPS: &str = "ConfigMaps";
const SECRETS: &str = "Secrets";

/// For callers that have no cluster.
#[derive(Clone, Copy, Debug)]
pub struct NoCluster;

impl ClusterReads for NoCluster {
    fn pods<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<PodCount, ReadError>> {
        Box::pin(std::future::ready(Err(no_cluster(PODS))))
    }

    fn endpoints<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Vec<ServiceEndpoint>, ReadError>> {
        Box::pin(std::future::ready(Err(no_cluster(ENDPOINTS))))
    }

    fn content<'a>(&'a self, reference: &'a Reference) -> BoxFuture<'a, Result<ReferenceContent, ReadError>> {
        Box::pin(std::future::ready(Err(no_cluster(what(reference)))))
    }
}

/// The kind of an object, as errors name it.
pub fn what(reference: &Reference) -> &'static str {
    match reference.kind {
        ReferenceKind::Secret => SECRETS,
        _ => CONFIG_MAPS,
    }
}

fn no_cluster(what: &'static str) -> ReadError {
    ReadError::Cluster { what, problem: "there is none here; run the operator in one".to_owned() }
}

/// The result of a read, if it comes in time.
pub(crate) async fn with_timeout<T>(
    limit: Duration,
    what: &'static str,
    answer: BoxFuture<'_, Result<T, ReadError>>,
) -> Result<T, ReadError> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(ReadError::Cluster { what, problem: format!("no answer within {limit:?}") }),
    }
}
