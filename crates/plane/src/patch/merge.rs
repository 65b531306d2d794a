//! JSON merge patches (RFC 7386). The API server's library goes further than the RFC in one thing: in a list that is
//! taken over, the nulls of the objects within are dropped too.

use serde_json::Value;

use super::{Object, bad_request, not_an_object};
use crate::api::error::ApiError;

pub(super) fn apply(current: &Value, patch: &Value) -> Result<Value, ApiError> {
    match (current, patch) {
        (_, Value::Null) => Err(bad_request("Invalid JSON Patch")),
        (Value::Object(current), Value::Object(patch)) => Ok(Value::Object(merged(current.clone(), patch))),
        (_, Value::Object(_)) => Ok(without_nulls(patch)),
        (_, other) => Err(bad_request(format!("error decoding patch: {}", not_an_object(other)))),
    }
}

fn merged(mut current: Object, patch: &Object) -> Object {
    for (key, value) in patch {
        let value = match (current.remove(key), value) {
            (_, Value::Null) => continue,
            (Some(Value::Object(current)), Value::Object(patch)) => Value::Object(merged(current, patch)),
            // The library forgets to look for nulls where an object gives way to something else.
            (Some(Value::Object(_)), other) => other.clone(),
            (_, other) => without_nulls(other),
        };
        current.insert(key.clone(), value);
    }
    current
}

/// Without the null fields of objects; nulls in lists stay.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}
