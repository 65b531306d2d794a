//! Reads of the cluster, and writes of changes.

use anyhow::{Context, anyhow, bail};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::manifest;
use super::plan::{
    Change, HELM, KEEP, LiveObject, MANAGED_BY, Object, Owner, PART_OF, POLICY, RELEASE_NAME, RELEASE_NAMESPACE,
    Service, SharedKind, keda_only, shared,
};
use super::release::Release;

/// The field manager of the writes.
const MANAGER: &str = "kedge-migrate";

/// Attempts to write a Secret that another client changes too.
const ATTEMPTS: usize = 5;

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Applied {
    Changed(String),
    /// The change was made already.
    Unchanged,
}

/// The latest revision of a release, which `helm uninstall` uses.
#[derive(Debug)]
pub(super) struct LatestRevision {
    pub(super) revision: u32,
    pub(super) release: Release,
    secret: Secret,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Write,
    DryRun,
}

fn api(client: &Client, kind: SharedKind) -> Api<DynamicObject> {
    let (group, plural) = match kind {
        SharedKind::ApiService => ("apiregistration.k8s.io", "apiservices"),
        SharedKind::Webhooks => ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        SharedKind::Crd => ("apiextensions.k8s.io", "customresourcedefinitions"),
    };
    let gvk = GroupVersionKind::gvk(group, "v1", kind.kind());
    Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&gvk, plural))
}

/// The existing objects of both charts, and of KEDA's chart alone.
pub(super) async fn fetch_live(client: &Client) -> anyhow::Result<Vec<LiveObject>> {
    let mut live = Vec::new();
    for object in shared().into_iter().chain(keda_only()) {
        live.extend(fetch_one(client, &object).await.with_context(|| format!("cannot read {object}"))?);
    }
    Ok(live)
}

/// Fetches only the metadata of CRDs, which are large.
async fn fetch_one(client: &Client, object: &Object) -> kube::Result<Option<LiveObject>> {
    let api = api(client, object.kind);
    if object.kind != SharedKind::ApiService {
        let found = api.get_metadata_opt(&object.name).await?;
        return Ok(found.map(|found| read_live(object, &found.metadata, &Value::Null)));
    }
    let found = api.get_opt(&object.name).await?;
    Ok(found.map(|found| read_live(object, &found.metadata, &found.data)))
}

/// The manifest of the newest revision of a release, if there is one.
pub(super) async fn fetch_manifest(client: &Client, owner: &Owner) -> anyhow::Result<Option<String>> {
    let Some(newest) = fetch_latest(client, owner).await? else { return Ok(None) };
    newest.release.manifest().map(Some).with_context(|| owner.to_string())
}

fn read_live(object: &Object, metadata: &kube::core::ObjectMeta, data: &Value) -> LiveObject {
    let annotation = |key: &str| metadata.annotations.as_ref().and_then(|all| all.get(key).cloned());
    let label = |key: &str| metadata.labels.as_ref().and_then(|all| all.get(key).cloned());
    let release = annotation(RELEASE_NAME).zip(annotation(RELEASE_NAMESPACE));
    LiveObject {
        object: object.clone(),
        owner: release.map(|(release, namespace)| Owner { release, namespace }),
        managed_by: label(MANAGED_BY),
        policy: annotation(POLICY),
        part_of: PART_OF.into_iter().filter_map(label).collect(),
        service: Service::from_api_service(data),
    }
}

/// The latest revision of a release. None if there is no such release, or if Helm stores it outside of Secrets.
pub(super) async fn fetch_latest(client: &Client, owner: &Owner) -> anyhow::Result<Option<LatestRevision>> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &owner.namespace);
    let selector = ListParams::default().labels(&format!("owner=helm,name={}", owner.release));
    let found = secrets.list(&selector).await.with_context(|| format!("cannot read the Secrets of {owner}"))?;
    let revision = |secret: &Secret| secret.metadata.labels.as_ref()?.get("version")?.parse::<u32>().ok();
    let newest = found.items.into_iter().filter_map(|secret| Some((revision(&secret)?, secret)));
    let Some((revision, secret)) = newest.max_by_key(|(revision, _)| *revision) else { return Ok(None) };
    let data = secret.data.as_ref().and_then(|data| data.get("release")).map(|ByteString(data)| data.as_slice());
    let release = Release::decode(data.unwrap_or_default())
        .with_context(|| format!("{owner}, revision {revision}: the Secret of Helm"))?;
    Ok(Some(LatestRevision { revision, release, secret }))
}

/// Makes one change. Idempotent.
pub(super) async fn apply(client: &Client, change: &Change, mode: Mode) -> anyhow::Result<Applied> {
    match change {
        Change::KeepInRelease { owner, objects } => keep_in_release(client, owner, objects, mode).await,
        Change::Protect(object) => {
            let metadata = json!({ "annotations": { POLICY: KEEP } });
            patch(client, object, json!({ "metadata": metadata }), mode).await?;
            Ok(Applied::Changed(format!("{object}: is kept by Helm ({POLICY}: {KEEP})")))
        }
        Change::HandOver { object, from, to } => {
            let annotations = json!({ RELEASE_NAME: to.release, RELEASE_NAMESPACE: to.namespace });
            let metadata = json!({ "annotations": annotations, "labels": { MANAGED_BY: HELM } });
            patch(client, object, json!({ "metadata": metadata }), mode).await?;
            let from = from.as_ref().map_or_else(|| "no release".to_owned(), ToString::to_string);
            Ok(Applied::Changed(format!("{object}: handed over from {from} to {to}")))
        }
        Change::Repoint { object, service: Service { namespace, name } } => {
            let service = json!({ "namespace": namespace, "name": name });
            patch(client, object, json!({ "spec": { "service": service } }), mode).await?;
            Ok(Applied::Changed(format!("{object}: leads to the Service {namespace}/{name}")))
        }
    }
}

async fn patch(client: &Client, object: &Object, change: Value, mode: Mode) -> anyhow::Result<()> {
    if mode == Mode::DryRun {
        return Ok(());
    }
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let patched = api(client, object.kind).patch_metadata(&object.name, &params, &Patch::Merge(change)).await;
    patched.map(drop).with_context(|| format!("cannot change {object}"))
}

async fn keep_in_release(client: &Client, owner: &Owner, objects: &[Object], mode: Mode) -> anyhow::Result<Applied> {
    for _ in 0..ATTEMPTS {
        let Some(newest) = fetch_latest(client, owner).await? else { return Ok(Applied::Unchanged) };
        let (secret, changed) = rewritten(&newest, owner, objects)?;
        if changed.is_empty() {
            return Ok(Applied::Unchanged);
        }
        let names: Vec<String> = changed.iter().map(ToString::to_string).collect();
        let change = format!("{owner}, revision {}: `helm uninstall` will keep {}", newest.revision, names.join(", "));
        if mode == Mode::DryRun || write(client, owner, &secret).await? == Written::Yes {
            return Ok(Applied::Changed(change));
        }
    }
    bail!("{owner}: another client keeps changing it; wait until Helm is done, and retry")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Yes,
    /// Another client wrote it first.
    Conflict,
}

async fn write(client: &Client, owner: &Owner, secret: &Secret) -> anyhow::Result<Written> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &owner.namespace);
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    match secrets.replace(name, &params, secret).await {
        Ok(_) => Ok(Written::Yes),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(Written::Conflict),
        Err(error) => Err(error).with_context(|| format!("cannot write the Secret {}/{name}", owner.namespace)),
    }
}

/// The Secret of a release in which objects are kept. Its resource version makes a conflicting write fail.
fn rewritten(newest: &LatestRevision, owner: &Owner, objects: &[Object]) -> anyhow::Result<(Secret, Vec<Object>)> {
    let about = || format!("{owner}, revision {}", newest.revision);
    let status = newest.release.status().with_context(about)?;
    if status.starts_with("pending") {
        let remedy = "wait until Helm is done; if it was interrupted, `helm rollback` first";
        return Err(anyhow!("its status is {status}; {remedy}").context(about()));
    }
    let kept = manifest::keep(&newest.release.manifest().with_context(about)?, objects).with_context(about)?;
    let mut release = Release::decode(&data(&newest.secret)).with_context(about)?;
    release.set_manifest(&kept.manifest).with_context(about)?;
    let mut secret = newest.secret.clone();
    let encoded = release.encode().with_context(about)?;
    secret.data.get_or_insert_default().insert("release".to_owned(), ByteString(encoded));
    Ok((secret, kept.changed))
}

fn data(secret: &Secret) -> Vec<u8> {
    let data = secret.data.as_ref().and_then(|data| data.get("release"));
    data.map(|ByteString(data)| data.clone()).unwrap_or_default()
}

#[cfg(test)]
#[path = "cluster/tests.rs"]
mod tests;
