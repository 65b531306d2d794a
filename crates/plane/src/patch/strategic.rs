//! Strategic merge patches: merge patches that know which lists are sets, and by which field their items are merged;
//! and that may say by directives what else is meant.
//!
//! | directive | in | meaning |
//! |---|---|---|
//! | `$patch: replace` | an object, or an item of a list | the patch is the new value |
//! | `$patch: delete` | an object, or an item with its key | empties the object, removes the item |
//! | `$retainKeys` | an object | all other keys go |
//! | `$deleteFromPrimitiveList/f` | beside a list of values `f` | these go |
//! | `$setElementOrder/f` | beside a list `f` | the order of the outcome |

mod list;

use serde_json::Value;

use super::{Object, bad_request, not_an_object, rejected};
use crate::api::error::ApiError;
use crate::api::resource::Gvr;
use crate::builtin::types::{self, Patched, Shape, Struct};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const ORDER: &str = "$setElementOrder";

pub(super) fn apply(resource: &Gvr, current: &Value, patch: &Value) -> Result<Value, ApiError> {
    let Some(shape) = types::for_resource(resource) else {
        let accepted = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}");
        return Err(ApiError::new(415, "UnsupportedMediaType", message));
    };
    match (current, patch) {
        (_, Value::Null) => Ok(current.clone()),
        (Value::Object(current), Value::Object(patch)) => {
            Ok(Value::Object(merge(current.clone(), patch.clone(), Some(shape))?))
        }
        (_, other) => Err(bad_request(not_an_object(other))),
    }
}

/// An error without a name: the API server takes these patches for its own mistake.
fn failed(message: impl Into<String>) -> ApiError {
    ApiError::new(500, "", message)
}

/// What is known of a field: what the objects in it look like, and how it is patched.
type Known = (Option<&'static Struct>, Patched);

fn known(shape: Option<&'static Struct>, key: &str) -> Known {
    let Some(field) = shape.and_then(|shape| shape.fields.get(key)) else { return (None, Patched::Plainly) };
    let within = match field.typed.shape() {
        Shape::List(item) => item.shape(),
        other => other,
    };
    (if let Shape::Struct(within) = within { Some(within) } else { None }, field.patched)
}

fn merge(mut current: Object, mut patch: Object, shape: Option<&'static Struct>) -> Result<Object, ApiError> {
    match patch.get(DIRECTIVE).map(Value::as_str) {
        Some(Some("replace")) => {
            patch.remove(DIRECTIVE);
            return Ok(patch);
        }
        Some(Some("delete")) => return Ok(Object::new()),
        Some(_) => return Err(unknown_directive(&patch)),
        None => {}
    }
    retain_keys(&mut current, &mut patch)?;
    list::merge_ordered(&mut current, &mut patch, shape)?;
    for (key, value) in patch {
        match key.strip_prefix(DELETE_FROM) {
            Some(rest) => {
                let key =
                    rest.strip_prefix('/').ok_or_else(|| bad_request("invalid patch format of primitive list"))?;
                list::delete_from(&mut current, key, value)?;
            }
            None => merge_field(&mut current, key, value, shape)?,
        }
    }
    Ok(current)
}

fn merge_field(
    current: &mut Object,
    key: String,
    value: Value,
    shape: Option<&'static Struct>,
) -> Result<(), ApiError> {
    let (within, patched) = known(shape, &key);
    let merged = match (current.remove(&key), value) {
        (_, Value::Null) => None,
        (Some(Value::Object(_)), value @ Value::Object(_)) if patched == Patched::Whole => Some(value),
        (Some(Value::Object(current)), Value::Object(patch)) => Some(Value::Object(merge(current, patch, within)?)),
        (Some(Value::Array(current)), Value::Array(patch)) => {
            Some(Value::Array(list::merge(current, patch, within, patched)?))
        }
        (_, value) => without_directives(without_nulls(value)),
    };
    current.extend(merged.map(|value| (key, value)));
    Ok(())
}

fn retain_keys(current: &mut Object, patch: &mut Object) -> Result<(), ApiError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let bad = || bad_request("invalid patch format of retainKeys");
    let keys = keys.as_array().ok_or_else(bad)?;
    let retained = |key: &str| keys.iter().any(|retained| retained == key);
    let exempt = |key: &str, value: &Value| value.is_null() || key.starts_with(DELETE_FROM) || key.starts_with(ORDER);
    if patch.iter().any(|(key, value)| !exempt(key, value) && !retained(key)) {
        return Err(bad());
    }
    current.retain(|key, _| retained(key));
    Ok(())
}

fn unknown_directive(patch: &Object) -> ApiError {
    let directive = patch.get(DIRECTIVE).map(go_text).unwrap_or_default();
    failed(format!("unknown patch type: {directive} in map: {}", go_map(patch)))
}

/// Without the null fields of objects, also of those in lists.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

/// Without objects that are directives: there is nothing that they could be applied to.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(key, value)| Some((key, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        other => Some(other),
    }
}

/// A value as Go prints it.
fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => go_list(items),
        Value::Object(fields) => go_map(fields),
        other => other.to_string(),
    }
}

fn go_list(items: &[Value]) -> String {
    format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" "))
}

fn go_map(fields: &Object) -> String {
    let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{key}:{}", go_text(value))).collect();
    format!("map[{}]", fields.join(" "))
}
