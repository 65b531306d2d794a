//! The invariants of scaling, checked for every version of every object: each step of a target, by the operator or its HPA, is allowed
//! by the ScaledObject as it was then.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kedge_tests::history::Version;

use super::steps::ORIGINAL;

/// How soon the HPA controller repeats a write that met a conflict, on a busy machine.
const REPEATED_WITHIN: Duration = Duration::from_secs(2);

/// A change of a target's replicas.
#[derive(Clone, Copy)]
struct Step {
    before: i64,
    now: i64,
    at: Instant,
}

/// Fails at the first step that was not allowed. Returns the number of steps.
pub(super) fn check(versions: &[Version]) -> usize {
    let mut objects: BTreeMap<&str, &Version> = BTreeMap::new();
    let mut replicas: BTreeMap<&str, i64> = BTreeMap::new();
    let mut last_steps: BTreeMap<&str, Step> = BTreeMap::new();
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
        let step = Step { before, now, at: version.received };
        let last = last_steps.insert(name, step);
        if last.is_some_and(|last| is_repeated_by_hpa(last, step)) {
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

/// Whether the HPA controller wrote over the operator's zero. It scales no target from zero, but when another client's write comes first, it
/// repeats its own with the newest version, whatever was written. The operator then scales to zero again.
fn is_repeated_by_hpa(last: Step, step: Step) -> bool {
    last.now == 0 && (1..=last.before).contains(&step.now) && step.at.duration_since(last.at) < REPEATED_WITHIN
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
