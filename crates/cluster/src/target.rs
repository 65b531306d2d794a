//! The workload being scaled: its kind, resolved by discovery, and its `/scale` subresource.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use k8s_openapi::api::autoscaling::v1::Scale;
use kedge_api::scaled_object::{GroupVersionKindResource, ScaleTargetRef};
use kedge_core::object_name::can_be_object_name;
use kube::Client;
use kube::core::Request;
use kube::core::params::PostParams;
use serde::Deserialize;

use crate::api_error::{self, is_not_found};
use crate::key::NamespacedName;
use crate::list_watch::{Projection, ResourceQuery, list};

/// The kind of a target, as the cluster serves it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetKind {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub resource: String,
}

/// One workload that is scaled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScaleTarget {
    pub kind: Arc<TargetKind>,
    pub key: NamespacedName,
}

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("scaleTargetRef.name {name:?} cannot be the name of an object; write the name of the target alone")]
    InvalidName { name: String },
    #[error("no kind {kind} in {api_version} is served by this cluster; check scaleTargetRef.apiVersion and kind")]
    UnknownKind { api_version: String, kind: String },
    #[error("{what} is not served: {}", api_error::message(source))]
    Discovery { what: String, source: Box<kube::Error> },
    #[error("target resource doesn't exist: {target}")]
    Missing { target: String },
    #[error("target resource doesn't expose /scale subresource: {target}")]
    NoScale { target: String },
    #[error("cannot read the scale of {target}: {}", api_error::message(source))]
    Read { target: String, source: Box<kube::Error> },
    #[error("the scale of {target} names no pods; a custom resource needs `labelSelectorPath` for that")]
    NoSelector { target: String },
    #[error("cannot count the pods of {target}: {}", api_error::message(source))]
    Pods { target: String, source: Box<kube::Error> },
    #[error("cannot scale {target}: {}", api_error::message(source))]
    Write { target: String, source: Box<kube::Error> },
}

/// The kinds of workloads that every cluster has. Their `spec.replicas` is what `/scale` shows.
static BUILT_IN: LazyLock<[Arc<TargetKind>; 3]> = LazyLock::new(|| {
    let kinds = [("Deployment", "deployments"), ("StatefulSet", "statefulsets"), ("ReplicaSet", "replicasets")];
    kinds.map(|(kind, resource)| {
        let (group, version) = ("apps".to_owned(), "v1".to_owned());
        Arc::new(TargetKind { group, version, kind: kind.to_owned(), resource: resource.to_owned() })
    })
});

impl TargetKind {
    /// The kind that a reference names, where it is one that every cluster has.
    pub fn built_in(reference: &ScaleTargetRef) -> Option<Arc<Self>> {
        let (api_version, kind) = reference.api_version_and_kind();
        let group_and_version = api_version.split_once('/')?;
        let is_named = |one: &Self| one.kind == kind && (one.group.as_str(), one.version.as_str()) == group_and_version;
        BUILT_IN.iter().find(|one| is_named(one)).cloned()
    }

    pub fn is_built_in(&self) -> bool {
        BUILT_IN.iter().any(|one| **one == *self)
    }

    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// KEDA: group, version and kind in one word; the core group gives a leading slash.
    pub fn display_name(&self) -> String {
        format!("{}/{}.{}", self.group, self.version, self.kind)
    }

    pub fn gvkr(&self) -> GroupVersionKindResource {
        GroupVersionKindResource {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: self.kind.clone(),
            resource: self.resource.clone(),
        }
    }

    /// The path of the group and version.
    pub fn prefix(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }
}

impl ScaleTarget {
    fn path(&self) -> String {
        format!("{}/namespaces/{}/{}", self.kind.prefix(), self.key.namespace, self.kind.resource)
    }

    /// The name of the target in messages.
    pub fn display_name(&self) -> String {
        format!("{} {}", self.kind.display_name(), self.key)
    }
}

/// Resolves targets by discovery, and reads and writes their scale. Resolved kinds are cached.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct ScaleTargets {
    client: Client,
    /// By API version and kind.
    known: Mutex<HashMap<String, HashMap<String, Arc<TargetKind>>>>,
}

impl ScaleTargets {
    pub fn new(client: Client) -> Self {
        Self { client, known: Mutex::new(HashMap::new()) }
    }

    /// The kind that a reference names.
    pub async fn resolve_kind(&self, reference: &ScaleTargetRef) -> Result<Arc<TargetKind>, TargetError> {
        let (api_version, kind) = reference.api_version_and_kind();
        let known = || self.known.lock().expect("no holder of the lock panics");
        if let Some(known) = known().get(api_version).and_then(|kinds| kinds.get(kind)) {
            return Ok(known.clone());
        }
        let resolved = Arc::new(self.discover(api_version, kind).await?);
        known().entry(api_version.to_owned()).or_default().insert(kind.to_owned(), resolved.clone());
        Ok(resolved)
    }

    /// The target that a reference in this namespace names.
    pub async fn resolve(
        &self,
        namespace: impl Into<Arc<str>>,
        reference: &ScaleTargetRef,
    ) -> Result<ScaleTarget, TargetError> {
        if !can_be_object_name(&reference.name) {
            return Err(TargetError::InvalidName { name: reference.name.clone() });
        }
        let kind = self.resolve_kind(reference).await?;
        let key = NamespacedName { namespace: namespace.into(), name: reference.name.as_str().into() };
        Ok(ScaleTarget { kind, key })
    }

    async fn discover(&self, api_version: &str, kind: &str) -> Result<TargetKind, TargetError> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if !can_be_object_name(version) || !(group.is_empty() || can_be_object_name(group)) {
            return Err(TargetError::UnknownKind { api_version: api_version.to_owned(), kind: kind.to_owned() });
        }
        let resources = if group.is_empty() {
            self.client.list_core_api_resources(version).await
        } else {
            self.client.list_api_group_resources(api_version).await
        };
        let resources = match resources {
            Ok(resources) => resources.resources,
            Err(error) if is_not_found(&error) => Vec::new(),
            Err(error) => {
                return Err(TargetError::Discovery { what: api_version.to_owned(), source: Box::new(error) });
            }
        };
        let found = resources.into_iter().find(|resource| resource.kind == kind && !resource.name.contains('/'));
        let found = found
            .ok_or_else(|| TargetError::UnknownKind { api_version: api_version.to_owned(), kind: kind.to_owned() })?;
        Ok(TargetKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            resource: found.name,
        })
    }

    /// The live scale of a target.
    pub async fn fetch_scale(&self, target: &ScaleTarget) -> Result<Scale, TargetError> {
        let request =
            Request::new(target.path()).get_subresource("scale", &target.key.name).map_err(kube::Error::BuildRequest);
        let answer = match request {
            Ok(request) => self.client.request::<Scale>(request).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(scale) => Ok(scale),
            Err(error) if is_not_found(&error) => Err(self.diagnose_missing_scale(target).await),
            Err(error) => Err(TargetError::Read { target: target.display_name(), source: Box::new(error) }),
        }
    }

    /// Distinguishes a missing target from one without a scale subresource.
    async fn diagnose_missing_scale(&self, target: &ScaleTarget) -> TargetError {
        let request = Request::new(target.path()).get(&target.key.name, &Default::default());
        let answer = match request.map_err(kube::Error::BuildRequest) {
            Ok(request) => self.client.request::<serde_json::Value>(request).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(_) => TargetError::NoScale { target: target.display_name() },
            Err(error) if is_not_found(&error) => TargetError::Missing { target: target.display_name() },
            Err(error) => TargetError::Read { target: target.display_name(), source: Box::new(error) },
        }
    }

    /// Counts the pods of a target that are running and ready. The pods are not cached.
    pub async fn count_ready_pods(&self, target: &ScaleTarget) -> Result<i32, TargetError> {
        let scale = self.fetch_scale(target).await?;
        let selector = scale.status.and_then(|status| status.selector).filter(|selector| !selector.is_empty());
        let selector = selector.ok_or_else(|| TargetError::NoSelector { target: target.display_name() })?;
        let path = format!("/api/v1/namespaces/{}/pods", target.key.namespace);
        let query = ResourceQuery {
            path,
            label_selector: Some(selector),
            field_selector: None,
            projection: Projection::Object,
        };
        let pods = list::<Pod>(&self.client, &query).await;
        let (pods, _) =
            pods.map_err(|error| TargetError::Pods { target: target.display_name(), source: Box::new(error) })?;
        Ok(i32::try_from(pods.iter().filter(|pod| pod.is_ready()).count()).unwrap_or(i32::MAX))
    }

    /// Writes the scale unless another client wrote the target since the scale was read.
    pub async fn set_scale(&self, target: &ScaleTarget, mut scale: Scale, replicas: i32) -> Result<Scale, TargetError> {
        scale.spec.get_or_insert_default().replicas = Some(replicas);
        let write = |error: kube::Error| TargetError::Write { target: target.display_name(), source: Box::new(error) };
        let body = serde_json::to_vec(&scale).map_err(|error| write(kube::Error::SerdeError(error)))?;
        let request = Request::new(target.path())
            .replace_subresource("scale", &target.key.name, &PostParams::default(), body)
            .map_err(|error| write(kube::Error::BuildRequest(error)))?;
        self.client.request::<Scale>(request).await.map_err(write)
    }
}

/// The fields of a pod that decide its readiness.
#[derive(Deserialize)]
struct Pod {
    #[serde(default)]
    status: PodStatus,
}

#[derive(Default, Deserialize)]
struct PodStatus {
    phase: Option<String>,
    #[serde(default)]
    conditions: Vec<PodCondition>,
}

#[derive(Deserialize)]
struct PodCondition {
    r#type: String,
    status: String,
}

impl Pod {
    fn is_ready(&self) -> bool {
        let ready = |condition: &PodCondition| condition.r#type == "Ready" && condition.status == "True";
        self.status.phase.as_deref() == Some("Running") && self.status.conditions.iter().any(ready)
    }
}

/// The replicas that a scale requests. Zero is omitted on the wire.
pub fn desired_replicas(scale: &Scale) -> i32 {
    scale.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(0)
}
