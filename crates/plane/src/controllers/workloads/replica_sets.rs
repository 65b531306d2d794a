//! ReplicaSets: pods by number, and which of them go first.

use std::cmp::Reverse;

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetSpec, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::REPLICA_SETS;
use super::index::Index;
use super::pods::{build, controlled, count, is_active, is_ending, is_ready, key, label, phase, ready_since};
use crate::api::error::ApiError;
use crate::controllers::client::{ControllerClient, Grace, ObjectKey, PODS, Part, owned_by};

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

pub(super) async fn sync(client: &ControllerClient, index: &Index, at: &ObjectKey) -> Result<(), ApiError> {
    let Some(set) = client.object::<ReplicaSet>(&REPLICA_SETS, at) else { return Ok(()) };
    let Some(spec) = &set.spec else { return Ok(()) };
    let pods = controlled(client, index, &set.metadata);
    let managed =
        if set.metadata.deletion_timestamp.is_none() { manage(client, &set, spec, &pods).await } else { Ok(()) };
    let status = replica_set_status(&set, spec, &pods);
    if set.status.as_ref() != Some(&status) {
        let new = ReplicaSet { status: Some(status), ..set };
        client.update(&REPLICA_SETS, at, Part::Status, &new).await?;
    }
    managed
}

async fn manage(
    client: &ControllerClient,
    set: &ReplicaSet,
    spec: &ReplicaSetSpec,
    pods: &[Pod],
) -> Result<(), ApiError> {
    let active: Vec<&Pod> = pods.iter().filter(|pod| is_active(pod)).collect();
    let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or_default();
    if active.len() < wanted {
        return create(client, set, spec, pods, wanted - active.len()).await;
    }
    for pod in leave_first(active.clone()).into_iter().take(active.len() - wanted) {
        client.delete(&PODS, &key(pod), Grace::Own).await?;
    }
    Ok(())
}

/// Names are numbered: each new pod takes the lowest number that no pod has.
async fn create(
    client: &ControllerClient,
    set: &ReplicaSet,
    spec: &ReplicaSetSpec,
    pods: &[Pod],
    missing: usize,
) -> Result<(), ApiError> {
    let template = spec.template.clone().unwrap_or_default();
    let at = ObjectKey::from_meta(&set.metadata);
    let is_taken = |name: &String| pods.iter().any(|pod| pod.metadata.name.as_ref() == Some(name));
    let names = (0..).map(|number: usize| format!("{}-{number}", at.name)).filter(|name| !is_taken(name));
    for name in names.take(missing) {
        let pod = build(&template, &at.namespace, name, owned_by("apps/v1", "ReplicaSet", &set.metadata));
        client.create(&PODS, &at.namespace, &pod).await?;
    }
    Ok(())
}

/// The pods in the order in which they go: those that serve least, then the cheapest, then the newest.
// The real order also depends on nodes and restarts, and takes ages that are about the same for equal.
fn leave_first(mut pods: Vec<&Pod>) -> Vec<&Pod> {
    let rank = |pod: &&Pod| {
        let ready_since = ready_since(pod).filter(|_| is_ready(pod)).cloned();
        let number = pod.metadata.name.as_deref().and_then(|name| name.rsplit('-').next()?.parse::<u32>().ok());
        let created_at: Option<Time> = pod.metadata.creation_timestamp.clone();
        (phase_rank(pod), is_ready(pod), deletion_cost(pod), Reverse(ready_since), Reverse(created_at), Reverse(number))
    };
    pods.sort_by_key(rank);
    pods
}

fn phase_rank(pod: &Pod) -> u8 {
    match phase(pod) {
        "Pending" | "" => 0,
        "Running" => 2,
        _ => 1,
    }
}

fn deletion_cost(pod: &Pod) -> i32 {
    label(pod.metadata.annotations.as_ref(), DELETION_COST).and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn replica_set_status(set: &ReplicaSet, spec: &ReplicaSetSpec, pods: &[Pod]) -> ReplicaSetStatus {
    let wanted = spec.template.as_ref().and_then(|template| template.metadata.as_ref()?.labels.clone());
    let wanted = wanted.unwrap_or_default();
    let has_all =
        |pod: &Pod| wanted.iter().all(|(name, value)| label(pod.metadata.labels.as_ref(), name) == Some(value));
    let ready = count(pods, |pod| is_active(pod) && is_ready(pod));
    ReplicaSetStatus {
        available_replicas: ready,
        conditions: set.status.as_ref().and_then(|status| status.conditions.clone()),
        fully_labeled_replicas: count(pods, |pod| is_active(pod) && has_all(pod)),
        observed_generation: set.metadata.generation,
        ready_replicas: ready,
        replicas: count(pods, is_active).unwrap_or_default(),
        terminating_replicas: Some(count(pods, is_ending).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_that_serve_least_go_first_then_the_newest() {
        let pod = |name: &str, phase: &str, ready: &str, since: &str, cost: &str| -> Pod {
            serde_json::from_value(json!({
                "metadata": { "name": name, "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": { DELETION_COST: cost } },
                "status": { "phase": phase, "conditions": [{ "type": "Ready", "status": ready, "lastTransitionTime": since }] },
            }))
            .unwrap()
        };
        let pods = [
            pod("web-0", "Running", "True", "2026-01-01T00:01:00Z", "0"),
            pod("web-1", "Running", "True", "2026-01-01T00:02:00Z", "0"),
            pod("web-2", "Running", "True", "2026-01-01T00:02:00Z", "0"),
            pod("web-10", "Running", "True", "2026-01-01T00:02:00Z", "0"),
            pod("web-3", "Running", "True", "2026-01-01T00:01:00Z", "-5"),
            pod("web-4", "Running", "False", "2026-01-01T00:01:00Z", "0"),
            pod("web-5", "Pending", "False", "2026-01-01T00:01:00Z", "9"),
        ];
        let order: Vec<_> =
            leave_first(pods.iter().collect()).iter().map(|pod| pod.metadata.name.clone().unwrap()).collect();
        assert_eq!(order, ["web-5", "web-4", "web-3", "web-10", "web-2", "web-1", "web-0"]);
    }
}
