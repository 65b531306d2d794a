//! What the schema of `batch/v1` JobSpec lacks when it is generated from `k8s-openapi`: list keys, map types, defaults and
//! patterns. The tables below state Kubernetes' own rules for these fields, by field name.

use serde_json::{Value, json};

use super::{QUANTITY_PATTERN, structural};

/// Lists whose items have keys; a second item with the same key is rejected.
const KEYED_LISTS: [(&str, &[&str]); 14] = [
    ("claims", &["name"]),
    ("containers", &["name"]),
    ("env", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("hostAliases", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["name"]),
    ("ports", &["containerPort", "protocol"]),
    ("resourceClaims", &["name"]),
    ("schedulingGates", &["name"]),
    ("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    ("volumeDevices", &["devicePath"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
];

/// Objects and maps that are atomic, by the field that holds them.
const ATOMIC_OBJECTS: [&str; 9] = [
    "dataSource",
    "fieldRef",
    "fileKeyRef",
    "labelSelector",
    "namespaceSelector",
    "nodeSelector",
    "preference",
    "resourceFieldRef",
    "selector",
];

/// References to another object by its name: atomic, and an absent name is the empty one.
const NAME_REFERENCES: [&str; 7] = [
    "configMap",
    "configMapKeyRef",
    "configMapRef",
    "imagePullSecrets",
    "nodePublishSecretRef",
    "secretKeyRef",
    "secretRef",
];

/// Fields, or values of maps, that hold a quantity.
const QUANTITIES: [&str; 5] = ["divisor", "limits", "overhead", "requests", "sizeLimit"];

/// Fields with a default: the object that holds them, the field, the default.
const DEFAULTS: [(&str, &str, Default); 11] = [
    ("azureDisk", "fsType", Default::Text("ext4")),
    ("azureDisk", "readOnly", Default::False),
    ("fileKeyRef", "optional", Default::False),
    ("grpc", "service", Default::Text("")),
    ("iscsi", "iscsiInterface", Default::Text("default")),
    ("ports", "protocol", Default::Text("TCP")),
    ("rbd", "keyring", Default::Text("/etc/ceph/keyring")),
    ("rbd", "pool", Default::Text("rbd")),
    ("rbd", "user", Default::Text("admin")),
    ("scaleIO", "fsType", Default::Text("xfs")),
    ("scaleIO", "storageMode", Default::Text("ThinProvisioned")),
];

#[derive(Clone, Copy)]
enum Default {
    Text(&'static str),
    False,
}

impl From<Default> for Value {
    fn from(default: Default) -> Value {
        match default {
            Default::Text(text) => json!(text),
            Default::False => json!(false),
        }
    }
}

/// The part of a pod's metadata that a template may carry.
const TEMPLATE_METADATA: [&str; 5] = ["annotations", "finalizers", "labels", "name", "namespace"];

/// Completes the schema of `jobTargetRef`, and leaves out the texts below it: with them the CRD would be too large for
/// client-side `kubectl apply`.
pub(super) fn normalise(job: &mut Value) {
    let description = job["description"].take();
    structural::each_schema(job, &mut |schema| structural::remove(schema, "description"));
    job["description"] = description;
    complete_below(job, "jobTargetRef");

    let metadata = &mut job["properties"]["template"]["properties"]["metadata"];
    // KEDA: whatever else is written there is kept.
    metadata["x-kubernetes-preserve-unknown-fields"] = json!(true);
}

/// Corrects the schema held by the field `name` and all below it. An item, or a map's value, has the name of its list or map.
fn complete_below(schema: &mut Value, name: &str) {
    match schema["type"].as_str() {
        Some("array") => complete_list(schema, name),
        Some("object") => complete_object(schema, name),
        _ => {}
    }
    if QUANTITIES.contains(&name) && schema.get("x-kubernetes-int-or-string").is_some() {
        schema["pattern"] = json!(QUANTITY_PATTERN);
    }
    for (name, property) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        complete_below(property, name);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(inner) {
            complete_below(inner, name);
        }
    }
}

fn complete_list(list: &mut Value, name: &str) {
    if let Some((_, keys)) = KEYED_LISTS.iter().find(|(keyed, _)| *keyed == name) {
        list["x-kubernetes-list-type"] = json!("map");
        list["x-kubernetes-list-map-keys"] = json!(keys);
    } else if name == "values" && list["items"]["type"] == "integer" {
        list["x-kubernetes-list-type"] = json!("set");
    } else if name != "finalizers" {
        list["x-kubernetes-list-type"] = json!("atomic");
    }
}

fn complete_object(object: &mut Value, name: &str) {
    let has = |property: &str| object["properties"].get(property).is_some();
    let selects_nodes = has("nodeSelectorTerms") || has("matchFields");
    // Of the two kinds of secret volumes, the projected one is a reference by name.
    let names_only = NAME_REFERENCES.contains(&name) || name == "secret" && has("name");
    if ATOMIC_OBJECTS.contains(&name) || selects_nodes || names_only {
        object["x-kubernetes-map-type"] = json!("atomic");
    }
    if names_only {
        set_default(object, "name", json!(""));
    }
    for (_, field, default) in DEFAULTS.iter().filter(|(holder, ..)| *holder == name) {
        set_default(object, field, (*default).into());
    }
    if name == "metadata" {
        let properties = object["properties"].as_object_mut().expect("metadata has fields");
        properties.retain(|field, _| TEMPLATE_METADATA.contains(&field.as_str()));
    }
    if name == "ports" {
        // KEDA: the key of the list is required, though it has a default.
        object["required"] = json!(["containerPort", "protocol"]);
    }
}

/// Gives a field a default; it is then not required.
fn set_default(object: &mut Value, field: &str, default: Value) {
    object["properties"][field]["default"] = default;
    let Some(required) = object["required"].as_array_mut() else { return };
    required.retain(|name| name != field);
    if required.is_empty() {
        structural::remove(object, "required");
    }
}
