//! Deployments: a ReplicaSet for each template, the newest with the wanted number, older ones with what it still lacks.

mod status;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::index::Index;
use super::pods::{label, template_hash};
use super::{DEPLOYMENTS, REPLICA_SETS};
use crate::api::error::ApiError;
use crate::controllers::client::{ControllerClient, ObjectKey, Part, controller_of, owned_by};

const TEMPLATE_HASH: &str = "pod-template-hash";

pub(super) async fn sync(client: &ControllerClient, index: &Index, at: &ObjectKey) -> Result<(), ApiError> {
    let Some(deployment) = client.object::<Deployment>(&DEPLOYMENTS, at) else { return Ok(()) };
    let Some(spec) = &deployment.spec else { return Ok(()) };
    let mut sets = controlled(client, index, &deployment.metadata);
    let mut managed = Ok(());
    let hash = template_hash(&spec.template);
    if deployment.metadata.deletion_timestamp.is_none() {
        managed = manage(client, &deployment.metadata, spec, &hash, &mut sets).await;
    }
    let new = sets.iter().find(|set| is_of(set, &hash));
    let status = status::deployment_status(&deployment, spec, &sets, new, client.time());
    if deployment.status.as_ref() != Some(&status) {
        let new = Deployment { status: Some(status), ..deployment };
        client.update(&DEPLOYMENTS, at, Part::Status, &new).await?;
    }
    managed
}

/// The ReplicaSets that a Deployment controls, by name.
fn controlled(client: &ControllerClient, index: &Index, owner: &ObjectMeta) -> Vec<ReplicaSet> {
    let uid = owner.uid.as_deref().unwrap_or_default();
    let is_controlled = |set: &ReplicaSet| controller_of(&set.metadata).is_some_and(|controller| controller.uid == uid);
    let sets = index.owned(uid).filter(|(resource, _)| *resource == *REPLICA_SETS);
    sets.filter_map(|(_, key)| client.object(&REPLICA_SETS, key)).filter(is_controlled).collect()
}

fn is_of(set: &ReplicaSet, hash: &str) -> bool {
    label(set.metadata.labels.as_ref(), TEMPLATE_HASH) == Some(hash)
}

/// Brings the numbers of the ReplicaSets in order, and leaves them in `sets`.
async fn manage(
    client: &ControllerClient,
    owner: &ObjectMeta,
    spec: &DeploymentSpec,
    hash: &str,
    sets: &mut Vec<ReplicaSet>,
) -> Result<(), ApiError> {
    let wanted = spec.replicas.unwrap_or(1);
    let Some(new) = sets.iter().position(|set| is_of(set, hash)) else {
        let set = build(owner, spec, hash);
        client.create(&REPLICA_SETS, owner.namespace.as_deref().unwrap_or_default(), &set).await?;
        sets.push(set);
        return Ok(());
    };
    scale(client, &mut sets[new], wanted).await?;
    let ready = sets[new].status.as_ref().and_then(|status| status.ready_replicas).unwrap_or_default();
    let mut lacking = (wanted - ready).max(0);
    for old in sets.iter_mut().filter(|set| !is_of(set, hash)) {
        let kept = replicas(old).min(lacking);
        lacking -= kept;
        scale(client, old, kept).await?;
    }
    Ok(())
}

fn replicas(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

async fn scale(client: &ControllerClient, set: &mut ReplicaSet, to: i32) -> Result<(), ApiError> {
    if replicas(set) == to {
        return Ok(());
    }
    set.spec.get_or_insert_default().replicas = Some(to);
    client.update(&REPLICA_SETS, &ObjectKey::from_meta(&set.metadata), Part::Object, set).await
}

/// The ReplicaSet of the present template.
fn build(owner: &ObjectMeta, spec: &DeploymentSpec, hash: &str) -> ReplicaSet {
    let mut template = spec.template.clone();
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.insert(TEMPLATE_HASH.to_owned(), hash.to_owned());
    let metadata = ObjectMeta {
        name: Some(format!("{}-{hash}", owner.name.as_deref().unwrap_or_default())),
        namespace: owner.namespace.clone(),
        labels: Some(labels.clone()),
        owner_references: Some(vec![owned_by("apps/v1", "Deployment", owner)]),
        ..ObjectMeta::default()
    };
    let mut selector: LabelSelector = spec.selector.clone();
    selector.match_labels.get_or_insert_default().insert(TEMPLATE_HASH.to_owned(), hash.to_owned());
    let replicas = Some(spec.replicas.unwrap_or(1));
    let min_ready_seconds = spec.min_ready_seconds;
    let spec = ReplicaSetSpec { min_ready_seconds, replicas, selector, template: Some(template) };
    ReplicaSet { metadata, spec: Some(spec), status: None }
}
