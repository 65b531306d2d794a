//! A structural schema, parsed: one node for each value.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::format::Format;
use super::pattern;
use super::rule::Rule;

/// Deeper schemas are rejected: each level costs every walk over an object a level of the stack.
pub(super) const DEPTH_MAX: usize = 64;

/// The schema of one value.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// As declared; empty if nothing was.
    pub(super) kind: String,
    pub(super) int_or_string: bool,
    pub(super) nullable: bool,
    pub(super) default: Option<Value>,
    pub(super) format: String,
    pub(super) checked_format: Option<Format>,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<i64>,
    pub(super) max_length: Option<i64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) min_items: Option<i64>,
    pub(super) max_items: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) min_properties: Option<i64>,
    pub(super) max_properties: Option<i64>,
    pub(super) required: Vec<String>,
    pub(super) one_of_values: Vec<Value>,
    pub(super) properties: BTreeMap<String, Node>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Node>>,
    pub(super) all_of: Vec<Node>,
    pub(super) any_of: Vec<Node>,
    pub(super) one_of: Vec<Node>,
    pub(super) not: Option<Box<Node>>,
    pub(super) preserve_unknown: bool,
    pub(super) embedded: bool,
    pub(super) list: List,
    /// Compiled by `rules`, when all nodes are parsed.
    pub(super) rules: Vec<Rule>,
}

/// `additionalProperties`.
#[derive(Debug, Default)]
pub(super) enum Additional {
    #[default]
    Unsaid,
    Anything,
    Nothing,
    Like(Box<Node>),
}

impl Additional {
    pub(super) fn node(&self) -> Option<&Node> {
        match self {
            Self::Like(node) => Some(node),
            _ => None,
        }
    }
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum List {
    #[default]
    Atomic,
    Set,
    Map(Vec<String>),
}

/// A regular expression as written, and compiled if it can be.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) regex: Result<Regex, String>,
}

impl Node {
    /// Parses a schema, ignoring what is invalid: [`super::validate_definition`] reports that.
    pub(super) fn parse(schema: &Value) -> Node {
        let Value::Object(fields) = schema else { return Node::default() };
        let mut node = Node::parse_limits(fields);
        node.properties = map_of_nodes(fields.get("properties"));
        node.additional = parse_additional(fields.get("additionalProperties"));
        node.items = fields.get("items").filter(|items| items.is_object()).map(|items| Box::new(Node::parse(items)));
        node.all_of = list_of_nodes(fields.get("allOf"));
        node.any_of = list_of_nodes(fields.get("anyOf"));
        node.one_of = list_of_nodes(fields.get("oneOf"));
        node.not = fields.get("not").map(|not| Box::new(Node::parse(not)));
        node.checked_format = Format::named(&node.kind, node.int_or_string, &node.format);
        node
    }

    fn parse_limits(fields: &Map<String, Value>) -> Node {
        Node {
            kind: text(fields, "type"),
            int_or_string: flag(fields, "x-kubernetes-int-or-string"),
            nullable: flag(fields, "nullable"),
            default: fields.get("default").filter(|default| !default.is_null()).cloned(),
            format: text(fields, "format"),
            minimum: number(fields, "minimum"),
            exclusive_minimum: flag(fields, "exclusiveMinimum"),
            maximum: number(fields, "maximum"),
            exclusive_maximum: flag(fields, "exclusiveMaximum"),
            multiple_of: number(fields, "multipleOf"),
            min_length: integer(fields, "minLength"),
            max_length: integer(fields, "maxLength"),
            pattern: Some(text(fields, "pattern")).filter(|text| !text.is_empty()).map(Pattern::parse),
            min_items: integer(fields, "minItems"),
            max_items: integer(fields, "maxItems"),
            unique_items: flag(fields, "uniqueItems"),
            min_properties: integer(fields, "minProperties"),
            max_properties: integer(fields, "maxProperties"),
            required: texts(fields, "required"),
            one_of_values: fields.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            preserve_unknown: flag(fields, "x-kubernetes-preserve-unknown-fields"),
            embedded: flag(fields, "x-kubernetes-embedded-resource"),
            list: parse_list(fields),
            ..Node::default()
        }
    }

    /// The types that values may have: two for numbers that may be names.
    pub(super) fn types(&self) -> &[&str] {
        match self.kind.as_str() {
            _ if self.int_or_string => &["integer", "string"],
            "array" => &["array"],
            "boolean" => &["boolean"],
            "integer" => &["integer"],
            "null" => &["null"],
            "number" => &["number"],
            "object" => &["object"],
            "string" => &["string"],
            _ => &[],
        }
    }

    /// The schema of a field: of the property of that name, or of additional properties.
    pub(super) fn field(&self, name: &str) -> Option<&Node> {
        self.properties.get(name).or_else(|| self.additional.node())
    }

    /// The schemas of all values directly below, outside of junctors.
    pub(super) fn below(&self) -> impl Iterator<Item = &Node> {
        self.properties.values().chain(self.additional.node()).chain(self.items.as_deref())
    }
}

impl Pattern {
    fn parse(text: String) -> Self {
        let regex = pattern::compile(&text);
        Self { text, regex }
    }
}

/// How many levels a schema, or any value, has.
pub(super) fn depth(value: &Value) -> usize {
    1 + match value {
        Value::Object(fields) => fields.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn parse_additional(value: Option<&Value>) -> Additional {
    match value {
        Some(Value::Bool(true)) => Additional::Anything,
        Some(Value::Bool(false)) => Additional::Nothing,
        Some(schema @ Value::Object(_)) => Additional::Like(Box::new(Node::parse(schema))),
        _ => Additional::Unsaid,
    }
}

fn parse_list(fields: &Map<String, Value>) -> List {
    match text(fields, "x-kubernetes-list-type").as_str() {
        "set" => List::Set,
        "map" => List::Map(texts(fields, "x-kubernetes-list-map-keys")),
        _ => List::Atomic,
    }
}

fn map_of_nodes(value: Option<&Value>) -> BTreeMap<String, Node> {
    let fields = value.and_then(Value::as_object).into_iter().flatten();
    fields.map(|(name, schema)| (name.clone(), Node::parse(schema))).collect()
}

fn list_of_nodes(value: Option<&Value>) -> Vec<Node> {
    value.and_then(Value::as_array).into_iter().flatten().map(Node::parse).collect()
}

pub(super) fn text(fields: &Map<String, Value>, name: &str) -> String {
    fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub(super) fn texts(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    let items = fields.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(super) fn flag(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn number(fields: &Map<String, Value>, name: &str) -> Option<f64> {
    fields.get(name).and_then(Value::as_f64)
}

fn integer(fields: &Map<String, Value>, name: &str) -> Option<i64> {
    fields.get(name).and_then(Value::as_i64)
}
