//! Lists that are sets or maps: no item, no key twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::messages::{child, duplicate, index, invalid, key};
use super::node::{List, Node};
use crate::FieldError;

pub(super) fn check(node: &Node, value: &Value, path: &str) -> Vec<FieldError> {
    match value {
        Value::Array(items) => check_items(node, items, path),
        Value::Object(fields) => check_fields(node, fields, path),
        _ => Vec::new(),
    }
}

fn check_fields(node: &Node, fields: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(additional) = node.additional.node() {
        errors.extend(fields.iter().flat_map(|(name, value)| check(additional, value, &key(path, name))));
    }
    for (name, value) in fields {
        if let Some(property) = node.properties.get(name) {
            errors.extend(check(property, value, &child(path, name)));
        }
    }
    errors
}

fn check_items(node: &Node, items: &[Value], path: &str) -> Vec<FieldError> {
    let mut errors = match &node.list {
        List::Atomic => Vec::new(),
        List::Set => repeated(items).into_iter().map(|at| duplicate(index(path, at), &items[at])).collect(),
        List::Map(keys) => check_map(keys, items, path),
    };
    if let Some(items_node) = &node.items {
        errors.extend(items.iter().enumerate().flat_map(|(at, item)| check(items_node, item, &index(path, at))));
    }
    errors
}

fn check_map(keys: &[String], items: &[Value], path: &str) -> Vec<FieldError> {
    if let Some(at) = items.iter().position(|item| !item.is_object() && !item.is_null()) {
        return vec![invalid(index(path, at), &items[at], "must be an object for an array of list-type map")];
    }
    let keys_of = |item: &Value| -> Value {
        let of = |key: &String| item.get(key).map(|value| (key.clone(), value.clone()));
        Value::Object(keys.iter().filter_map(of).collect())
    };
    let keyed: Vec<Value> = items.iter().map(keys_of).collect();
    repeated(&keyed).into_iter().map(|at| duplicate(index(path, at), &keyed[at])).collect()
}

/// The indexes at which an item occurs for the second time.
fn repeated(items: &[Value]) -> Vec<usize> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut repeated = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let times = seen.entry(item.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            repeated.push(at);
        }
    }
    repeated
}
