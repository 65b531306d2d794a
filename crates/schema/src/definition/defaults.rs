//! Defaults must be values that objects could have.

use serde_json::Value;

use crate::FieldError;
use crate::messages::{child, invalid, key};
use crate::node::Node;
use crate::rules::{Changes, ValueAt, root_of};
use crate::{embedded, prune, rules, validate};

/// Whether a node belongs to the fields of every resource.
#[derive(Clone, Copy, PartialEq)]
enum Meta {
    Inside,
    Outside,
}

/// All errors of the defaults of a resource.
pub(super) fn check(node: &Node, path: &str) -> Vec<FieldError> {
    let mut errors = check_whole(node, path);
    let properties = node.properties.iter();
    errors
        .extend(properties.flat_map(|(name, property)| check_at(property, &property_path(path, name), meta_of(name))));
    errors
}

/// A resource has `apiVersion`, `kind` and `metadata`.
fn check_whole(node: &Node, path: &str) -> Vec<FieldError> {
    let Some(default) = &node.default else { return Vec::new() };
    let missing = ["apiVersion", "kind"].into_iter().filter(|field| default[*field].as_str().is_none_or(str::is_empty));
    missing.map(|field| FieldError::required(child(&child(path, "default"), field), "")).collect()
}

fn property_path(path: &str, name: &str) -> String {
    key(&child(path, "properties"), name)
}

fn meta_of(name: &str) -> Meta {
    if matches!(name, "apiVersion" | "kind" | "metadata") { Meta::Inside } else { Meta::Outside }
}

fn check_at(node: &Node, path: &str, meta: Meta) -> Vec<FieldError> {
    let meta = if node.embedded { Meta::Outside } else { meta };
    let mut errors = Vec::new();
    if let Some(default) = &node.default {
        errors.extend(check_default(node, default, &child(path, "default"), meta));
    }
    if let Some(items) = &node.items {
        errors.extend(check_at(items, &child(path, "items"), meta));
    }
    for (name, property) in &node.properties {
        let below = if node.embedded { meta_of(name) } else { meta };
        errors.extend(check_at(property, &property_path(path, name), below));
    }
    errors
}

fn check_default(node: &Node, default: &Value, path: &str, meta: Meta) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if meta == Meta::Outside && !prune::unknown(default, node).is_empty() {
        errors.push(invalid(path, default, "must not have unknown fields"));
    }
    let unfit = Some(embedded::check(node, default, path)).filter(|unfit| !unfit.is_empty());
    let unfit = unfit.unwrap_or_else(|| validate::check(node, default, None, path));
    if unfit.is_empty() {
        errors.extend(check_rules(node, default, path));
    }
    errors.extend(unfit);
    errors
}

/// The rules hold both for a value that was there and for one that is new.
fn check_rules(node: &Node, default: &Value, path: &str) -> Vec<FieldError> {
    let kept = ValueAt { node, root: root_of(node), value: default, old: None, path };
    let broken_by = |old| rules::check(ValueAt { old, ..kept }, Changes::default(), rules::depth(node));
    Some(broken_by(Some(default))).filter(|broken| !broken.is_empty()).unwrap_or_else(|| broken_by(None))
}
