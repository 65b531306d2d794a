//! Paths of printer columns: `.spec.minReplicaCount`, `.status.conditions[?(@.type=="Ready")].status`.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::age;

/// A parsed path; the subset of JSONPath that definitions use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CellPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Index(usize),
    Every,
    /// The items whose field has this text.
    Where {
        field: String,
        text: String,
    },
}

impl CellPath {
    /// Parses a path. What cannot be read selects nothing.
    pub(crate) fn parse(path: &str) -> Self {
        let mut steps = Vec::new();
        let mut rest = path.trim_start_matches('$');
        while !rest.is_empty() {
            let Some((step, after)) = parse_step(rest) else { return Self(vec![Step::Field(String::new())]) };
            steps.push(step);
            rest = after;
        }
        Self(steps)
    }

    /// The cell of an object; null where there is nothing at the path.
    pub(super) fn show(&self, object: &Value, kind: &str, now: DateTime<Utc>) -> Value {
        let found = self
            .0
            .iter()
            .fold(vec![object], |found, step| found.into_iter().flat_map(|value| step.select(value)).collect());
        let found: Vec<&Value> = found.into_iter().filter(|value| !value.is_null()).collect();
        match (found.as_slice(), kind) {
            ([], _) => Value::Null,
            ([one, ..], "date") => json!(age::since(one, now)),
            ([one, ..], "integer") if one.is_f64() => json!(one.as_f64().unwrap_or_default() as i64),
            ([one, ..], "integer" | "number" | "boolean") => (*one).clone(),
            (all, _) => json!(all.iter().map(|value| in_text(value)).collect::<Vec<_>>().join(",")),
        }
    }
}

/// As text; lists and objects as JSON.
fn in_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The first step, and what follows it.
fn parse_step(path: &str) -> Option<(Step, &str)> {
    if let Some(rest) = path.strip_prefix('[') {
        let (inside, after) = split_bracket(rest)?;
        return Some((parse_bracket(inside)?, after));
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    // A dot in a name is escaped.
    let mut name = String::new();
    let mut characters = path.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            '.' | '[' => return (!name.is_empty()).then(|| (Step::Field(name), &path[at..])),
            _ => name.push(character),
        }
    }
    (!name.is_empty()).then_some((Step::Field(name), ""))
}

/// What is inside a bracket, and what follows it. Texts may have brackets.
fn split_bracket(rest: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, character) in rest.char_indices() {
        match (character, quote) {
            ('"' | '\'', None) => quote = Some(character),
            (_, Some(open)) if open == character => quote = None,
            (']', None) => return Some((&rest[..at], &rest[at + 1..])),
            _ => {}
        }
    }
    None
}

fn parse_bracket(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::Every);
    }
    if let Some(condition) = inside.strip_prefix("?(@.").and_then(|rest| rest.strip_suffix(')')) {
        let (field, text) = condition.split_once("==")?;
        let text = text.trim().trim_matches(['"', '\'']).to_owned();
        return Some(Step::Where { field: field.trim().to_owned(), text });
    }
    match inside.trim_matches(['"', '\'']) {
        name if name.len() < inside.len() => Some(Step::Field(name.to_owned())),
        index => index.parse().ok().map(Step::Index),
    }
}

impl Step {
    fn select<'a>(&'a self, value: &'a Value) -> Vec<&'a Value> {
        let items = || value.as_array().into_iter().flatten();
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => value.get(index).into_iter().collect(),
            Self::Every => items().collect(),
            Self::Where { field, text } => items().filter(|item| item[field.as_str()] == text.as_str()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_show_what_is_at_their_path() {
        let object = json!({
            "metadata": { "creationTimestamp": "2026-06-01T12:00:00Z", "annotations": { "a.b/c": "x" } },
            "spec": { "min": 2, "ratio": 1.5, "on": true, "names": ["a", "b"] },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }, { "type": "A]B", "status": "no" }] },
        });
        let now = "2026-06-01T12:05:00Z".parse().unwrap();
        let rows = [
            (".spec.min", "integer", json!(2)),
            (".spec.min", "string", json!("2")),
            (".spec.ratio", "integer", json!(1)),
            (".spec.on", "boolean", json!(true)),
            (".spec.none", "string", Value::Null),
            (".spec.names", "string", json!("[\"a\",\"b\"]")),
            (".spec.names[1]", "string", json!("b")),
            (".spec.names[*]", "string", json!("a,b")),
            (".status.conditions[?(@.type==\"Ready\")].status", "string", json!("True")),
            (".status.conditions[?(@.type==\"A]B\")].status", "string", json!("no")),
            (".metadata.annotations['a.b/c']", "string", json!("x")),
            (".metadata.annotations.a\\.b/c", "string", json!("x")),
            (".metadata.creationTimestamp", "date", json!("5m")),
            (".spec[", "string", Value::Null),
        ];
        for (path, kind, expected) in rows {
            assert_eq!(CellPath::parse(path).show(&object, kind, now), expected, "{path}");
        }
    }
}
