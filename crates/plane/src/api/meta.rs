//! Reading and writing the metadata of objects that are plain JSON.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or("")
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "name")
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, "uid")
}

pub(crate) fn namespace(object: &Value) -> Option<&str> {
    object["metadata"]["namespace"].as_str().filter(|namespace| !namespace.is_empty())
}

pub(crate) fn resource_version(object: &Value) -> &str {
    text(object, "resourceVersion")
}

pub(crate) fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or(0)
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// The metadata, created if absent.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["metadata"].as_object_mut().expect("it was just made one")
}

pub(crate) fn set(object: &mut Value, field: &str, value: Value) {
    metadata_mut(object).insert(field.to_owned(), value);
}

pub(crate) fn set_text(object: &mut Value, field: &str, text: &str) {
    set(object, field, Value::from(text));
}

/// Copies a field from another object, or removes it if it is absent there.
pub(crate) fn copy(object: &mut Value, from: &Value, field: &str) {
    match from["metadata"].get(field) {
        Some(value) => set(object, field, value.clone()),
        None => drop(metadata_mut(object).remove(field)),
    }
}

pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    texts(&object["metadata"]["finalizers"])
}

pub(crate) fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    finalizers(object).any(|other| other == finalizer)
}

/// Sets the finalizers; an empty list removes the field.
pub(crate) fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    match finalizers.is_empty() {
        true => drop(metadata_mut(object).remove("finalizers")),
        false => set(object, "finalizers", json!(finalizers)),
    }
}

pub(crate) fn without_finalizer(object: &Value, gone: &str) -> Vec<String> {
    finalizers(object).filter(|other| *other != gone).map(str::to_owned).collect()
}

pub(crate) fn owners(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    owners(object).iter().filter_map(|owner| owner["uid"].as_str())
}

/// The texts of a list.
pub(crate) fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Sets or removes a top-level field, as another object has it.
pub(crate) fn copy_top(object: &mut Value, from: &Value, field: &str) {
    let Some(map) = object.as_object_mut() else { return };
    match from.get(field) {
        Some(value) => drop(map.insert(field.to_owned(), value.clone())),
        None => drop(map.remove(field)),
    }
}

/// A time as objects carry it.
pub(crate) fn stamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}
