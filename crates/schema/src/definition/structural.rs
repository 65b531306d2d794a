//! Structural schemas: each node declares one type, once, outside of junctors.

use serde_json::{Map, Value, json};

use super::{NOTHING, list, section};
use crate::FieldError;
use crate::messages::{child, forbidden, index, invalid, key};
use crate::node::{flag, text};
use crate::pattern;

/// The position of a node in its schema.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Keywords that are forbidden within a junctor, and their names in messages.
const FORBIDDEN: [(&str, &str); 11] = [
    ("type", "must be empty to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
];

/// Whether a schema uses a keyword that no schema can have; then the structural checks are skipped.
pub(super) fn is_readable(schema: &Value) -> bool {
    const NEVER: [&str; 6] = ["id", "$schema", "$ref", "patternProperties", "dependencies", "definitions"];
    let Some(fields) = schema.as_object() else { return true };
    let unusable = NEVER.iter().any(|name| fields.contains_key(*name))
        || fields.contains_key("additionalItems")
        || fields.get("items").is_some_and(Value::is_array)
        || fields.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false));
    let below = ["items", "additionalProperties", "not"].iter().filter_map(|name| fields.get(*name));
    let junctors = ["allOf", "anyOf", "oneOf"].iter().flat_map(|name| list(fields, name));
    !unusable && below.chain(junctors).chain(section(fields, "properties").values()).all(is_readable)
}

/// All errors that keep a schema from being structural, in the API server's order.
pub(super) fn check(schema: &Value, path: &str) -> Vec<FieldError> {
    let root = schema.as_object().unwrap_or(&NOTHING);
    let mut errors = check_node(root, Level::Root, path);
    errors.extend(check_complete(root, root, path, path));
    errors.sort_by_key(|error| format!("{}: {}", error.field, error.message));
    errors
}

fn check_node(schema: &Map<String, Value>, level: Level, path: &str) -> Vec<FieldError> {
    let mut errors = check_below(schema, level, path);
    errors.extend(check_extensions(schema, path));
    errors.extend(check_junctors(schema, path, integer_or_text(schema)));
    errors.extend(check_type(schema, level, path));
    errors.extend(check_meta(schema, level, path));
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    if embedded && !flag(schema, "x-kubernetes-preserve-unknown-fields") && section(schema, "properties").is_empty() {
        let detail =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(child(path, "properties"), detail));
    }
    errors
}

fn check_below(schema: &Map<String, Value>, level: Level, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match schema.get("items").and_then(Value::as_object) {
        Some(items) => errors.extend(check_node(items, Level::Item, &child(path, "items"))),
        None if text(schema, "type") == "array" => {
            errors.push(FieldError::required(child(path, "items"), "must be specified"))
        }
        None => {}
    }
    for (name, property) in section(schema, "properties") {
        let path = key(&child(path, "properties"), name);
        errors.extend(check_node(property.as_object().unwrap_or(&NOTHING), Level::Field, &path));
    }
    if let Some(additional) = schema.get("additionalProperties") {
        let path = child(path, "additionalProperties");
        if level == Level::Root {
            errors.push(forbidden(&path, "must not be used at the root"));
        }
        errors.extend(
            additional.as_object().into_iter().flat_map(|additional| check_node(additional, Level::Field, &path)),
        );
    }
    errors
}

fn check_extensions(schema: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let both = |name: &&&str| flag(schema, "x-kubernetes-int-or-string") && flag(schema, name);
    let names = ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"];
    let detail = "must be false if x-kubernetes-int-or-string is true";
    names.iter().filter(both).map(|name| invalid(child(path, name), &Value::from(true), detail)).collect()
}

/// The forms of int-or-string: types within their junctors are allowed.
#[derive(Clone, Copy, PartialEq)]
enum IntegerOrText {
    AnyOf,
    FirstOfAllOf,
    No,
}

fn integer_or_text(schema: &Map<String, Value>) -> IntegerOrText {
    let both = json!([{ "type": "integer" }, { "type": "string" }]);
    if schema.get("anyOf") == Some(&both) {
        return IntegerOrText::AnyOf;
    }
    match list(schema, "allOf").first() {
        Some(first) if first.get("anyOf") == Some(&both) => IntegerOrText::FirstOfAllOf,
        _ => IntegerOrText::No,
    }
}

fn check_junctors(schema: &Map<String, Value>, path: &str, exception: IntegerOrText) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["anyOf", "allOf", "oneOf"] {
        if name == "anyOf" && exception == IntegerOrText::AnyOf {
            continue;
        }
        for (at, nested) in list(schema, name).iter().enumerate() {
            let first = name == "allOf" && at == 0 && exception == IntegerOrText::FirstOfAllOf;
            let exception = if first { IntegerOrText::AnyOf } else { IntegerOrText::No };
            errors.extend(check_nested(nested, &index(&child(path, name), at), exception));
        }
    }
    errors.extend(
        schema.get("not").into_iter().flat_map(|not| check_nested(not, &child(path, "not"), IntegerOrText::No)),
    );
    let pattern = text(schema, "pattern");
    if let Err(error) = pattern::compile(&pattern) {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(invalid(child(path, "pattern"), &Value::from(pattern), &detail));
    }
    errors
}

fn check_nested(schema: &Value, path: &str, exception: IntegerOrText) -> Vec<FieldError> {
    let schema = schema.as_object().unwrap_or(&NOTHING);
    let mut errors = check_junctors(schema, path, exception);
    if let Some(items) = schema.get("items") {
        errors.extend(check_nested(items, &child(path, "items"), IntegerOrText::No));
    }
    for (name, property) in section(schema, "properties") {
        errors.extend(check_nested(property, &key(&child(path, "properties"), name), IntegerOrText::No));
    }
    if schema.get("additionalProperties").is_some_and(|additional| *additional != false) {
        errors.push(forbidden(child(path, "additionalProperties"), "must be undefined to be structural"));
    }
    let said = |name: &str| schema.get(name).is_some_and(|value| !is_zero(value));
    errors.extend(
        FORBIDDEN.iter().filter(|(name, _)| said(name)).map(|(name, detail)| forbidden(child(path, name), detail)),
    );
    if said("x-kubernetes-validations") {
        errors.push(forbidden(child(path, "x-kubernetes-validations"), "must be empty to be structural"));
    }
    if section(schema, "properties").contains_key("metadata") {
        let path = key(&child(path, "properties"), "metadata");
        errors.push(forbidden(path, "must not be specified in a nested context"));
    }
    errors
}

/// Values that equal an absent keyword.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn check_type(schema: &Map<String, Value>, level: Level, path: &str) -> Vec<FieldError> {
    let kind = text(schema, "type");
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let typeless = flag(schema, "x-kubernetes-int-or-string") || flag(schema, "x-kubernetes-preserve-unknown-fields");
    let field = child(path, "type");
    let mut errors = Vec::new();
    let embedded_detail = "must be object if x-kubernetes-embedded-resource is true";
    match kind.as_str() {
        "object" => {}
        "" if embedded => errors.push(FieldError::required(&field, embedded_detail)),
        "" if !typeless => errors.push(FieldError::required(&field, empty_type(level))),
        kind if embedded => errors.push(invalid(&field, &Value::from(kind), embedded_detail)),
        _ => {}
    }
    if embedded && schema.contains_key("additionalProperties") {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(forbidden(child(path, "additionalProperties"), detail));
    }
    if level == Level::Root && !matches!(kind.as_str(), "" | "object") {
        errors.push(invalid(field, &Value::from(kind), "must be object at the root"));
    }
    errors
}

fn empty_type(level: Level) -> &'static str {
    match level {
        Level::Root => "must not be empty at the root",
        Level::Item => "must not be empty for specified array items",
        Level::Field => "must not be empty for specified object fields",
    }
}

/// `apiVersion`, `kind` and `metadata` may be repeated, but not restricted.
fn check_meta(schema: &Map<String, Value>, level: Level, path: &str) -> Vec<FieldError> {
    let resource = level == Level::Root || flag(schema, "x-kubernetes-embedded-resource");
    let properties = section(schema, "properties");
    let mut errors = Vec::new();
    for (name, expected) in [("kind", "string"), ("apiVersion", "string"), ("metadata", "object")] {
        let Some(property) = properties.get(name).and_then(Value::as_object).filter(|_| resource) else { continue };
        let path = key(&child(path, "properties"), name);
        let kind = text(property, "type");
        if kind != expected {
            errors.push(invalid(child(&path, "type"), &Value::from(kind), &format!("must be {expected}")));
        }
        if name == "metadata" && level == Level::Root && !says_names_alone(property) {
            let detail =
                "must not specify anything other than name and generateName, but metadata is implicitly specified";
            errors.push(forbidden(path, detail));
        }
    }
    errors
}

fn says_names_alone(metadata: &Map<String, Value>) -> bool {
    let named = section(metadata, "properties").keys().all(|name| matches!(name.as_str(), "name" | "generateName"));
    let plain = metadata
        .iter()
        .all(|(name, value)| matches!(name.as_str(), "type" | "default" | "properties") || is_zero(value));
    named && plain
}

/// Fields that the junctors of the root name must be defined outside of them.
fn check_complete(
    nested: &Map<String, Value>,
    schema: &Map<String, Value>,
    path: &str,
    nested_path: &str,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(not) = nested.get("not").and_then(Value::as_object) {
        errors.extend(check_complete_below(not, schema, path, &child(nested_path, "not")));
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        for (at, junct) in list(nested, name).iter().enumerate() {
            let junct = junct.as_object().unwrap_or(&NOTHING);
            errors.extend(check_complete_below(junct, schema, path, &index(&child(nested_path, name), at)));
        }
    }
    errors
}

fn check_complete_below(
    nested: &Map<String, Value>,
    schema: &Map<String, Value>,
    path: &str,
    nested_path: &str,
) -> Vec<FieldError> {
    let mut errors = check_complete(nested, schema, path, nested_path);
    let mut follow = |nested: &Value, schema: Option<&Value>, path: String, nested_path: String| match schema
        .and_then(Value::as_object)
    {
        Some(schema) => {
            errors.extend(check_complete_below(nested.as_object().unwrap_or(&NOTHING), schema, &path, &nested_path))
        }
        None => errors.push(FieldError::required(path, &format!("because it is defined in {nested_path}"))),
    };
    if let Some(items) = nested.get("items") {
        follow(items, schema.get("items"), child(path, "items"), child(nested_path, "items"));
    }
    for (name, property) in section(nested, "properties") {
        let at = |path: &str| key(&child(path, "properties"), name);
        follow(property, section(schema, "properties").get(name), at(path), at(nested_path));
    }
    errors
}
