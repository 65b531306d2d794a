//! Converts the schemas of kube's derive to the form of KEDA's CRDs.

use serde_json::{Value, json};

/// Corrects a schema and everything below it.
///
/// A nullable field would let the API server store `null` (and reject it for an enum, whose null member it ignores),
/// where KEDA's CRDs prune it. An int-or-string is written as in the API server's own schemas.
pub(super) fn normalise(schema: &mut Value) {
    remove(schema, "title");
    each_schema(schema, &mut |schema| {
        remove(schema, "nullable");
        if let Some(Value::String(text)) = schema.get_mut("description") {
            // `kubectl explain` wraps lines itself.
            *text = text.replace('\n', " ");
        }
        if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            values.retain(|value| !value.is_null());
        }
        if schema.get("x-kubernetes-int-or-string") == Some(&json!(true)) {
            remove(schema, "type");
            schema["anyOf"] = json!([{ "type": "integer" }, { "type": "string" }]);
        }
    });
}

/// Calls `visit` with this schema and every schema below it.
pub(super) fn each_schema(schema: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    visit(schema);
    for property in
        schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(|map| map.values_mut())
    {
        each_schema(property, visit);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(inner).filter(|inner| inner.is_object()) {
            each_schema(inner, visit);
        }
    }
}

/// Removes a key, if this is an object that has it.
pub(super) fn remove(value: &mut Value, key: &str) {
    if let Some(map) = value.as_object_mut() {
        map.remove(key);
    }
}

/// Turns `1.0` into `1`: bounds are floats in Rust's type for schemas, and integers in every other CRD.
pub(super) fn write_integers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(integer) = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15) {
                *value = json!(integer as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_integers),
        Value::Object(map) => map.values_mut().for_each(write_integers),
        _ => {}
    }
}
