//! What is fetched from the API server because the index does not have it: served kinds, and workloads created a moment ago.

use std::pin::Pin;

use kedge_api::scaled_object::ScaleTargetRef;
use kedge_cluster::{ScaleTargets, TargetError};
use kube::Client;
use kube::core::Request;

use crate::index::objects::WatchedWorkload;
use crate::neighbours::{PodResources, WorkloadKind};

/// A pending lookup.
pub type Lookup<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>;

/// A failed lookup: the review is answered with this status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub code: u16,
    pub reason: String,
    pub message: String,
}

/// The lookups that rules may need.
pub trait Lookups: Send + Sync {
    /// What the pods of a workload request, if it exists.
    fn pod_resources<'a>(
        &'a self,
        kind: WorkloadKind,
        namespace: &'a str,
        name: &'a str,
    ) -> Lookup<'a, Option<PodResources>>;

    /// Whether the cluster serves a kind.
    fn serves<'a>(&'a self, api_version: &'a str, kind: &'a str) -> Lookup<'a, Served>;
}

/// Whether the cluster serves a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    Yes,
    No,
}

/// Lookups in a cluster.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct KubeLookups {
    client: Client,
    targets: ScaleTargets,
}

impl KubeLookups {
    pub fn new(client: Client) -> Self {
        Self { targets: ScaleTargets::new(client.clone()), client }
    }

    async fn fetch(
        &self,
        kind: WorkloadKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<PodResources>, kube::Error> {
        let path = format!("/apis/apps/v1/namespaces/{namespace}/{}", kind.resource());
        let request = Request::new(path).get(name, &Default::default()).map_err(kube::Error::BuildRequest)?;
        match self.client.request::<WatchedWorkload>(request).await {
            Ok(workload) => Ok(Some(workload.pod_resources())),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Lookups for KubeLookups {
    fn pod_resources<'a>(
        &'a self,
        kind: WorkloadKind,
        namespace: &'a str,
        name: &'a str,
    ) -> Lookup<'a, Option<PodResources>> {
        Box::pin(async move { self.fetch(kind, namespace, name).await.map_err(|error| Failure::from_kube(&error)) })
    }

    fn serves<'a>(&'a self, api_version: &'a str, kind: &'a str) -> Lookup<'a, Served> {
        Box::pin(async move {
            let (api_version, kind) = (Some(api_version.to_owned()), Some(kind.to_owned()));
            let reference = ScaleTargetRef { name: String::new(), api_version, kind, env_source_container_name: None };
            match self.targets.resolve_kind(&reference).await {
                Ok(_) => Ok(Served::Yes),
                Err(TargetError::UnknownKind { .. }) => Ok(Served::No),
                Err(TargetError::Discovery { source, .. }) => Err(Failure::from_kube(&source)),
                Err(other) => Err(Failure::internal(other.to_string())),
            }
        })
    }
}

impl Failure {
    /// The status of the API server, where it returned one.
    fn from_kube(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                Self { code: status.code, reason: status.reason.clone(), message: status.message.clone() }
            }
            other => Self::internal(format!("the API server does not answer: {other}")),
        }
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self { code: 500, reason: "InternalError".to_owned(), message: message.into() }
    }
}
