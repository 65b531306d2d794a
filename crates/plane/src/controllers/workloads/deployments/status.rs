//! The status of a Deployment, from its ReplicaSets.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentSpec, DeploymentStatus, ReplicaSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::replicas;

const AVAILABLE: &str = "Available";
const PROGRESSING: &str = "Progressing";
const ROLLED_OUT: &str = "NewReplicaSetAvailable";

/// The status at this time. `new` is the ReplicaSet of the present template, where there is one.
pub(super) fn deployment_status(
    deployment: &Deployment,
    spec: &DeploymentSpec,
    sets: &[ReplicaSet],
    new: Option<&ReplicaSet>,
    now: Time,
) -> DeploymentStatus {
    let old = deployment.status.clone().unwrap_or_default();
    let mut status = count(deployment, sets, new);
    status.conditions = old.conditions.clone();
    let wanted = spec.replicas.unwrap_or(1);
    let mut conditions = Conditions { list: status.conditions.take().unwrap_or_default(), now };
    if status.available_replicas.unwrap_or_default() >= wanted - unavailable_max(spec, wanted) {
        conditions.set(
            AVAILABLE,
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.".to_owned(),
        );
    } else {
        let message = "Deployment does not have minimum availability.".to_owned();
        conditions.set(AVAILABLE, "False", "MinimumReplicasUnavailable", message);
    }
    match (spec.progress_deadline_seconds, new) {
        (None | Some(i32::MAX), _) => conditions.list.retain(|condition| condition.type_ != PROGRESSING),
        (Some(_), Some(new)) => tell_progress(&mut conditions, new, &old, &status, wanted),
        (Some(_), None) => {}
    }
    DeploymentStatus { conditions: Some(conditions.list), ..status }
}

/// The numbers; zeros are left out.
fn count(deployment: &Deployment, sets: &[ReplicaSet], new: Option<&ReplicaSet>) -> DeploymentStatus {
    let statuses = || sets.iter().filter_map(|set| set.status.as_ref());
    let some = |number: i32| Some(number).filter(|number| *number != 0);
    let available: i32 = statuses().filter_map(|status| status.available_replicas).sum();
    let unavailable = sets.iter().map(replicas).sum::<i32>() - available;
    DeploymentStatus {
        available_replicas: some(available),
        collision_count: deployment.status.as_ref().and_then(|status| status.collision_count),
        conditions: None,
        observed_generation: deployment.metadata.generation,
        ready_replicas: some(statuses().filter_map(|status| status.ready_replicas).sum()),
        replicas: some(statuses().map(|status| status.replicas).sum()),
        terminating_replicas: Some(statuses().filter_map(|status| status.terminating_replicas).sum()),
        unavailable_replicas: some(unavailable.max(0)),
        updated_replicas: some(new.and_then(|new| new.status.as_ref()).map_or(0, |status| status.replicas)),
    }
}

/// The condition of the rollout. Once it is complete, scaling does not change it.
fn tell_progress(
    conditions: &mut Conditions,
    new: &ReplicaSet,
    old: &DeploymentStatus,
    status: &DeploymentStatus,
    wanted: i32,
) {
    let name = new.metadata.name.as_deref().unwrap_or_default();
    let reason = conditions.reason(PROGRESSING);
    if new.metadata.uid.is_none() || reason.is_none() {
        conditions.set(PROGRESSING, "True", "NewReplicaSetCreated", format!("Created new replica set {name:?}"));
    } else if reason == Some(ROLLED_OUT) && status.replicas == status.updated_replicas {
        // It was complete already.
    } else if [status.updated_replicas, status.replicas, status.available_replicas]
        .iter()
        .all(|number| number.unwrap_or_default() == wanted)
    {
        conditions.set(PROGRESSING, "True", ROLLED_OUT, format!("ReplicaSet {name:?} has successfully progressed."));
    } else if has_progressed(old, status) {
        conditions.renew(PROGRESSING, "True", "ReplicaSetUpdated", format!("ReplicaSet {name:?} is progressing."));
    }
}

fn has_progressed(old: &DeploymentStatus, new: &DeploymentStatus) -> bool {
    let number = |number: Option<i32>| number.unwrap_or_default();
    let outdated = |status: &DeploymentStatus| number(status.replicas) - number(status.updated_replicas);
    number(new.updated_replicas) > number(old.updated_replicas)
        || outdated(new) < outdated(old)
        || number(new.ready_replicas) > number(old.ready_replicas)
        || number(new.available_replicas) > number(old.available_replicas)
}

/// How many replicas may be missing while the Deployment counts as available.
fn unavailable_max(spec: &DeploymentSpec, wanted: i32) -> i32 {
    let strategy = spec.strategy.as_ref();
    if wanted == 0 || strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate") {
        return 0;
    }
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    let quarter = IntOrString::String("25%".to_owned());
    let surge = part_of(rolling.and_then(|rolling| rolling.max_surge.as_ref()).unwrap_or(&quarter), wanted, f64::ceil);
    let missing = rolling.and_then(|rolling| rolling.max_unavailable.as_ref()).unwrap_or(&quarter);
    match part_of(missing, wanted, f64::floor) {
        0 if surge == 0 => 1,
        missing => missing.min(wanted),
    }
}

fn part_of(part: &IntOrString, whole: i32, round: fn(f64) -> f64) -> i32 {
    match part {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent: f64 = text.trim_end_matches('%').parse().unwrap_or_default();
            round(f64::from(whole) * percent / 100.0) as i32
        }
    }
}

struct Conditions {
    list: Vec<DeploymentCondition>,
    now: Time,
}

impl Conditions {
    fn find(&self, type_: &str) -> Option<&DeploymentCondition> {
        self.list.iter().find(|condition| condition.type_ == type_)
    }

    fn reason(&self, type_: &str) -> Option<&str> {
        self.find(type_).and_then(|condition| condition.reason.as_deref())
    }

    /// Says it unless it was said already.
    fn set(&mut self, type_: &str, status: &str, reason: &str, message: String) {
        let is_said = |known: &DeploymentCondition| known.status == status && known.reason.as_deref() == Some(reason);
        if !self.find(type_).is_some_and(is_said) {
            self.renew(type_, status, reason, message);
        }
    }

    /// Says it again.
    fn renew(&mut self, type_: &str, status: &str, reason: &str, message: String) {
        let since = self.find(type_).filter(|known| known.status == status);
        let since = since.and_then(|known| known.last_transition_time.clone()).unwrap_or_else(|| self.now.clone());
        self.list.retain(|condition| condition.type_ != type_);
        self.list.push(DeploymentCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_update_time: Some(self.now.clone()),
            last_transition_time: Some(since),
        });
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;

    fn status_after(wanted: i32, old: Value, set: Value) -> DeploymentStatus {
        let deployment: Deployment = serde_json::from_value(json!({
            "metadata": { "name": "web", "generation": 3 },
            "spec": { "replicas": wanted, "progressDeadlineSeconds": 600, "selector": {}, "template": {} },
            "status": old,
        }))
        .unwrap();
        let set: ReplicaSet = serde_json::from_value(json!({
            "metadata": { "name": "web-x", "uid": "1" }, "spec": { "replicas": wanted, "selector": {} }, "status": set,
        }))
        .unwrap();
        let sets = [set];
        deployment_status(
            &deployment,
            deployment.spec.as_ref().unwrap(),
            &sets,
            sets.first(),
            Time(Timestamp::UNIX_EPOCH),
        )
    }

    fn reasons(status: &DeploymentStatus) -> Vec<String> {
        let condition = |condition: &DeploymentCondition| {
            format!("{} {} {}", condition.type_, condition.status, condition.reason.clone().unwrap_or_default())
        };
        status.conditions.iter().flatten().map(condition).collect()
    }

    #[test]
    fn conditions_follow_the_rollout() {
        let created =
            json!({ "conditions": [{ "type": "Progressing", "status": "True", "reason": "NewReplicaSetCreated" }] });
        let complete = json!({ "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "conditions": [
            { "type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable" },
        ] });
        let (available, unavailable) =
            ("Available True MinimumReplicasAvailable", "Available False MinimumReplicasUnavailable");
        let rows = [
            // name, wanted, old status, status of the ReplicaSet, conditions
            (
                "the first look",
                4,
                json!({}),
                json!({ "replicas": 0 }),
                [unavailable, "Progressing True NewReplicaSetCreated"],
            ),
            (
                "pods come",
                4,
                created.clone(),
                json!({ "replicas": 4 }),
                [unavailable, "Progressing True ReplicaSetUpdated"],
            ),
            (
                "enough of them are ready",
                4,
                created.clone(),
                json!({ "replicas": 4, "readyReplicas": 3, "availableReplicas": 3 }),
                [available, "Progressing True ReplicaSetUpdated"],
            ),
            (
                "all of them are",
                4,
                created,
                json!({ "replicas": 4, "readyReplicas": 4, "availableReplicas": 4 }),
                [available, "Progressing True NewReplicaSetAvailable"],
            ),
            (
                "scaling a complete one is no rollout",
                9,
                complete,
                json!({ "replicas": 9, "readyReplicas": 1, "availableReplicas": 1 }),
                ["Progressing True NewReplicaSetAvailable", unavailable],
            ),
        ];
        for (name, wanted, old, set, expected) in rows {
            let mut seen = reasons(&status_after(wanted, old, set));
            let mut expected = expected.map(str::to_owned);
            seen.sort();
            expected.sort();
            assert_eq!(seen, expected, "{name}");
        }
    }

    #[test]
    fn numbers_add_up_and_zeros_are_left_out() {
        let status = status_after(4, json!({}), json!({ "replicas": 3, "readyReplicas": 2, "availableReplicas": 2 }));
        assert_eq!((status.replicas, status.updated_replicas, status.ready_replicas), (Some(3), Some(3), Some(2)));
        assert_eq!((status.available_replicas, status.unavailable_replicas), (Some(2), Some(2)));
        assert_eq!(status.observed_generation, Some(3));
        let empty = status_after(0, json!({}), json!({ "replicas": 0 }));
        assert_eq!((empty.replicas, empty.unavailable_replicas, empty.available_replicas), (None, None, None));
    }
}
