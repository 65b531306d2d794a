//! JSON as CEL values, typed by the schema: fields that it does not specify are left out.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use cel::Value as Cel;
use cel::objects::Key;
use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde_json::{Map, Value};

use super::{Root, root_of};
use crate::duration;
use crate::node::Node;

/// Reserved words of CEL, which are escaped in field names.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

pub(super) fn to_cel(value: &Value, node: &Node, root: Root) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(flag) => Cel::Bool(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if node.kind != "number" => Cel::Int(whole),
            _ => Cel::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => text_of(text, node),
        Value::Array(items) => Cel::List(items_of(items, node).into()),
        Value::Object(fields) => Cel::Map(fields_of(fields, node, root).into()),
    }
}

fn text_of(text: &str, node: &Node) -> Cel {
    let special = match node.format.as_str() {
        _ if node.kind != "string" => None,
        "duration" => duration::parse(text).map(Cel::Duration),
        "date" => {
            NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().and_then(|day| day.and_hms_opt(0, 0, 0)).map(timestamp)
        }
        "date-time" => DateTime::parse_from_rfc3339(text).ok().map(Cel::Timestamp),
        "byte" => URL_SAFE.decode(text).ok().map(|bytes| Cel::Bytes(bytes.into())),
        _ => None,
    };
    special.unwrap_or_else(|| Cel::from(text))
}

fn timestamp(time: NaiveDateTime) -> Cel {
    Cel::Timestamp(time.and_utc().fixed_offset())
}

fn items_of(items: &[Value], node: &Node) -> Vec<Cel> {
    let Some(node) = node.items.as_deref() else { return Vec::new() };
    items.iter().map(|item| to_cel(item, node, root_of(node))).collect()
}

fn fields_of(fields: &Map<String, Value>, node: &Node, root: Root) -> HashMap<Key, Cel> {
    let additional = node.additional.node().filter(|_| node.properties.is_empty());
    let field = |(name, value): (&String, &Value)| -> Option<(Key, Cel)> {
        if root == Root::Resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            return Some((name.as_str().into(), meta(name, value)));
        }
        match (node.properties.get(name), additional) {
            (Some(property), _) => Some((escaped(name)?.into(), to_cel(value, property, root_of(property)))),
            (None, Some(additional)) => Some((name.as_str().into(), to_cel(value, additional, root_of(additional)))),
            (None, None) => None,
        }
    };
    fields.iter().filter_map(field).collect()
}

/// Of metadata, rules see only `name` and `generateName`.
fn meta(name: &str, value: &Value) -> Cel {
    let names = |key: &&str| value.get(*key).is_some();
    match (name, value) {
        ("metadata", _) => {
            let of = |key: &str| (Key::from(key), Cel::from(value[key].as_str().unwrap_or_default()));
            let visible: HashMap<Key, Cel> =
                ["name", "generateName"].iter().filter(|key| names(key)).map(|key| of(key)).collect();
            Cel::Map(visible.into())
        }
        _ => Cel::from(value.as_str().unwrap_or_default()),
    }
}

/// The escaped name of a field in rules; none if rules cannot access it.
pub(super) fn escaped(name: &str) -> Option<String> {
    let usual = |character: char| character.is_ascii_alphanumeric() || "_-./".contains(character);
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) || !name.chars().all(usual) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let escaped = name.replace("__", "__underscores__");
    Some(escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"))
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn field_names_are_escaped_for_rules() {
        let rows = [
            ("name", Some("name")),
            ("namespace", Some("__namespace__")),
            ("a-b.c/d", Some("a__dash__b__dot__c__slash__d")),
            ("a__b", Some("a__underscores__b")),
            ("1a", None),
            ("a b", None),
            ("", None),
        ];
        for (name, expected) in rows {
            assert_eq!(escaped(name).as_deref(), expected, "{name}");
        }
    }
}
