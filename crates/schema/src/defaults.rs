//! Defaulting: values for fields that are missing, or null although they are not nullable.

use serde_json::{Map, Value};

use super::node::Node;

pub(super) fn fill(value: &mut Value, node: &Node) {
    match value {
        Value::Object(fields) => {
            fill_missing(fields, node);
            fields.iter_mut().for_each(|(name, value)| fill_field(name, value, node));
        }
        Value::Array(items) => {
            if let Some(items_node) = node.items.as_deref() {
                items.iter_mut().for_each(|item| fill_null_and_below(item, items_node));
            }
        }
        _ => {}
    }
}

fn fill_missing(fields: &mut Map<String, Value>, node: &Node) {
    for (name, property) in &node.properties {
        let Some(default) = &property.default else { continue };
        let missing = fields.get(name).is_none_or(|value| value.is_null() && !property.nullable);
        if missing {
            fields.insert(name.clone(), default.clone());
        }
    }
}

fn fill_field(name: &str, value: &mut Value, node: &Node) {
    match (node.properties.get(name), node.additional.node()) {
        (Some(property), _) => fill(value, property),
        (None, Some(additional)) => fill_null_and_below(value, additional),
        (None, None) => {}
    }
}

fn fill_null_and_below(value: &mut Value, node: &Node) {
    if value.is_null() && !node.nullable {
        *value = node.default.clone().unwrap_or_default();
    }
    fill(value, node);
}
