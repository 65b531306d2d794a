//! values.schema.json: helm refuses values by it before anything is rendered. What is not in it is refused too.

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

use super::values::{Entry, ValueKind};
use super::{KedaValue, Outcome, dotted};

/// The schema of these values.
pub(super) fn render(entries: &[Entry], kedas: &[KedaValue]) -> anyhow::Result<Value> {
    let mut root = section(&Value::Null);
    root["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    root["title"] = json!("Values of Kedge's chart");
    for entry in entries {
        let node = match entry.kind {
            ValueKind::Section => section(&entry.rules),
            ValueKind::Value => value(entry)?,
        };
        insert(&mut root, &entry.path, node)?;
    }
    for keda in kedas {
        let path: Vec<String> = keda.value.split('.').map(str::to_owned).collect();
        let outcome = if keda.then == Outcome::Ignored { "Has no effect here" } else { "Refused" };
        insert(&mut root, &path, json!({ "description": format!("{outcome}: {}.", keda.because) }))?;
    }
    Ok(root)
}

fn section(rules: &Value) -> Value {
    with_rules(json!({ "type": "object", "additionalProperties": false, "properties": {} }), rules)
}

fn value(entry: &Entry) -> anyhow::Result<Value> {
    let kind = match &entry.default {
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Null => bail!("the value {} has no default; give it one", dotted(&entry.path)),
    };
    let plain = json!({ "description": entry.description, "type": kind, "default": entry.default });
    Ok(with_rules(plain, &entry.rules))
}

fn with_rules(mut node: Value, rules: &Value) -> Value {
    for (key, rule) in rules.as_object().into_iter().flatten() {
        node[key] = rule.clone();
    }
    node
}

/// Puts a node in its place, below sections that may have to be made.
fn insert(root: &mut Value, path: &[String], node: Value) -> anyhow::Result<()> {
    let mut here = root;
    for key in &path[..path.len() - 1] {
        here = properties(here, path)?.entry(key).or_insert_with(|| section(&Value::Null));
    }
    let last = path.last().context("a path has an end")?;
    if properties(here, path)?.insert(last.clone(), node).is_some() {
        bail!("the value {} is in both values.yaml and in keda-values.yaml", dotted(path));
    }
    Ok(())
}

fn properties<'a>(section: &'a mut Value, path: &[String]) -> anyhow::Result<&'a mut Map<String, Value>> {
    let properties = section["properties"].as_object_mut();
    properties.with_context(|| format!("{} lies inside of a value that is given as a whole", dotted(path)))
}
