//! The thing being scaled: which resource it is, and its `/scale`.

use std::collections::HashMap;
use std::sync::Mutex;

use k8s_openapi::api::autoscaling::v1::Scale;
use kedge_api::ScaledObject;
use kedge_api::scaled_object::{GroupVersionKindResource, ScaleTargetRef};
use kube::Client;
use kube::core::Request;
use kube::core::params::PostParams;
use serde::Deserialize;

use crate::key::Key;
use crate::watch::{Extent, Subject, list};

const API_VERSION_DEFAULT: &str = "apps/v1";
const KIND_DEFAULT: &str = "Deployment";

/// The kind of a target, as the cluster serves it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetKind {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub resource: String,
}

/// One target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    pub kind: TargetKind,
    pub key: Key,
}

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("no kind {kind} in {api_version} is served by this cluster; check scaleTargetRef.apiVersion and kind")]
    UnknownKind { api_version: String, kind: String },
    #[error("{what} is not served: {}", plain(source))]
    Discovery { what: String, source: Box<kube::Error> },
    #[error("target resource doesn't exist: {target}")]
    Missing { target: String },
    #[error("target resource doesn't expose /scale subresource: {target}")]
    NoScale { target: String },
    #[error("cannot read the scale of {target}: {}", plain(source))]
    Read { target: String, source: Box<kube::Error> },
    #[error("the scale of {target} names no pods; a custom resource needs `labelSelectorPath` for that")]
    NoSelector { target: String },
    #[error("cannot count the pods of {target}: {}", plain(source))]
    Pods { target: String, source: Box<kube::Error> },
    #[error("cannot scale {target}: {}", plain(source))]
    Write { target: String, source: Box<kube::Error> },
}

/// What went wrong with a call to the API server, in the API server's own words if it has any.
pub fn plain(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

/// Whether somebody else wrote first: nothing is wrong, and everything is to be looked at again.
pub fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

impl TargetKind {
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// KEDA: group, version and kind in one word; the core group gives a leading slash.
    pub fn word(&self) -> String {
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

impl Target {
    fn path(&self) -> String {
        format!("{}/namespaces/{}/{}", self.kind.prefix(), self.key.namespace, self.kind.resource)
    }

    /// How the target is called in messages.
    pub fn word(&self) -> String {
        format!("{} {}", self.kind.word(), self.key)
    }
}

/// The API version and the kind that a reference names, or means where it names none.
pub fn kind_named(reference: &ScaleTargetRef) -> (String, String) {
    let given = |text: &Option<String>, default: &str| match text.as_deref() {
        None | Some("") => default.to_owned(),
        Some(text) => text.to_owned(),
    };
    (given(&reference.api_version, API_VERSION_DEFAULT), given(&reference.kind, KIND_DEFAULT))
}

/// Resolves kinds by discovery, and remembers them.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Targets {
    client: Client,
    known: Mutex<HashMap<(String, String), TargetKind>>,
}

impl Targets {
    pub fn new(client: Client) -> Self {
        Self { client, known: Mutex::new(HashMap::new()) }
    }

    /// The kind that a reference names.
    pub async fn resolve(&self, reference: &ScaleTargetRef) -> Result<TargetKind, TargetError> {
        let (api_version, kind) = kind_named(reference);
        let key = (api_version.clone(), kind.clone());
        if let Some(known) = self.known.lock().expect("nobody panics holding it").get(&key) {
            return Ok(known.clone());
        }
        let resolved = self.discover(&api_version, &kind).await?;
        self.known.lock().expect("nobody panics holding it").insert(key, resolved.clone());
        Ok(resolved)
    }

    /// The target of an object.
    pub async fn of(&self, object: &ScaledObject) -> Result<Target, TargetError> {
        let reference = &object.spec.scale_target_ref;
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        Ok(Target { kind: self.resolve(reference).await?, key: Key::new(namespace, &reference.name) })
    }

    async fn discover(&self, api_version: &str, kind: &str) -> Result<TargetKind, TargetError> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resources = if group.is_empty() {
            self.client.list_core_api_resources(version).await
        } else {
            self.client.list_api_group_resources(api_version).await
        };
        let resources = match resources {
            Ok(resources) => resources.resources,
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
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
    pub async fn scale(&self, target: &Target) -> Result<Scale, TargetError> {
        let request =
            Request::new(target.path()).get_subresource("scale", &target.key.name).map_err(kube::Error::BuildRequest);
        let answer = match request {
            Ok(request) => self.client.request::<Scale>(request).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(scale) => Ok(scale),
            Err(kube::Error::Api(status)) if status.code == 404 => Err(self.why_no_scale(target).await),
            Err(error) => Err(TargetError::Read { target: target.word(), source: Box::new(error) }),
        }
    }

    /// Whether the target is missing, or only its scale.
    async fn why_no_scale(&self, target: &Target) -> TargetError {
        let request = Request::new(target.path()).get(&target.key.name, &Default::default());
        let answer = match request.map_err(kube::Error::BuildRequest) {
            Ok(request) => self.client.request::<serde_json::Value>(request).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(_) => TargetError::NoScale { target: target.word() },
            Err(kube::Error::Api(status)) if status.code == 404 => TargetError::Missing { target: target.word() },
            Err(error) => TargetError::Read { target: target.word(), source: Box::new(error) },
        }
    }

    /// How many pods of a target are running and ready. They are counted, not kept.
    pub async fn ready_pods(&self, target: &Target) -> Result<i32, TargetError> {
        let scale = self.scale(target).await?;
        let selector = scale.status.and_then(|status| status.selector).filter(|selector| !selector.is_empty());
        let selector = selector.ok_or_else(|| TargetError::NoSelector { target: target.word() })?;
        let path = format!("/api/v1/namespaces/{}/pods", target.key.namespace);
        let subject = Subject { path, selector: Some(selector), fields: None, extent: Extent::Whole };
        let pods = list::<Pod>(&self.client, &subject).await;
        let (pods, _) = pods.map_err(|error| TargetError::Pods { target: target.word(), source: Box::new(error) })?;
        Ok(i32::try_from(pods.iter().filter(|pod| pod.is_ready()).count()).unwrap_or(i32::MAX))
    }

    /// Writes the scale, provided that nobody wrote the target since it was read.
    pub async fn set_scale(&self, target: &Target, mut scale: Scale, replicas: i32) -> Result<Scale, TargetError> {
        scale.spec.get_or_insert_default().replicas = Some(replicas);
        let write = |error: kube::Error| TargetError::Write { target: target.word(), source: Box::new(error) };
        let body = serde_json::to_vec(&scale).map_err(|error| write(kube::Error::SerdeError(error)))?;
        let request = Request::new(target.path())
            .replace_subresource("scale", &target.key.name, &PostParams::default(), body)
            .map_err(|error| write(kube::Error::BuildRequest(error)))?;
        self.client.request::<Scale>(request).await.map_err(write)
    }
}

/// As much of a pod as tells whether it is ready.
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

/// The replicas a scale asks for. A zero is left out on the wire.
pub fn replicas(scale: &Scale) -> i32 {
    scale.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(0)
}
