//! Embedded resources (`x-kubernetes-embedded-resource`): they need `apiVersion` and `kind`.

use serde_json::{Map, Value};

use super::messages::{child, index, invalid, key};
use super::names;
use super::node::Node;
use crate::FieldError;

pub(super) fn check(node: &Node, value: &Value, path: &str) -> Vec<FieldError> {
    let mut problems = Vec::new();
    match value {
        Value::Object(fields) => {
            if node.embedded {
                problems.extend(check_resource(fields, path));
            }
            for (name, value) in fields {
                match (node.properties.get(name), node.additional.node()) {
                    (Some(property), _) => problems.extend(check(property, value, &child(path, name))),
                    (None, Some(additional)) => problems.extend(check(additional, value, &key(path, name))),
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(items_node) = &node.items {
                problems
                    .extend(items.iter().enumerate().flat_map(|(at, item)| check(items_node, item, &index(path, at))));
            }
        }
        _ => {}
    }
    problems
}

fn check_resource(fields: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let mut problems = Vec::new();
    for name in ["apiVersion", "kind"] {
        let field = child(path, name);
        match fields.get(name) {
            None => problems.push(FieldError::required(field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                problems.push(invalid(field, &Value::from(""), "must not be empty"))
            }
            Some(Value::String(text)) => problems
                .extend(check_name(name, text).map(|detail| invalid(field, &Value::from(text.as_str()), &detail))),
            Some(other) => problems.push(invalid(field, other, "must be a string")),
        }
    }
    problems
}

fn check_name(name: &str, text: &str) -> Option<String> {
    match name {
        "kind" => names::joined(&names::dns1035_label(&text.to_lowercase()))
            .map(|flaw| format!("may have mixed case, but should otherwise match: {flaw}")),
        _ => (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}")),
    }
}
