//! How the lists of strategic merge patches are merged and ordered: what is in the patch keeps the order of the patch,
//! what only the server has keeps its own, and both are interleaved by the order they had.

use serde_json::Value;

use super::{DIRECTIVE, ORDER, failed, go_list, go_map, known, unknown_directive};
use super::{Object, bad_request, rejected, without_directives};
use crate::api::error::ApiError;
use crate::builtin::types::{Patched, Struct};

/// What tells the items of a list apart: a field, or the items themselves.
type Key = Option<&'static str>;

/// Merges a list that is in the object and in the patch.
pub(super) fn merge(
    current: Vec<Value>,
    patch: Vec<Value>,
    shape: Option<&'static Struct>,
    patched: Patched,
) -> Result<Vec<Value>, ApiError> {
    let key = match patched {
        Patched::Plainly | Patched::Whole => return Ok(patch),
        Patched::AsSet => None,
        Patched::ByKey(key) => Some(key),
    };
    if current.is_empty() && patch.is_empty() {
        return Ok(current);
    }
    match item_kind(&[&current, &patch])? {
        ItemKind::Values => Ok(merge_values(current, &patch)),
        ItemKind::Objects => merge_objects(current, patch, shape, key.ok_or_else(|| no_key(shape))?),
    }
}

fn no_key(shape: Option<&'static Struct>) -> ApiError {
    failed(format!("cannot merge lists without merge key for {}", shape.map_or("", Struct::short_name)))
}

fn merge_values(current: Vec<Value>, patch: &[Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for value in current.iter().chain(patch) {
        if !merged.contains(value) {
            merged.push(value.clone());
        }
    }
    ordered(merged, patch, &current, None)
}

fn merge_objects(
    current: Vec<Value>,
    patch: Vec<Value>,
    shape: Option<&'static Struct>,
    key: &'static str,
) -> Result<Vec<Value>, ApiError> {
    let (current, patch) = follow_directives(current, patch, key)?;
    let mut merged = current.clone();
    for item in &patch {
        let Value::Object(fields) = item else { continue };
        let id = fields.get(key).ok_or_else(|| lacks_key(fields, key))?;
        match merged.iter_mut().find(|old| old.get(key) == Some(id)) {
            Some(old) => {
                let Value::Object(original) = old.take() else { continue };
                *old = Value::Object(super::merge(original, fields.clone(), shape)?);
            }
            None => merged.push(item.clone()),
        }
    }
    if let Some(fields) = merged.iter().filter_map(Value::as_object).find(|fields| !fields.contains_key(key)) {
        return Err(lacks_key(fields, key));
    }
    Ok(ordered(merged, &patch, &current, Some(key)))
}

fn lacks_key(fields: &Object, key: &str) -> ApiError {
    failed(format!("map: {} does not contain declared merge key: {key}", go_map(fields)))
}

/// Removes what the patch wants removed; gives back the list and the patch without its directives.
fn follow_directives(
    mut current: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), ApiError> {
    let mut replaces = false;
    let mut plain = Vec::new();
    for item in patch {
        let Some(fields) = item.as_object().filter(|fields| fields.contains_key(DIRECTIVE)) else {
            plain.push(item);
            continue;
        };
        match fields[DIRECTIVE].as_str() {
            Some("delete") => {
                let id = fields.get(key).ok_or_else(|| lacks_key(fields, key))?;
                current.retain(|old| old.get(key) != Some(id));
            }
            Some("replace") => replaces = true,
            Some("merge") => return Err(failed("merging lists cannot yet be specified in the patch")),
            _ => return Err(unknown_directive(fields)),
        }
    }
    Ok(if replaces { (plain, Vec::new()) } else { (current, plain) })
}

/// Removes values from a list of the object.
pub(super) fn delete_from(current: &mut Object, key: &str, values: Value) -> Result<(), ApiError> {
    match (current.get_mut(key), values) {
        (_, Value::Null) => {
            current.remove(key);
        }
        (Some(Value::Array(list)), Value::Array(values)) => {
            item_kind(&[list, &values])?;
            list.retain(|value| !values.contains(value));
        }
        _ => {}
    }
    Ok(())
}

/// Merges those lists whose order the patch gives, and takes them out of the patch.
pub(super) fn merge_ordered(
    current: &mut Object,
    patch: &mut Object,
    shape: Option<&'static Struct>,
) -> Result<(), ApiError> {
    let directives: Vec<String> = patch.keys().filter(|key| key.starts_with(ORDER)).cloned().collect();
    for directive in directives {
        let order = patch.remove(&directive).unwrap_or_default();
        let order = as_list(&order)?;
        let key = directive[ORDER.len()..].strip_prefix('/').ok_or_else(bad_order)?;
        if let Some(shape) = shape.filter(|shape| !shape.fields.contains_key(key)) {
            let name = shape.short_name();
            return Err(failed(format!("unable to find api field in struct {name} for the json field \"{key}\"")));
        }
        let old = current.get(key).map(as_list).transpose()?.cloned();
        let new = patch.get(key).map(as_list).transpose()?.cloned();
        if let Some(list) = merge_one_ordered(old, new, order, known(shape, key))? {
            current.insert(key.to_owned(), Value::Array(list));
            patch.remove(key);
        }
    }
    Ok(())
}

fn bad_order() -> ApiError {
    bad_request("invalid patch format of setElementOrder list")
}

fn as_list(value: &Value) -> Result<&Vec<Value>, ApiError> {
    value.as_array().ok_or_else(|| failed(format!("expected a []interface {{}}, but received a {}", go_type(value))))
}

fn merge_one_ordered(
    old: Option<Vec<Value>>,
    new: Option<Vec<Value>>,
    order: &[Value],
    (shape, patched): super::Known,
) -> Result<Option<Vec<Value>>, ApiError> {
    let key = if let Patched::ByKey(key) = patched { Some(key) } else { None };
    if let Some(new) = &new {
        check_order(new, order, key)?;
    }
    let before = old.clone().unwrap_or_default();
    let merged = match (old, new) {
        (None, None) => return Ok(None),
        (Some(old), None) => old,
        (None, Some(new)) => new.into_iter().filter_map(without_directives).collect(),
        (Some(old), Some(new)) => merge(old, new, shape, patched)?,
    };
    Ok(Some(ordered(merged, order, &before, key)))
}

/// What is in the patch must be in the order that the patch gives.
fn check_order(patch: &[Value], order: &[Value], key: Key) -> Result<(), ApiError> {
    let mut rest = order.iter();
    let plain = patch.iter().filter(|item| item.get(DIRECTIVE).is_none());
    if order.is_empty() || plain.into_iter().all(|item| rest.any(|next| same(item, next, key))) {
        return Ok(());
    }
    let (patch, order) = (go_list(patch), go_list(order));
    Err(failed(format!("The order in patch list:\n{patch}\n doesn't match {ORDER} list:\n{order}\n")))
}

fn same(one: &Value, other: &Value, key: Key) -> bool {
    match key {
        None => one == other,
        Some(key) => one.get(key).is_some() && one.get(key) == other.get(key),
    }
}

/// Those items that `first` names in its order, the others in the order of `before`, interleaved by the latter.
fn ordered(items: Vec<Value>, first: &[Value], before: &[Value], key: Key) -> Vec<Value> {
    let position = |list: &[Value], item: &Value| list.iter().position(|other| same(item, other, key));
    let (mut named, mut others): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| position(first, item).is_some());
    named.sort_by_key(|item| position(first, item));
    others.sort_by_key(|item| position(before, item).unwrap_or(usize::MAX));
    let mut others = others.into_iter().peekable();
    let mut all = Vec::new();
    for item in named {
        if let Some(place) = position(before, &item) {
            while let Some(other) = others.next_if(|other| position(before, other).is_some_and(|other| other < place)) {
                all.push(other);
            }
        }
        all.push(item);
    }
    all.extend(others);
    all
}

enum ItemKind {
    Values,
    Objects,
}

/// What the items of all the lists are; they must be alike.
fn item_kind(lists: &[&Vec<Value>]) -> Result<ItemKind, ApiError> {
    let mut items = lists.iter().flat_map(|list| list.iter());
    let Some(first) = items.next() else { return Ok(ItemKind::Values) };
    if first.is_array() {
        return Err(rejected());
    }
    if items.any(|item| go_type(item) != go_type(first)) {
        let lists: Vec<_> = lists.iter().map(|list| go_list(list)).collect();
        return Err(failed(format!("list element types are not identical: [{}]", lists.join(" "))));
    }
    Ok(if first.is_object() { ItemKind::Objects } else { ItemKind::Values })
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
