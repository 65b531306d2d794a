//! Embedded resources (`x-kubernetes-embedded-resource`): they need `apiVersion` and `kind`.

use serde_json::{Map, Value};

use super::messages::{child, index, invalid, key};
use super::names;
use super::node::Node;
use crate::FieldError;

pub(super) fn check(node: &Node, value: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match value {
        Value::Object(fields) => {
            if node.embedded {
                errors.extend(check_resource(fields, path));
            }
            for (name, value) in fields {
                match (node.properties.get(name), node.additional.node()) {
                    (Some(property), _) => errors.extend(check(property, value, &child(path, name))),
                    (None, Some(additional)) => errors.extend(check(additional, value, &key(path, name))),
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(items_node) = &node.items {
                errors
                    .extend(items.iter().enumerate().flat_map(|(at, item)| check(items_node, item, &index(path, at))));
            }
        }
        _ => {}
    }
    errors
}

fn check_resource(fields: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["apiVersion", "kind"] {
        let field = child(path, name);
        match fields.get(name) {
            None => errors.push(FieldError::required(field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(invalid(field, &Value::from(""), "must not be empty"))
            }
            Some(Value::String(text)) => {
                errors.extend(check_name(name, text).map(|detail| invalid(field, &Value::from(text.as_str()), &detail)))
            }
            Some(other) => errors.push(invalid(field, other, "must be a string")),
        }
    }
    errors
}

fn check_name(name: &str, text: &str) -> Option<String> {
    match name {
        "kind" => names::joined(&names::dns1035_label(&text.to_lowercase()))
            .map(|violation| format!("may have mixed case, but should otherwise match: {violation}")),
        _ => (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}")),
    }
}
