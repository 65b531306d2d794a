//! The state at the end of a run, without the fields that differ from run to run.

use std::collections::BTreeMap;

use kedge_plane::Plane;
use serde_json::{Value, json};

use crate::driver::resource;
use crate::job_workers::is_finished;
use crate::scenario::NAMESPACE;

/// Every object that matters, by kind and name.
#[derive(Clone, Debug, PartialEq)]
pub struct State(BTreeMap<String, Value>);

impl State {
    pub fn capture(plane: &Plane) -> Self {
        let mut all = BTreeMap::new();
        for kind in ["Deployment", "HorizontalPodAutoscaler", "ScaledObject", "TriggerAuthentication"] {
            let cut = match kind {
                "Deployment" => deployment,
                "HorizontalPodAutoscaler" => hpa,
                _ => scaled_object,
            };
            for object in plane.objects(&resource(kind), Some(NAMESPACE)) {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                all.insert(format!("{kind} {name}"), cut(&object));
            }
        }
        if let Some(object) = plane.objects(&resource("ScaledJob"), Some(NAMESPACE)).first() {
            all.insert("ScaledJob".to_owned(), scaled_object(object));
            let jobs = plane.objects(&resource("Job"), Some(NAMESPACE));
            let finished = jobs.iter().filter(|job| is_finished(job)).count();
            all.insert("Jobs".to_owned(), json!({ "all": jobs.len(), "finished": finished }));
        }
        Self(all)
    }

    /// The differences, one per line.
    pub fn difference(&self, expected: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        let keys: std::collections::BTreeSet<&String> = self.0.keys().chain(expected.0.keys()).collect();
        for key in keys {
            compare(
                key,
                self.0.get(key).unwrap_or(&Value::Null),
                expected.0.get(key).unwrap_or(&Value::Null),
                &mut lines,
            );
        }
        lines
    }
}

fn compare(path: &str, is: &Value, expected: &Value, lines: &mut Vec<String>) {
    match (is, expected) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let field = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                compare(&format!("{path}.{key}"), &field(a), &field(b), lines);
            }
        }
        _ if is == expected => {}
        _ => lines.push(format!("{path} is {is}, but {expected} without faults")),
    }
}

fn deployment(object: &Value) -> Value {
    json!({ "replicas": object["spec"]["replicas"] })
}

fn hpa(object: &Value) -> Value {
    let meta = &object["metadata"];
    let owners = meta["ownerReferences"].as_array().into_iter().flatten();
    let owners: Vec<String> = owners.map(|owner| format!("{} {}", owner["kind"], owner["name"])).collect();
    json!({ "spec": object["spec"], "labels": meta["labels"], "annotations": meta["annotations"], "owners": owners })
}

fn scaled_object(object: &Value) -> Value {
    let meta = &object["metadata"];
    let mut status = object["status"].clone();
    if let Some(status) = status.as_object_mut() {
        status.remove("lastActiveTime");
        // The original count depends on the order of the first writes; that it is restored does not.
        status.remove("originalReplicaCount");
    }
    let mut conditions: BTreeMap<String, Value> = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| {
            (one["type"].as_str().unwrap_or_default().to_owned(), json!([one["status"], one["reason"], one["message"]]))
        })
        .collect();
    // The operator may miss a short pause.
    if let Some(paused) = conditions.get_mut("Paused").filter(|paused| paused[0] == "False") {
        *paused = json!(["False"]);
    }
    status["conditions"] = json!(conditions);
    json!({
        "spec": object["spec"], "labels": meta["labels"], "annotations": meta["annotations"],
        "finalizers": meta["finalizers"], "isEnding": meta["deletionTimestamp"].is_string(), "status": status,
    })
}
