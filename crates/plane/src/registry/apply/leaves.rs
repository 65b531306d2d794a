//! An object as the set of its leaves that field managers own: maps by key, associative lists by the keys of
//! their items, everything else atomic.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::api::resource::Gvr;
use crate::builtin::types::{self, Patched, Shape, Struct};

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Field(String),
    /// The item of a list whose field has this value.
    Item(&'static str, String),
}

/// The path of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FieldPath(pub(super) Vec<Step>);

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            Step::Field(name) => write!(f, ".{name}"),
            Step::Item(key, value) => write!(f, "[{key}={value}]"),
        })
    }
}

/// The leaves of an object, by their paths.
pub(super) type Leaves = BTreeMap<FieldPath, Value>;

/// Fields that no manager owns.
const UNOWNED: [&str; 11] = [
    "apiVersion",
    "kind",
    "metadata.creationTimestamp",
    "metadata.deletionGracePeriodSeconds",
    "metadata.deletionTimestamp",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.name",
    "metadata.namespace",
    "metadata.resourceVersion",
    "metadata.uid",
];

/// Collects the leaves of an object.
pub(super) fn leaves(resource: &Gvr, object: &Value) -> Leaves {
    let mut found = Leaves::new();
    gather(
        object,
        types::for_resource(resource).map_or(ValueKind::Unknown, ValueKind::Struct),
        &mut Vec::new(),
        &mut found,
    );
    found.retain(|path, _| !UNOWNED.contains(&path.to_string().trim_start_matches('.')));
    found
}

/// What is known of a value.
#[derive(Clone, Copy)]
enum ValueKind {
    Struct(&'static Struct),
    /// A list whose items have a key.
    Keyed(&'static str, Option<&'static Struct>),
    Unknown,
}

impl ValueKind {
    fn below(self, field: &str) -> Self {
        let Self::Struct(within) = self else { return Self::Unknown };
        let Some(field) = within.fields.get(field) else { return Self::Unknown };
        match (field.patched, field.typed.shape()) {
            (Patched::ByKey(key), Shape::List(item)) => Self::Keyed(key, struct_of(item.shape())),
            (_, shape) => struct_of(shape).map_or(Self::Unknown, Self::Struct),
        }
    }
}

fn struct_of(shape: Shape) -> Option<&'static Struct> {
    match shape {
        Shape::Struct(found) => Some(found),
        _ => None,
    }
}

fn gather(value: &Value, kind: ValueKind, path: &mut Vec<Step>, found: &mut Leaves) {
    match (value, kind) {
        (Value::Object(fields), _) if !fields.is_empty() => {
            for (name, value) in fields {
                path.push(Step::Field(name.clone()));
                gather(value, kind.below(name), path, found);
                path.pop();
            }
        }
        (Value::Array(items), ValueKind::Keyed(key, within)) if items.iter().all(|item| !item[key].is_null()) => {
            for item in items {
                path.push(Step::Item(key, item[key].to_string()));
                gather(item, within.map_or(ValueKind::Unknown, ValueKind::Struct), path, found);
                path.pop();
            }
        }
        _ => drop(found.insert(FieldPath(path.clone()), value.clone())),
    }
}

/// Removes the leaf at a path, and containers that are empty then.
pub(super) fn remove(object: &mut Value, path: &[Step]) {
    match (path, object) {
        ([Step::Field(name)], Value::Object(fields)) => drop(fields.remove(name)),
        ([Step::Field(name), rest @ ..], Value::Object(fields)) => {
            if let Some(below) = fields.get_mut(name) {
                remove(below, rest);
                if is_empty(below) {
                    fields.remove(name);
                }
            }
        }
        // An item without its key is removed.
        ([Step::Item(key, value), Step::Field(name)], Value::Array(items)) if name == key => {
            items.retain(|item| !is_item(item, key, value));
        }
        ([Step::Item(key, value), rest @ ..], Value::Array(items)) => {
            items.iter_mut().filter(|item| is_item(item, key, value)).for_each(|item| remove(item, rest));
            items.retain(|item| !is_empty(item));
        }
        _ => {}
    }
}

fn is_item(item: &Value, key: &str, value: &str) -> bool {
    let found = item[key].to_string();
    found == value
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.is_empty()) || value.as_array().is_some_and(|items| items.is_empty())
}
