//! The steps that run under each operator: record changes under constant load, change the load, create a duplicate
//! ScaledObject, and delete one.

use std::time::{Duration, Instant};

use kedge_test_cluster::http_source::SourceResponse;
use kedge_test_cluster::wait::wait_for;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::json;

use super::SYNC_PERIOD;
use super::setup::{Setup, WAIT_TIMEOUT};
use crate::fleet::{DELETED, Member, ORIGINAL_REPLICAS};
use crate::recorder::{Change, WatchedField, WatchedKind};
use crate::report::print_progress;
use crate::results::ScalingTimes;

/// For each round: the object whose load is raised, its desired replicas, and the object that is scaled from zero.
const LOAD_CHANGES: [(&str, u32, &str); 4] = [
    ("steady-1-0", 3, "at-zero-0"),
    ("steady-2-2", 4, "at-zero-1"),
    ("steady-3-4", 5, "at-zero-2"),
    ("steady-3-5", 6, "at-zero-3"),
];

/// The desired replicas of an object that is scaled from zero.
const FROM_ZERO_REPLICAS: u32 = 2;

/// Records what changes while the load is constant.
pub(crate) async fn record_idle_changes(setup: &Setup<'_>) -> anyhow::Result<Vec<Change>> {
    print_progress("recording changes under constant load");
    let begun_at = Instant::now();
    tokio::time::sleep(4 * SYNC_PERIOD).await;
    Ok(setup.recorder.changes_since(begun_at))
}

/// Raises the load of one object, and scales another one from zero.
pub(crate) async fn change_load(setup: &mut Setup<'_>, round: usize) -> anyhow::Result<ScalingTimes> {
    let (raised, replicas, activated) = LOAD_CHANGES[round];
    let higher_load = scale_to(setup, raised, replicas).await?;
    let from_zero = scale_to(setup, activated, FROM_ZERO_REPLICAS).await?;
    print_progress(&format!(
        "{raised} has {replicas} replicas after {higher_load:.1?}, {activated} scaled from zero after {from_zero:.1?}"
    ));
    Ok(ScalingTimes { higher_load, from_zero })
}

/// Sets the load for these replicas, and waits for them.
async fn scale_to(setup: &mut Setup<'_>, name: &str, replicas: u32) -> anyhow::Result<Duration> {
    let changed_at = Instant::now();
    setup.source.set(name, Member::load_for(replicas));
    let member = setup.member_mut(name)?;
    member.expected_replicas = replicas.into();
    let key = member.key();
    wait_for_replicas(setup, &key, replicas.into()).await?;
    Ok(changed_at.elapsed())
}

async fn wait_for_replicas(setup: &Setup<'_>, key: &str, replicas: i64) -> anyhow::Result<()> {
    wait_for(&format!("{key} has {replicas} replicas"), WAIT_TIMEOUT, async || {
        match setup.recorder.current_value(WatchedKind::Deployment, key, WatchedField::Replicas) {
            Some(current) if current == replicas => Ok(()),
            other => Err(other),
        }
    })
    .await
}

/// Tries to create a second ScaledObject for a target; returns the message of the denial.
pub(crate) async fn create_duplicate(setup: &Setup<'_>) -> Result<String, String> {
    let duplicate = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": { "name": "duplicate", "namespace": "team-0" },
        "spec": { "scaleTargetRef": { "name": "steady-1-0" }, "triggers": [{
            "type": "cron",
            "metadata": { "timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 9 * * *", "desiredReplicas": "1" },
        }] },
    });
    let duplicate: DynamicObject = serde_json::from_value(duplicate).map_err(|error| error.to_string())?;
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    match scaled_object_api(setup, "team-0").create(&dry_run, &duplicate).await {
        Err(kube::Error::Api(status)) => Ok(status.message),
        Err(other) => Err(other.to_string()),
        Ok(_) => Err("the API server accepted the object".to_owned()),
    }
}

/// Deletes a member, and waits until its HPA is deleted and its target has its original replicas.
pub(crate) async fn delete_member(setup: &mut Setup<'_>, index: usize) -> anyhow::Result<Duration> {
    let name = DELETED[index];
    let member = setup.member_mut(name)?.clone();
    let requested_at = Instant::now();
    scaled_object_api(setup, &member.namespace).delete(name, &DeleteParams::default()).await?;
    setup.members.retain(|member| member.name != name);
    wait_until_deleted(setup, WatchedKind::ScaledObject, &member.key()).await?;
    wait_for_replicas(setup, &member.key(), ORIGINAL_REPLICAS).await?;
    let hpa = format!("{}/keda-hpa-{name}", member.namespace);
    wait_until_deleted(setup, WatchedKind::HorizontalPodAutoscaler, &hpa).await?;
    print_progress(&format!(
        "{name} was deleted, and its target has {ORIGINAL_REPLICAS} replicas, after {:.1?}",
        requested_at.elapsed()
    ));
    setup.source.set(name, SourceResponse::Value(0.0));
    Ok(requested_at.elapsed())
}

async fn wait_until_deleted(setup: &Setup<'_>, kind: WatchedKind, object: &str) -> anyhow::Result<()> {
    wait_for(&format!("{kind:?} {object} is deleted"), WAIT_TIMEOUT, async || {
        setup.recorder.current_value(kind, object, WatchedField::Uid).map_or(Ok(()), Err)
    })
    .await
}

fn scaled_object_api(setup: &Setup<'_>, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("keda.sh", "v1alpha1", "ScaledObject");
    Api::namespaced_with(setup.environment.client.clone(), namespace, &ApiResource::from_gvk(&kind))
}
