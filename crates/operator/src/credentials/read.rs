//! Reading the objects that credentials are taken from: on demand, each once for one object's triggers. It notes which
//! version of what was read, so that a later change is noticed.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret as KubeSecret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_api::names;
use kedge_core::credentials::{CredentialError, Reference, ReferenceContent, ReferenceKind};
use kedge_core::secret::Secret;
use kube::core::Request;
use kube::{Client, Resource};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

/// The version of an object; `None` when it does not exist.
pub type Version = Option<String>;

/// How many objects are read at once, whoever needs them: scalers are built outside the slots of reconciles.
pub const READS_AT_ONCE: usize = 32;

/// What was read, and in which version.
#[allow(missing_debug_implementations)] // it holds nothing to look at
pub struct Reads {
    at_once: Arc<Semaphore>,
    versions: BTreeMap<Reference, Version>,
    contents: BTreeMap<Reference, ReferenceContent>,
}

impl Reads {
    /// Nothing so far.
    pub fn new(at_once: Arc<Semaphore>) -> Self {
        Self { at_once, versions: BTreeMap::new(), contents: BTreeMap::new() }
    }

    /// The versions of everything that was read so far.
    pub fn versions(self) -> BTreeMap<Reference, Version> {
        self.versions
    }

    /// Records an object that does not exist.
    pub fn note_missing(&mut self, reference: &Reference) {
        self.versions.insert(reference.clone(), None);
    }

    /// An object, if it exists.
    pub async fn object<T>(&mut self, client: &Client, reference: &Reference) -> Result<Option<T>, CredentialError>
    where
        T: Resource + DeserializeOwned,
    {
        if !reference.can_exist() {
            return Ok(None);
        }
        let unreadable =
            |error: &kube::Error| CredentialError::Unreadable { what: reference.to_string(), problem: why(error) };
        let request = Request::new(path(reference)).get(&reference.name, &Default::default());
        let request = request.map_err(|error| unreadable(&kube::Error::BuildRequest(error)))?;
        let _permit = self.at_once.acquire().await;
        let found = match client.request::<T>(request).await {
            Ok(found) => Some(found),
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => {
                // So that its return is noticed, whatever kept it from being read.
                self.versions.entry(reference.clone()).or_insert(None);
                return Err(unreadable(&error));
            }
        };
        let version = found.as_ref().and_then(|found| Stamp::from(found.meta()).version(&reference.kind));
        self.versions.insert(reference.clone(), version);
        Ok(found)
    }

    /// The content of a Secret or ConfigMap.
    pub async fn content(
        &mut self,
        client: &Client,
        reference: &Reference,
    ) -> Result<ReferenceContent, CredentialError> {
        if let Some(known) = self.contents.get(reference) {
            return Ok(known.clone());
        }
        let content = match reference.kind {
            ReferenceKind::Secret => self.object::<KubeSecret>(client, reference).await?.map(secret_content),
            _ => self.object::<ConfigMap>(client, reference).await?.map(map_content),
        };
        let content = content.unwrap_or(ReferenceContent::Missing);
        self.contents.insert(reference.clone(), content.clone());
        Ok(content)
    }

    /// The value of one key, which must be there.
    pub async fn key(
        &mut self,
        client: &Client,
        reference: &Reference,
        key: &str,
        place: String,
    ) -> Result<Secret, CredentialError> {
        let (reference, key) = (reference.clone(), key.to_owned());
        match self.content(client, &reference).await? {
            ReferenceContent::Data(mut data) => match data.remove(&key) {
                Some(Some(value)) => Ok(value),
                Some(None) => Err(CredentialError::NotText { reference, key, place }),
                None => Err(CredentialError::NoKey { reference, key, place }),
            },
            ReferenceContent::Missing | ReferenceContent::Withheld => {
                Err(CredentialError::Missing { reference, place })
            }
        }
    }
}

fn secret_content(secret: KubeSecret) -> ReferenceContent {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok().map(Secret::new);
    ReferenceContent::Data(
        secret.data.unwrap_or_default().into_iter().map(|(key, bytes)| (key, text(bytes.0))).collect(),
    )
}

fn map_content(map: ConfigMap) -> ReferenceContent {
    ReferenceContent::Data(
        map.data.unwrap_or_default().into_iter().map(|(key, text)| (key, Some(Secret::new(text)))).collect(),
    )
}

/// The path of the resource that an object belongs to.
pub fn path(reference: &Reference) -> String {
    let own = format!("/apis/{}/{}", names::GROUP, names::VERSION);
    let (prefix, resource) = match &reference.kind {
        ReferenceKind::TriggerAuthentication => (own.as_str(), "triggerauthentications"),
        ReferenceKind::ClusterTriggerAuthentication => return format!("{own}/clustertriggerauthentications"),
        ReferenceKind::Secret => ("/api/v1", "secrets"),
        ReferenceKind::ConfigMap => ("/api/v1", "configmaps"),
        ReferenceKind::ServiceAccount => ("/api/v1", "serviceaccounts"),
        ReferenceKind::Workload(workload) => (workload.prefix.as_str(), workload.resource.as_str()),
    };
    format!("{prefix}/namespaces/{}/{resource}", reference.namespace)
}

/// Who an object is, and in which version.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Stamp {
    pub name: String,
    pub namespace: String,
    uid: String,
    resource_version: String,
    generation: i64,
}

impl Stamp {
    /// The version of what matters in it: where there are generations, a change of the status is none.
    pub fn version(&self, kind: &ReferenceKind) -> Version {
        Some(match kind {
            ReferenceKind::Secret | ReferenceKind::ConfigMap | ReferenceKind::ServiceAccount => {
                format!("{}/{}", self.uid, self.resource_version)
            }
            ReferenceKind::TriggerAuthentication
            | ReferenceKind::ClusterTriggerAuthentication
            | ReferenceKind::Workload(_) => {
                format!("{}/{}", self.uid, self.generation)
            }
        })
    }
}

impl From<&ObjectMeta> for Stamp {
    fn from(meta: &ObjectMeta) -> Self {
        Self {
            name: meta.name.clone().unwrap_or_default(),
            namespace: meta.namespace.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            resource_version: meta.resource_version.clone().unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
        }
    }
}

/// Why a call to the API server failed. What the answer holds is not repeated: it may be a Secret.
pub fn why(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.code == 403 => format!("{}; allow it to the operator", status.message),
        kube::Error::Api(status) => status.message.clone(),
        kube::Error::SerdeError(_) => "the API server's answer is not understood".to_owned(),
        other => other.to_string(),
    }
}
