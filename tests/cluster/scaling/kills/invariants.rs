//! The invariants of scaling, checked for every version of every object: each step of a target, by the operator or its HPA, is allowed
//! by the ScaledObject as it was then.

use std::collections::BTreeMap;

use kedge_tests::history::Version;
use serde_json::Value;

use super::steps::ORIGINAL;

/// Fails at the first step that was not allowed. Returns the number of steps.
pub(super) fn check(versions: &[Version]) -> usize {
    let mut objects: BTreeMap<&str, &Version> = BTreeMap::new();
    let mut replicas: BTreeMap<&str, i64> = BTreeMap::new();
    let mut steps = 0;
    for version in versions {
        let name = version.name.as_str();
        if version.kind == "ScaledObject" {
            objects.insert(name, version);
            continue;
        }
        let now = version.object["spec"]["replicas"].as_i64().expect("a Deployment has replicas");
        let before = replicas.insert(name, now);
        let Some(before) = before.filter(|before| *before != now) else { continue };
        if before == 0 && is_of_hpa_controller(&version.object) {
            continue;
        }
        steps += 1;
        let object = objects.get(name).unwrap_or_else(|| panic!("{name} was scaled to {now} without a ScaledObject"));
        if let Err(reason) = check_step(object, before, now) {
            panic!("{name} was scaled from {before} to {now}, but {reason}: {}", object.object);
        }
    }
    steps
}

/// Whether the HPA controller wrote the replicas. It scales no target from zero, but when another client's write comes first, it repeats its own
/// with the newest version, whatever was written: it may write over a zero. The operator then scales to zero again.
fn is_of_hpa_controller(deployment: &Value) -> bool {
    let managers = deployment["metadata"]["managedFields"].as_array().expect("a Deployment has managers");
    let is_its_write = |one: &&Value| one["manager"] == "kube-controller-manager" && one["subresource"] == "scale";
    managers.iter().find(is_its_write).is_some_and(|one| one["fieldsV1"]["f:spec"].get("f:replicas").is_some())
}

/// Whether a step is allowed; else the invariant that it violates.
fn check_step(object: &Version, before: i64, now: i64) -> Result<(), String> {
    let annotation =
        |name: &str| object.object["metadata"]["annotations"][format!("autoscaling.keda.sh/{name}")].as_str();
    let spec = &object.object["spec"];
    if object.is_deleted {
        return Err("its object was deleted".to_owned());
    }
    if object.object["metadata"].get("deletionTimestamp").is_some() {
        let restores = spec["advanced"]["restoreToOriginalReplicaCount"] == true && now == ORIGINAL;
        return if restores { Ok(()) } else { Err("its object was being deleted".to_owned()) };
    }
    if let Some(count) = annotation("paused-replicas") {
        return if count == now.to_string() { Ok(()) } else { Err(format!("it is paused at {count}")) };
    }
    if annotation("paused") == Some("true") {
        return Err("it is paused".to_owned());
    }
    if annotation("paused-scale-in") == Some("true") && now < before {
        return Err("scaling in is paused".to_owned());
    }
    if annotation("paused-scale-out") == Some("true") && now > before {
        return Err("scaling out is paused".to_owned());
    }
    let number = |field: &str| spec[field].as_i64();
    let least = number("idleReplicaCount").or(number("minReplicaCount")).unwrap_or(0);
    let most = number("maxReplicaCount").unwrap_or(100);
    if (least..=most).contains(&now) { Ok(()) } else { Err(format!("its bounds are {least} and {most}")) }
}
