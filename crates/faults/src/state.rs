//! The state in which a run ends, without what differs from run to run.

use std::collections::BTreeMap;

use kedge_plane::Plane;
use serde_json::{Value, json};

use crate::scenario::NAMESPACE;
use crate::user::resource;

/// Every object that matters, by kind and name.
#[derive(Clone, Debug, PartialEq)]
pub struct State(BTreeMap<String, Value>);

impl State {
    pub fn of(plane: &Plane) -> Self {
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
        Self(all)
    }

    /// What differs, in lines; none where nothing does.
    pub fn difference(&self, wanted: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        let keys: std::collections::BTreeSet<&String> = self.0.keys().chain(wanted.0.keys()).collect();
        for key in keys {
            compare(
                key,
                self.0.get(key).unwrap_or(&Value::Null),
                wanted.0.get(key).unwrap_or(&Value::Null),
                &mut lines,
            );
        }
        lines
    }
}

fn compare(path: &str, is: &Value, wanted: &Value, lines: &mut Vec<String>) {
    match (is, wanted) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                compare(&format!("{path}.{key}"), &of(a), &of(b), lines);
            }
        }
        _ if is == wanted => {}
        _ => lines.push(format!("{path} is {is}, and {wanted} without the faults")),
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
        // What the target had when the object was first seen depends on who was first; that it is given back does not.
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
    // A pause that was over before anybody saw it leaves no trace.
    if let Some(paused) = conditions.get_mut("Paused").filter(|paused| paused[0] == "False") {
        *paused = json!(["False"]);
    }
    status["conditions"] = json!(conditions);
    json!({
        "spec": object["spec"], "labels": meta["labels"], "annotations": meta["annotations"],
        "finalizers": meta["finalizers"], "isEnding": meta["deletionTimestamp"].is_string(), "status": status,
    })
}
