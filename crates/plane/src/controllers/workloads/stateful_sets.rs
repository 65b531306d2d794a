//! StatefulSets: pods by ordinal, one after another unless the set says `Parallel`.

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetStatus};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};

use super::STATEFUL_SETS;
use super::index::Index;
use super::pods::{build, controlled, count, is_active, is_ending, is_ready, key, label, template_hash};
use crate::api::error::ApiError;
use crate::controllers::client::{ControllerClient, Grace, ObjectKey, PODS, Part, owned_by};

const REVISION: &str = "controller-revision-hash";

pub(super) async fn sync(client: &ControllerClient, index: &Index, at: &ObjectKey) -> Result<(), ApiError> {
    let Some(set) = client.object::<StatefulSet>(&STATEFUL_SETS, at) else { return Ok(()) };
    let Some(spec) = &set.spec else { return Ok(()) };
    let pods = controlled(client, index, &set.metadata);
    let revision = format!("{}-{}", at.name, template_hash(&spec.template));
    let managed = match plan(spec, &at.name, &revision, &pods) {
        _ if set.metadata.deletion_timestamp.is_some() => Ok(()),
        Plan::Rest => Ok(()),
        Plan::Create(ordinals) => create(client, &set, spec, &revision, ordinals).await,
        Plan::Delete(pods) => delete(client, &pods).await,
    };
    let status = stateful_set_status(&set, spec, &revision, &pods);
    if set.status.as_ref() != Some(&status) {
        let new = StatefulSet { status: Some(status), ..set };
        client.update(&STATEFUL_SETS, at, Part::Status, &new).await?;
    }
    managed
}

/// The next step of a set.
#[derive(Debug, PartialEq)]
enum Plan<'a> {
    Rest,
    Create(Vec<i32>),
    Delete(Vec<&'a Pod>),
}

/// Missing pods first, from the lowest ordinal; then those beyond the number, then those of an old template, from the
/// highest.
fn plan<'a>(spec: &StatefulSetSpec, name: &str, revision: &str, pods: &'a [Pod]) -> Plan<'a> {
    let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or_default();
    let wanted = start..start.saturating_add(spec.replicas.unwrap_or(1));
    let is_patient = spec.pod_management_policy.as_deref() != Some("Parallel");
    let find = |ordinal: i32| pods.iter().find(|pod| ordinal_of(pod, name) == Some(ordinal));
    let first_bad = wanted.clone().find(|ordinal| !find(*ordinal).is_some_and(serves));
    let missing: Vec<i32> = match first_bad {
        Some(ordinal) if is_patient => vec![ordinal].into_iter().filter(|ordinal| find(*ordinal).is_none()).collect(),
        _ => wanted.clone().filter(|ordinal| find(*ordinal).is_none()).collect(),
    };
    if !missing.is_empty() {
        return Plan::Create(missing);
    }
    if is_patient && (first_bad.is_some() || pods.iter().any(is_ending)) {
        return Plan::Rest;
    }
    let mut surplus: Vec<&Pod> = pods
        .iter()
        .filter(|pod| !is_ending(pod) && !ordinal_of(pod, name).is_some_and(|ordinal| wanted.contains(&ordinal)))
        .collect();
    surplus.sort_by_key(|pod| std::cmp::Reverse(ordinal_of(pod, name)));
    if is_patient {
        surplus.truncate(1);
    }
    let is_old = |pod: &&Pod| label(pod.metadata.labels.as_ref(), REVISION) != Some(revision);
    let rolls = spec.update_strategy.as_ref().and_then(|strategy| strategy.type_.as_deref()) != Some("OnDelete");
    if surplus.is_empty() && rolls && first_bad.is_none() {
        surplus.extend(wanted.rev().filter_map(find).find(is_old));
    }
    if surplus.is_empty() { Plan::Rest } else { Plan::Delete(surplus) }
}

fn serves(pod: &Pod) -> bool {
    is_active(pod) && is_ready(pod)
}

fn ordinal_of(pod: &Pod, set: &str) -> Option<i32> {
    pod.metadata.name.as_deref()?.strip_prefix(set)?.strip_prefix('-')?.parse().ok()
}

async fn create(
    client: &ControllerClient,
    set: &StatefulSet,
    spec: &StatefulSetSpec,
    revision: &str,
    ordinals: Vec<i32>,
) -> Result<(), ApiError> {
    let at = ObjectKey::from_meta(&set.metadata);
    for ordinal in ordinals {
        let name = format!("{}-{ordinal}", at.name);
        let template = template_of(spec, &name, ordinal, revision);
        let pod = build(&template, &at.namespace, name, owned_by("apps/v1", "StatefulSet", &set.metadata));
        client.create(&PODS, &at.namespace, &pod).await?;
    }
    Ok(())
}

async fn delete(client: &ControllerClient, pods: &[&Pod]) -> Result<(), ApiError> {
    for pod in pods {
        client.delete(&PODS, &key(pod), Grace::Own).await?;
    }
    Ok(())
}

/// The template with what tells this pod from the others.
fn template_of(spec: &StatefulSetSpec, name: &str, ordinal: i32, revision: &str) -> PodTemplateSpec {
    let mut template = spec.template.clone();
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.insert(REVISION.to_owned(), revision.to_owned());
    labels.insert("statefulset.kubernetes.io/pod-name".to_owned(), name.to_owned());
    labels.insert("apps.kubernetes.io/pod-index".to_owned(), ordinal.to_string());
    let pod = template.spec.get_or_insert_default();
    pod.hostname = Some(name.to_owned());
    pod.subdomain = spec.service_name.clone().filter(|service| !service.is_empty());
    template
}

fn stateful_set_status(set: &StatefulSet, spec: &StatefulSetSpec, revision: &str, pods: &[Pod]) -> StatefulSetStatus {
    let old = set.status.clone().unwrap_or_default();
    let is_of = |pod: &Pod, revision: &str| label(pod.metadata.labels.as_ref(), REVISION) == Some(revision);
    let ready = count(pods, serves);
    let updated = count(pods, |pod| is_active(pod) && is_of(pod, revision));
    let all = count(pods, |_| true).unwrap_or_default();
    let wanted = spec.replicas.unwrap_or(1);
    let [is_ready, is_updated] = [ready, updated].map(|number| number.unwrap_or_default() == wanted);
    let is_complete = is_ready && is_updated && all == wanted;
    let current = old.current_revision.filter(|_| !is_complete).unwrap_or_else(|| revision.to_owned());
    StatefulSetStatus {
        available_replicas: Some(ready.unwrap_or_default()),
        collision_count: Some(old.collision_count.unwrap_or_default()),
        conditions: old.conditions,
        current_replicas: count(pods, |pod| is_active(pod) && is_of(pod, &current)),
        current_revision: Some(current),
        observed_generation: set.metadata.generation,
        ready_replicas: ready,
        replicas: all,
        update_revision: Some(revision.to_owned()),
        updated_replicas: updated,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(ordinal: i32, ready: &str, revision: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": format!("db-{ordinal}"), "labels": { REVISION: revision } },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": ready }] },
        }))
        .unwrap()
    }

    #[test]
    fn ordinals_come_from_below_and_go_from_above() {
        let up = |ordinal| pod(ordinal, "True", "new");
        let rows = [
            // name, policy, replicas, pods, created, deleted
            ("the first comes alone", "OrderedReady", 3, vec![], vec![0], vec![]),
            ("the next waits for it", "OrderedReady", 3, vec![pod(0, "False", "new")], vec![], vec![]),
            ("and comes when it is ready", "OrderedReady", 3, vec![up(0)], vec![1], vec![]),
            ("all at once if Parallel", "Parallel", 3, vec![up(1)], vec![0, 2], vec![]),
            ("the highest goes first", "OrderedReady", 1, vec![up(0), up(1), up(2)], vec![], vec!["db-2"]),
            ("all of them if Parallel", "Parallel", 1, vec![up(0), up(1), up(2)], vec![], vec!["db-2", "db-1"]),
            (
                "an old template goes from above",
                "OrderedReady",
                2,
                vec![pod(0, "True", "old"), pod(1, "True", "old")],
                vec![],
                vec!["db-1"],
            ),
            ("everything is as it should be", "OrderedReady", 2, vec![up(0), up(1)], vec![], vec![]),
        ];
        for (name, policy, replicas, pods, created, deleted) in rows {
            let spec = StatefulSetSpec {
                replicas: Some(replicas),
                pod_management_policy: Some(policy.to_owned()),
                ..StatefulSetSpec::default()
            };
            let seen = match plan(&spec, "db", "new", &pods) {
                Plan::Rest => (vec![], vec![]),
                Plan::Create(ordinals) => (ordinals, vec![]),
                Plan::Delete(pods) => (vec![], pods.iter().map(|pod| pod.metadata.name.as_deref().unwrap()).collect()),
            };
            assert_eq!(seen, (created, deleted), "{name}");
        }
    }
}
