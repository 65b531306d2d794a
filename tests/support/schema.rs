//! CRD schemas taken apart, to be compared rule by rule.

use std::collections::BTreeMap;

use serde_json::Value;

/// Removes every description, which is where CRDs may differ without behaving differently.
pub fn without_descriptions(schema: &Value) -> Value {
    let mut schema = schema.clone();
    strip(&mut schema);
    schema
}

fn strip(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.remove("description");
    for property in
        map.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(|map| map.values_mut())
    {
        strip(property);
    }
    for inner in ["items", "additionalProperties"] {
        map.get_mut(inner).into_iter().for_each(strip);
    }
}

/// Every field below a schema with its own rules, by path: `a.b`, `list[]`, `map{}`; the schema itself is `.`.
pub fn fields(schema: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    collect(".", schema, &mut found);
    found
}

fn collect(path: &str, schema: &Value, found: &mut BTreeMap<String, Value>) {
    let mut rules = schema.clone();
    if let Some(rules) = rules.as_object_mut() {
        for inner in ["properties", "items", "additionalProperties", "description"] {
            rules.remove(inner);
        }
    }
    found.insert(path.to_owned(), rules);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path == "." { name.clone() } else { format!("{path}.{name}") };
        collect(&path, property, found);
    }
    for (inner, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = schema.get(inner) {
            collect(&format!("{path}{mark}"), inner, found);
        }
    }
}

/// Where two JSON values differ, one line a place. Lists whose order means nothing (`required`) are compared as sets, and
/// numbers by value.
pub fn differences(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", ours, theirs, &mut found);
    found
}

fn compare(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                compare(&format!("{path}/{key}"), value, b.get(key).unwrap_or(&Value::Null), found);
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                compare(&format!("{path}/{key}"), &Value::Null, value, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if path.ends_with("/required") => {
            if a.len() != b.len() || a.iter().any(|item| !b.contains(item)) {
                found.push(format!("{path}: ours {ours}, theirs {theirs}"));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                compare(&format!("{path}/{index}"), a, b, found);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        _ if ours == theirs => {}
        _ => found.push(format!("{path}: ours {ours}, theirs {theirs}")),
    }
}
