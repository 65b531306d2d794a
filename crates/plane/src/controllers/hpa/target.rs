//! The scale of the target, whatever its kind: found by asking the API which resource the kind is, read, and written.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::autoscaling::v2::CrossVersionObjectReference;
use kedge_core::hpa::model::reconcile::{ScaleError, WRITE_ATTEMPTS_MAX, WRITE_RETRY_PAUSE};
use serde_json::Value;
use tokio::time::sleep;

use super::request::get;
use crate::api::error::ApiError;
use crate::api::resource::Gvr;
use crate::controllers::client::{ControllerClient, ObjectKey, Part};

/// A scale, and where it is written.
#[derive(Clone, Debug)]
pub(super) struct Target {
    resource: Gvr,
    key: ObjectKey,
    scale: Scale,
}

impl Target {
    pub(super) fn current(&self) -> i32 {
        self.scale.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or_default()
    }

    pub(super) fn reported(&self) -> i32 {
        self.scale.status.as_ref().map_or(0, |status| status.replicas)
    }

    pub(super) fn selector(&self) -> &str {
        self.scale.status.as_ref().and_then(|status| status.selector.as_deref()).unwrap_or_default()
    }
}

/// Finds targets. Which resource a kind is, is remembered as long as that works.
#[derive(Debug)]
pub(super) struct Targets {
    client: ControllerClient,
    /// By group and kind.
    resources: Mutex<BTreeMap<(String, String), Gvr>>,
}

impl Targets {
    pub(super) fn new(client: ControllerClient) -> Self {
        Self { client, resources: Mutex::default() }
    }

    pub(super) async fn find(
        &self,
        namespace: &str,
        reference: &CrossVersionObjectReference,
    ) -> Result<Target, ScaleError> {
        let version = reference.api_version.as_deref().unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let asked = (group.to_owned(), reference.kind.clone());
        let known = self.resources.lock().unwrap_or_else(PoisonError::into_inner).get(&asked).cloned();
        let resource = match known {
            Some(known) => known,
            None => discover(&self.client, group, &reference.kind).await.ok_or_else(|| no_mapping(&asked))?,
        };
        let key = ObjectKey::new(namespace, &reference.name);
        let scale = read(&self.client, &resource, &key).await;
        let mut resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        match scale {
            Ok(scale) => {
                resources.insert(asked, resource.clone());
                Ok(Target { resource, key, scale })
            }
            Err(error) => {
                resources.remove(&asked);
                Err(ScaleError::Query { error: error.message })
            }
        }
    }

    /// Writes the replicas, though others write the scale at the same time.
    pub(super) async fn write(&self, target: Target, replicas: i32) -> Result<(), String> {
        let Target { resource, key, mut scale } = target;
        let mut attempts_left = WRITE_ATTEMPTS_MAX;
        loop {
            scale.spec.get_or_insert_default().replicas = Some(replicas);
            let Err(error) = self.client.update(&resource, &key, Part::Scale, &scale).await else { return Ok(()) };
            if let Ok(latest) = read(&self.client, &resource, &key).await {
                scale = latest;
            }
            attempts_left -= 1;
            if error.reason != "Conflict" || attempts_left == 0 {
                return Err(error.message);
            }
            sleep(WRITE_RETRY_PAUSE).await;
        }
    }
}

async fn read(client: &ControllerClient, resource: &Gvr, key: &ObjectKey) -> Result<Scale, ApiError> {
    let scale = client.get(resource, key, Part::Scale).await?;
    serde_json::from_value(scale).map_err(|error| ApiError::new(500, "InternalError", error.to_string()))
}

fn no_mapping((group, kind): &(String, String)) -> ScaleError {
    ScaleError::NoMapping { error: format!("no matches for kind {kind:?} in group {group:?}") }
}

/// The resource of a kind, in the first version of its group that has it.
async fn discover(client: &ControllerClient, group: &str, kind: &str) -> Option<Gvr> {
    let versions = if group.is_empty() { vec!["v1".to_owned()] } else { versions(client, group).await };
    for version in versions {
        let path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let Ok(list) = get(client, &path, "").await else { continue };
        if let Some(plural) = plural(&list, kind) {
            return Some(Gvr::new(group, &version, plural));
        }
    }
    None
}

async fn versions(client: &ControllerClient, group: &str) -> Vec<String> {
    let group = get(client, &format!("/apis/{group}"), "").await.unwrap_or_default();
    let versions = group["versions"].as_array().into_iter().flatten();
    let mut versions: Vec<_> = versions.filter_map(|entry| entry["version"].as_str()).map(str::to_owned).collect();
    // The preferred one comes first.
    versions.sort_by_key(|version| group["preferredVersion"]["version"] != version.as_str());
    versions
}

fn plural<'a>(list: &'a Value, kind: &str) -> Option<&'a str> {
    let names = list["resources"].as_array()?.iter().filter(|entry| entry["kind"] == kind);
    names.filter_map(|entry| entry["name"].as_str()).find(|name| !name.contains('/'))
}
