//! Objects that several measurements create.

use serde_json::{Value, json};

pub(super) fn deployment(name: &str, replicas: usize) -> Value {
    let labels = json!({ "app": name });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "main", "image": "main" }] } },
        },
    })
}
