//! Fields that admission plugins set in new pods and jobs.

use serde_json::{Value, json};

use crate::api::meta;

/// What plugins write into every pod. (Tokens of service accounts are not mounted.)
pub(crate) fn pod(object: &mut Value) {
    let spec = &mut object["spec"];
    let account = spec["serviceAccountName"].as_str().filter(|name| !name.is_empty()).unwrap_or("default").to_owned();
    spec["serviceAccountName"] = json!(account);
    spec["serviceAccount"] = json!(account);
    if spec["priorityClassName"].is_null() {
        spec["priority"] = json!(0);
        spec["preemptionPolicy"] = json!("PreemptLowerPriority");
    }
    let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let bears = |one: &Value| {
            (one["key"] == key || one["key"].is_null()) && (one["effect"] == "NoExecute" || one["effect"].is_null())
        };
        if !tolerations.iter().any(bears) {
            let toleration =
                json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
            tolerations.push(toleration);
        }
    }
    spec["tolerations"] = json!(tolerations);
}

/// A job finds its pods by its uid, unless it says how.
pub(crate) fn job(object: &mut Value) {
    if object["spec"]["manualSelector"] == true {
        return;
    }
    let (uid, name) = (meta::uid(object).to_owned(), meta::name(object).to_owned());
    let labels = [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ];
    object["spec"]["selector"] = json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": uid } });
    for (label, value) in labels {
        object["spec"]["template"]["metadata"]["labels"][label] = json!(value);
        object["metadata"]["labels"][label] = json!(value);
    }
}
