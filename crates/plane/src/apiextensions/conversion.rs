//! Conversion between the stored version of an object and the served one. Where nothing differs, nothing is
//! copied.

use std::sync::Arc;

use kedge_schema::Schema;
use serde_json::{Value, json};

use crate::api::resource::{Origin, Resource};
use crate::builtin::event_versions;

/// A stored object, in the version that is served.
pub(crate) fn to_served(resource: &Resource, stored: &Arc<Value>) -> Arc<Value> {
    if let Origin::Custom { schema, stored: Some(by_stored) } = &resource.origin {
        return Arc::new(read_by(resource, schema, by_stored, Value::clone(stored)));
    }
    match is_stored_as_served(resource, stored) {
        true => stored.clone(),
        false => Arc::new(converted(resource, Value::clone(stored))),
    }
}

/// A stored object may have been written in any version: it is pruned by the schema of the stored version, and by that of
/// the requested one.
fn read_by(resource: &Resource, schema: &Schema, by_stored: &Schema, mut object: Value) -> Value {
    aside(&mut object, |content| by_stored.prune(content));
    by_stored.default(&mut object);
    if resource.stored != resource.gvr {
        aside(&mut object, |content| schema.prune(content));
    }
    converted(resource, object)
}

fn is_stored_as_served(resource: &Resource, stored: &Value) -> bool {
    let named = stored["apiVersion"].as_str().unwrap_or("");
    match resource.gvr.group.as_str() {
        "" => named == resource.gvr.version,
        group => named.strip_prefix(group).and_then(|rest| rest.strip_prefix('/')) == Some(&resource.gvr.version),
    }
}

fn converted(resource: &Resource, mut object: Value) -> Value {
    if resource.stored.group != resource.gvr.group {
        event_versions::to_new(&mut object);
    }
    object["apiVersion"] = json!(resource.gvr.api_version());
    object
}

/// A served object, in the version it is stored in.
pub(crate) fn to_stored(resource: &Resource, mut object: Value) -> Value {
    if resource.stored == resource.gvr {
        return object;
    }
    if resource.stored.group != resource.gvr.group {
        event_versions::to_old(&mut object);
    }
    object["apiVersion"] = json!(resource.stored.api_version());
    object
}

/// Prunes an object except for `apiVersion`, `kind` and `metadata`.
pub(crate) fn aside(object: &mut Value, prune: impl FnOnce(&mut Value)) {
    let Some(map) = object.as_object_mut() else { return };
    let kept = ["apiVersion", "kind", "metadata"].map(|field| (field, map.remove(field)));
    prune(object);
    for (field, value) in kept {
        if let Some(value) = value {
            object[field] = value;
        }
    }
}
