//! What is tried under each of the two: that nothing moves by itself, that replicas follow the load, that a mistake is refused, and that
//! an object can be deleted.

use std::time::{Duration, Instant};

use kedge_test_cluster::wait::wait_for;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::json;

use super::stage::{LIMIT, Stage};
use super::{SYNC_PERIOD, say};
use crate::fleet::{LEAVING, Member, ORIGINAL};
use crate::recorder::{Change, Facet, Kind};
use kedge_test_cluster::http_source::SourceResponse;

/// Who gets more work, and who is woken, in each round.
const ROUNDS: [(&str, u32, &str); 4] = [
    ("steady-1-0", 3, "asleep-0"),
    ("steady-2-2", 4, "asleep-1"),
    ("steady-3-4", 5, "asleep-2"),
    ("steady-3-5", 6, "asleep-3"),
];

/// The replicas of one that is woken.
const AWAKE: u32 = 2;

/// How long replicas took to follow the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followed {
    pub(crate) more: Duration,
    pub(crate) woken: Duration,
}

/// What changes while nothing happens.
pub(crate) async fn rest(stage: &Stage<'_>) -> anyhow::Result<Vec<Change>> {
    say("nothing happens for a while");
    let begun = Instant::now();
    tokio::time::sleep(4 * SYNC_PERIOD).await;
    Ok(stage.recorder.since(begun))
}

/// Gives more work to one, and wakes another.
pub(crate) async fn scale(stage: &mut Stage<'_>, round: usize) -> anyhow::Result<Followed> {
    let (busy, replicas, sleeper) = ROUNDS[round];
    let more = follow(stage, busy, replicas).await?;
    let woken = follow(stage, sleeper, AWAKE).await?;
    say(&format!("{busy} has {replicas} replicas after {more:.1?}, {sleeper} woke after {woken:.1?}"));
    Ok(Followed { more, woken })
}

async fn follow(stage: &mut Stage<'_>, name: &str, replicas: u32) -> anyhow::Result<Duration> {
    let changed = Instant::now();
    stage.source.set(name, Member::work_for(replicas));
    let member = stage.member(name)?;
    member.settles_at = replicas.into();
    let key = member.key();
    until_replicas(stage, &key, replicas.into()).await?;
    Ok(changed.elapsed())
}

async fn until_replicas(stage: &Stage<'_>, key: &str, replicas: i64) -> anyhow::Result<()> {
    wait_for(&format!("{key} has {replicas} replicas"), LIMIT, async || {
        match stage.recorder.now(Kind::Deployment, key, Facet::Replicas) {
            Some(found) if found == replicas => Ok(()),
            other => Err(other),
        }
    })
    .await
}

/// Tries to create a second ScaledObject for a target; answers how that is refused.
pub(crate) async fn admission(stage: &Stage<'_>) -> Result<String, String> {
    let double = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "double", "namespace": "team-0" },
        "spec": { "scaleTargetRef": { "name": "steady-1-0" }, "triggers": [{
            "type": "cron",
            "metadata": { "timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 9 * * *", "desiredReplicas": "1" },
        }] },
    });
    let double: DynamicObject = serde_json::from_value(double).map_err(|error| error.to_string())?;
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    match scaled_objects(stage, "team-0").create(&dry, &double).await {
        Err(kube::Error::Api(status)) => Ok(status.message),
        Err(other) => Err(other.to_string()),
        Ok(_) => Err("it was not refused".to_owned()),
    }
}

/// Deletes one; its target goes back to what it had before the other one took it up.
pub(crate) async fn delete(stage: &mut Stage<'_>, index: usize) -> anyhow::Result<Duration> {
    let name = LEAVING[index];
    let member = stage.member(name)?.clone();
    let asked = Instant::now();
    scaled_objects(stage, &member.namespace).delete(name, &DeleteParams::default()).await?;
    stage.members.retain(|member| member.name != name);
    wait_for(&format!("{name} is gone"), LIMIT, async || {
        stage.recorder.now(Kind::ScaledObject, &member.key(), Facet::Identity).map_or(Ok(()), Err)
    })
    .await?;
    until_replicas(stage, &member.key(), ORIGINAL).await?;
    let hpa = format!("{}/keda-hpa-{name}", member.namespace);
    wait_for(&format!("{hpa} is gone"), LIMIT, async || {
        stage.recorder.now(Kind::HorizontalPodAutoscaler, &hpa, Facet::Identity).map_or(Ok(()), Err)
    })
    .await?;
    say(&format!("{name} was deleted, and its target has {ORIGINAL} replicas, after {:.1?}", asked.elapsed()));
    stage.source.set(name, SourceResponse::Value(0.0));
    Ok(asked.elapsed())
}

fn scaled_objects(stage: &Stage<'_>, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("keda.sh", "v1alpha1", "ScaledObject");
    Api::namespaced_with(stage.environment.client.clone(), namespace, &ApiResource::from_gvk(&kind))
}
