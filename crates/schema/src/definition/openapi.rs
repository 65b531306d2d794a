//! Forbidden keywords, the types of lists and maps, and CEL rules of a schema.

use serde_json::{Map, Value, json};

use super::{NOTHING, defaults, list, section, structural};
use crate::FieldError;
use crate::messages::{child, forbidden, index, invalid, invalid_as, json, key, not_supported};
use crate::node::{self, Node, flag, text, texts};
use crate::rule::Rule;
use crate::rules;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// What a node inherits from the nodes above it.
#[derive(Clone, Default)]
struct Above {
    /// Why a default is forbidden.
    defaults_forbidden: Option<String>,
    inside_meta: bool,
    /// The nearest node above whose items have no identity across updates.
    uncorrelatable: Option<String>,
}

/// The errors of a schema, and those of its rules, which are checked only if the schema is valid.
#[derive(Default)]
struct Found {
    of_schema: Vec<FieldError>,
    of_rules: Vec<FieldError>,
}

impl Found {
    fn extend(&mut self, other: Found) {
        self.of_schema.extend(other.of_schema);
        self.of_rules.extend(other.of_rules);
    }
}

/// All errors of the schema of a version.
pub(super) fn check_whole(schema: &Value, path: &str) -> Vec<FieldError> {
    if node::depth(schema) > 2 * node::DEPTH_MAX {
        return vec![forbidden(path, "the schema is nested too deeply")];
    }
    let root = rules::parse_resource(schema);
    let mut errors = Vec::new();
    let readable = structural::is_readable(schema);
    if readable {
        errors.extend(structural::check(schema, path));
    }
    if errors.is_empty() {
        errors.extend(defaults::check(&root, path));
    }
    let node = (readable && errors.is_empty()).then_some(&root);
    let found = check(schema, path, &Above::default(), Level::Root, node);
    errors.into_iter().chain(found.of_schema).chain(found.of_rules).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Below,
}

fn check(schema: &Value, path: &str, above: &Above, level: Level, node: Option<&Node>) -> Found {
    let schema = schema.as_object().unwrap_or(&NOTHING);
    let mut found = Found::default();
    found.of_schema.extend(check_said(schema, path, above));
    found.extend(check_additional(schema, path, above, node));
    found.extend(check_properties(schema, path, above, level, node));
    found.extend(check_juncts(schema, path, above));
    found.extend(check_items(schema, path, above, node));
    found.of_schema.extend(check_kinds(schema, path));
    found.of_schema.extend(check_keys(schema, path));
    found.of_schema.extend(check_key_values(schema, path));
    let rules = list(schema, "x-kubernetes-validations").iter().map(|rule| rule.as_object().unwrap_or(&NOTHING));
    let at = |at: usize| index(&child(path, "x-kubernetes-validations"), at);
    found
        .of_schema
        .extend(rules.clone().enumerate().flat_map(|(position, rule)| check_rule(rule, &at(position), schema)));
    if let Some(node) = node.filter(|_| found.of_schema.is_empty()) {
        let compiled = rules.zip(&node.rules).enumerate();
        found
            .of_rules
            .extend(compiled.flat_map(|(position, (said, rule))| check_compiled(said, rule, &at(position), above)));
    }
    found
}

fn check_said(schema: &Map<String, Value>, path: &str, above: &Above) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = text(schema, "type");
    if !kind.is_empty() && !TYPES.contains(&kind.as_str()) {
        errors.push(not_supported(child(path, "type"), &Value::from(kind.as_str()), &TYPES));
    }
    if let Some(reason) = above.defaults_forbidden.as_ref().filter(|_| schema.contains_key("default")) {
        errors.push(forbidden(child(path, "default"), &format!("must not be set {reason}")));
    }
    for name in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        if schema.contains_key(name) {
            errors.push(forbidden(child(path, name), &format!("{name} is not supported")));
        }
    }
    if kind == "null" {
        errors.push(forbidden(child(path, "type"), "type cannot be set to null, use nullable as an alternative"));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        errors.push(forbidden(child(path, "items"), "items must be a schema object and not an array"));
    }
    if above.inside_meta && flag(schema, "x-kubernetes-embedded-resource") {
        errors
            .push(forbidden(child(path, "x-kubernetes-embedded-resource"), "must not be used inside of resource meta"));
    }
    if flag(schema, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(forbidden(child(path, "uniqueItems"), detail));
    }
    errors
}

fn check_additional(schema: &Map<String, Value>, path: &str, above: &Above, node: Option<&Node>) -> Found {
    let mut found = Found::default();
    let Some(additional) = schema.get("additionalProperties") else { return found };
    let path = child(path, "additionalProperties");
    if !section(schema, "properties").is_empty() && *additional != true {
        found.of_schema.push(forbidden(&path, "additionalProperties and properties are mutual exclusive"));
    }
    if additional.is_object() {
        let mut above = above.clone();
        if above.inside_meta {
            above.defaults_forbidden = Some("inside additionalProperties applying to object metadata".to_owned());
        }
        found.extend(check(additional, &path, &above, Level::Below, node.and_then(|node| node.additional.node())));
    }
    found
}

fn check_properties(
    schema: &Map<String, Value>,
    path: &str,
    above: &Above,
    level: Level,
    node: Option<&Node>,
) -> Found {
    let mut found = Found::default();
    for (name, property) in section(schema, "properties") {
        let mut above = above.clone();
        let resource = level == Level::Root || flag(schema, "x-kubernetes-embedded-resource");
        if resource && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
            above.inside_meta = true;
            if level == Level::Root {
                above.defaults_forbidden = Some(format!("in top-level {name}"));
            }
        }
        let path = key(&child(path, "properties"), name);
        found.extend(check(property, &path, &above, Level::Below, node.and_then(|node| node.properties.get(name))));
    }
    found
}

fn check_juncts(schema: &Map<String, Value>, path: &str, above: &Above) -> Found {
    let mut found = Found::default();
    if let Some(not) = schema.get("not") {
        found.extend(check(not, &child(path, "not"), above, Level::Below, None));
    }
    for name in ["allOf", "oneOf", "anyOf"] {
        for (at, junct) in list(schema, name).iter().enumerate() {
            found.extend(check(junct, &index(&child(path, name), at), above, Level::Below, None));
        }
    }
    found
}

fn check_items(schema: &Map<String, Value>, path: &str, above: &Above, node: Option<&Node>) -> Found {
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else { return Found::default() };
    let mut above = above.clone();
    if text(schema, "x-kubernetes-list-type") != "map" {
        above.uncorrelatable.get_or_insert_with(|| path.to_owned());
    }
    check(items, &child(path, "items"), &above, Level::Below, node.and_then(|node| node.items.as_deref()))
}

/// The types of lists and maps.
fn check_kinds(schema: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let field = child(path, "x-kubernetes-preserve-unknown-fields");
        errors.push(invalid(field, &Value::from(false), "must be true or undefined"));
    }
    let kinds = [
        ("x-kubernetes-map-type", "object", ["atomic", "granular"].as_slice()),
        ("x-kubernetes-list-type", "array", ["atomic", "set", "map"].as_slice()),
    ];
    for (name, of, supported) in kinds {
        let Some(value) = schema.get(name).and_then(Value::as_str) else { continue };
        let kind = text(schema, "type");
        let detail = format!("must be {of} if {name} is specified");
        match kind.as_str() {
            "" => errors.push(FieldError::required(child(path, "type"), &detail)),
            kind if kind != of => errors.push(invalid(child(path, "type"), &Value::from(kind), &detail)),
            _ if value == "set" => errors.extend(check_set(section(schema, "items"), &child(path, "items"))),
            _ => {}
        }
        if !supported.contains(&value) {
            errors.push(not_supported(child(path, name), &Value::from(value), supported));
        }
    }
    errors
}

/// The items of a set are scalars or atomic.
fn check_set(items: &Map<String, Value>, path: &str) -> Option<FieldError> {
    const DETAIL: &str = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let list_type = items.get("x-kubernetes-list-type").cloned().unwrap_or_default();
    match text(items, "type").as_str() {
        "array" if !list_type.is_null() && list_type != "atomic" => {
            Some(invalid(child(path, "x-kubernetes-list-type"), &list_type, DETAIL))
        }
        "object" if text(items, "x-kubernetes-map-type") != "atomic" => {
            Some(invalid(child(path, "x-kubernetes-map-type"), &list_type, DETAIL))
        }
        _ => None,
    }
}

/// The keys of lists that are maps.
fn check_keys(schema: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let keys = texts(schema, "x-kubernetes-list-map-keys");
    let list_type = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
    let field = child(path, "x-kubernetes-list-type");
    let must_be_map = "must be map if x-kubernetes-list-map-keys is non-empty";
    match list_type {
        None if !keys.is_empty() => errors.push(FieldError::required(field, must_be_map)),
        Some(other) if !keys.is_empty() && other != "map" => {
            errors.push(invalid(field, &Value::from(other), must_be_map))
        }
        _ => {}
    }
    if list_type != Some("map") {
        return errors;
    }
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(child(path, "x-kubernetes-list-map-keys"), detail));
    }
    let items_path = child(path, "items");
    match schema.get("items").map(|items| (items, items["type"].as_str().unwrap_or_default())) {
        None => errors.push(FieldError::required(items_path, "must have a schema if x-kubernetes-list-type is map")),
        Some((items, "object")) => errors.extend(check_each_key(&keys, items, path)),
        Some((_, kind)) => {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            errors.push(invalid(child(&items_path, "type"), &Value::from(kind), detail));
        }
    }
    errors
}

fn check_each_key(keys: &[String], items: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let field = child(path, "x-kubernetes-list-map-keys");
    for (at, name) in keys.iter().enumerate() {
        match items["properties"].get(name).map(|property| property["type"].as_str().unwrap_or_default()) {
            None => errors.push(invalid(&field, &json!(keys), "entries must all be names of item properties")),
            Some("array" | "object") => {
                let path = key(&child(path, "items.properties"), name);
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(invalid(child(&path, "type"), &Value::from("object"), detail));
            }
            Some(_) => {}
        }
        if keys[..at].contains(name) {
            errors.push(invalid(&field, &json!(keys), "must not contain duplicate entries"));
        }
    }
    errors
}

/// Keys must be required or have a default.
fn check_key_values(schema: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let list_type = text(schema, "x-kubernetes-list-type");
    let Some(items) =
        schema.get("items").and_then(Value::as_object).filter(|_| matches!(list_type.as_str(), "set" | "map"))
    else {
        return errors;
    };
    let path = child(path, "items");
    if flag(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(forbidden(child(&path, "nullable"), &detail));
    }
    let keys = if list_type == "map" { texts(schema, "x-kubernetes-list-map-keys") } else { Vec::new() };
    for name in keys {
        let Some(property) = section(items, "properties").get(&name).and_then(Value::as_object) else { continue };
        let path = key(&child(&path, "properties"), &name);
        let reason = "this property is in x-kubernetes-list-map-keys, so it";
        if !texts(items, "required").contains(&name) && !property.contains_key("default") {
            let detail = format!("{reason} must have a default or be a required property");
            errors.push(FieldError::required(child(&path, "default"), &detail));
        }
        if flag(property, "nullable") {
            errors.push(forbidden(child(&path, "nullable"), &format!("{reason} cannot be nullable")));
        }
    }
    errors
}

/// The fields of a rule beside its expression.
fn check_rule(rule: &Map<String, Value>, path: &str, schema: &Map<String, Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (said, message) = (text(rule, "rule"), text(rule, "message"));
    let has_lines = |text: &str| text.trim().contains(['\n', '\r']);
    let wrong_message = |detail: &str| invalid(child(path, "message"), &Value::from(message.as_str()), detail);
    if said.trim().is_empty() {
        errors.push(FieldError::required(child(path, "rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(wrong_message("must be non-empty if specified"));
    } else if has_lines(&message) {
        errors.push(wrong_message("must not contain line breaks"));
    } else if has_lines(&said) && message.is_empty() {
        errors.push(FieldError::required(
            child(path, "message"),
            "message must be specified if rule contains line breaks",
        ));
    }
    let expression = text(rule, "messageExpression");
    if !expression.is_empty() && expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(child(path, "messageExpression"), detail));
    }
    if let Some(reason) = rule.get("reason").filter(|reason| !REASONS.iter().any(|known| *reason == known)) {
        errors.push(not_supported(child(path, "reason"), reason, &REASONS));
    }
    let field = text(rule, "fieldPath");
    if !field.is_empty() && !rules::path_is_valid(&field, &Node::parse(&Value::Object(schema.clone()))) {
        errors.push(invalid(child(path, "fieldPath"), &Value::from(field), "must be a valid path"));
    }
    errors
}

fn check_compiled(said: &Map<String, Value>, rule: &Rule, path: &str, above: &Above) -> Vec<FieldError> {
    let (of_rule, of_message) = rule.violations();
    let mut errors = Vec::new();
    errors.extend(of_rule.map(|violation| invalid_as(child(path, "rule"), &shown(said), violation)));
    errors.extend(of_message.map(|violation| invalid_as(child(path, "messageExpression"), &shown(said), violation)));
    match (&above.uncorrelatable, said.get("optionalOldSelf")) {
        (Some(within), _) if rule.uses_old_self => {
            let detail = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            errors.push(invalid(child(path, "rule"), &Value::from(text(said, "rule")), &detail));
        }
        (_, Some(optional)) if !rule.uses_old_self => {
            errors.push(invalid(
                child(path, "optionalOldSelf"),
                optional,
                "may not be set if oldSelf is not used in rule",
            ));
        }
        _ => {}
    }
    errors
}

/// A rule as the API server renders it: with Go's names of the fields.
fn shown(rule: &Map<String, Value>) -> String {
    let of = |name: &str| json(&Value::from(text(rule, name)));
    let or_null = |name: &str| json(rule.get(name).unwrap_or(&Value::Null));
    format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}}"#,
        of("rule"),
        of("message"),
        of("messageExpression"),
        or_null("reason"),
        of("fieldPath"),
        or_null("optionalOldSelf"),
    )
}
