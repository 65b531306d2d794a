//! The laws of scaling, held against every version of every object: what we write to a target is always allowed by the
//! ScaledObject as it stood then.

use std::collections::BTreeMap;

use kedge_tests::history::Version;
use serde_json::Value;

use super::steps::ORIGINAL;

/// Others who write replicas: whoever is not one of them is the operator.
const OTHERS: [&str; 2] = ["kubectl", "kube-controller-manager"];

/// Fails at the first step of ours that was not allowed; answers how many there were.
pub(super) fn check(versions: &[Version]) -> usize {
    let mut objects: BTreeMap<&str, &Version> = BTreeMap::new();
    let mut replicas: BTreeMap<&str, i64> = BTreeMap::new();
    let mut ours = 0;
    for version in versions {
        let name = version.name.as_str();
        if version.kind == "ScaledObject" {
            objects.insert(name, version);
            continue;
        }
        let now = version.object["spec"]["replicas"].as_i64().expect("a Deployment has replicas");
        let before = replicas.insert(name, now);
        let Some(before) = before.filter(|before| *before != now) else { continue };
        if OTHERS.contains(&writer(&version.object).as_str()) {
            continue;
        }
        ours += 1;
        let object = objects.get(name).unwrap_or_else(|| panic!("{name} was scaled to {now} for nobody"));
        if let Err(law) = judge(object, before, now) {
            panic!("{name} was scaled from {before} to {now}, but {law}: {}", object.object);
        }
    }
    ours
}

/// Who wrote the replicas last.
fn writer(deployment: &Value) -> String {
    let fields = deployment["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let of = fields.iter().filter(|entry| entry["fieldsV1"]["f:spec"].get("f:replicas").is_some());
    of.max_by_key(|entry| entry["time"].to_string())
        .map_or(String::new(), |entry| entry["manager"].as_str().unwrap_or_default().to_owned())
}

/// Whether a step is allowed; else the law against it.
fn judge(object: &Version, before: i64, now: i64) -> Result<(), String> {
    let annotation =
        |name: &str| object.object["metadata"]["annotations"][format!("autoscaling.keda.sh/{name}")].as_str();
    let spec = &object.object["spec"];
    if object.is_deleted {
        return Err("its object was gone".to_owned());
    }
    if object.object["metadata"].get("deletionTimestamp").is_some() {
        let restores = spec["advanced"]["restoreToOriginalReplicaCount"] == true && now == ORIGINAL;
        return if restores { Ok(()) } else { Err("its object was going".to_owned()) };
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
