//! Pruning: fields that the schema does not specify are dropped, and nulls of fields that are not nullable.

use serde_json::{Map, Value};

use super::node::{Additional, Node};

/// Fields of every object, whatever its schema specifies.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The paths of the fields that were dropped.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    path: Vec<String>,
    pub(super) paths: Vec<String>,
}

impl Dropped {
    fn within<R>(&mut self, step: String, visit: impl FnOnce(&mut Self) -> R) -> R {
        self.path.push(step);
        let result = visit(self);
        self.path.pop();
        result
    }

    fn field(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!(".{name}") }
    }

    fn note(&mut self, name: &str) {
        let path = self.path.concat() + &self.field(name);
        self.paths.push(path);
    }
}

/// Drops the unknown fields of an object.
pub(super) fn root(object: &mut Value, node: &Node) -> Dropped {
    let mut dropped = Dropped::default();
    match object {
        Value::Object(fields) => prune_fields(fields, node, Meta::Stays, &mut dropped),
        _ => prune(object, Some(node), &mut dropped),
    }
    dropped.paths.sort();
    dropped
}

/// The paths of fields that a value has and its node does not specify.
pub(super) fn unknown(value: &Value, node: &Node) -> Vec<String> {
    let mut dropped = Dropped::default();
    prune(&mut value.clone(), Some(node), &mut dropped);
    dropped.paths
}

/// Whether the fields of every resource may be missing in the schema.
#[derive(Clone, Copy, PartialEq)]
enum Meta {
    Stays,
    IsLikeAll,
}

fn prune(value: &mut Value, node: Option<&Node>, dropped: &mut Dropped) {
    match (value, node) {
        (Value::Object(fields), Some(node)) => {
            let meta = if node.embedded { Meta::Stays } else { Meta::IsLikeAll };
            prune_fields(fields, node, meta, dropped);
        }
        (Value::Object(fields), None) => {
            fields.keys().for_each(|name| dropped.note(name));
            fields.clear();
        }
        (Value::Array(items), Some(node)) if node.preserve_unknown => skip_items(items, node, dropped),
        (Value::Array(items), node) => {
            let items_node = node.and_then(|node| node.items.as_deref());
            for (index, item) in items.iter_mut().enumerate() {
                dropped.within(format!("[{index}]"), |dropped| prune(item, items_node, dropped));
            }
        }
        _ => {}
    }
}

fn prune_fields(fields: &mut Map<String, Value>, node: &Node, meta: Meta, dropped: &mut Dropped) {
    fields.retain(|name, value| {
        if meta == Meta::Stays && META.contains(&name.as_str()) {
            return true;
        }
        let known = node.properties.contains_key(name) || !matches!(node.additional, Additional::Unsaid);
        if known {
            let step = dropped.field(name);
            dropped.within(step, |dropped| prune(value, node.field(name), dropped));
        } else if !node.preserve_unknown {
            dropped.note(name);
        }
        known || node.preserve_unknown
    });
}

/// Where unknown fields are preserved, items of lists with a schema are still pruned.
fn skip_items(items: &mut [Value], node: &Node, dropped: &mut Dropped) {
    let Some(items_node) = node.items.as_deref() else { return };
    for (index, item) in items.iter_mut().enumerate() {
        dropped.within(format!("[{index}]"), |dropped| skip(item, items_node, dropped));
    }
}

fn skip(value: &mut Value, node: &Node, dropped: &mut Dropped) {
    match value {
        Value::Array(items) => skip_items(items, node, dropped),
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                let known = node.properties.contains_key(name) || !matches!(node.additional, Additional::Unsaid);
                if known && !(node.embedded && META.contains(&name.as_str())) {
                    let step = dropped.field(name);
                    dropped.within(step, |dropped| prune(value, node.field(name), dropped));
                }
            }
        }
        _ => {}
    }
}

/// Drops nulls from fields that may not be null and have no default; in lists they stay, to be refused.
pub(super) fn nulls(value: &mut Value, node: Option<&Node>) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let field = node.and_then(|node| node.field(name));
            let dropped = value.is_null() && field.is_some_and(|field| !field.nullable && field.default.is_none());
            if !dropped {
                nulls(value, field);
            }
            !dropped
        }),
        Value::Array(items) => {
            let items_node = node.and_then(|node| node.items.as_deref());
            items.iter_mut().for_each(|item| nulls(item, items_node));
        }
        _ => {}
    }
}
