//! The variables of a script: `${namespace}`, `${group}`, and the responses to earlier steps.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// The values of the variables.
#[derive(Debug)]
pub(crate) struct Variables(BTreeMap<String, Value>);

impl Variables {
    /// The variables of a script in this namespace.
    pub(crate) fn new(namespace: &str) -> Self {
        let group = format!("{namespace}.example.com");
        let variables = [
            ("core", format!("/api/v1/namespaces/{namespace}")),
            ("apps", format!("/apis/apps/v1/namespaces/{namespace}")),
            ("crds", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned()),
            ("own", format!("/apis/{group}/v1/namespaces/{namespace}")),
            ("keda", format!("/apis/keda.sh/v1alpha1/namespaces/{namespace}")),
            ("group", group),
            ("namespace", namespace.to_owned()),
        ];
        Self(variables.into_iter().map(|(name, word)| (name.to_owned(), word.into())).collect())
    }

    /// Sets a variable.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// A value in which all variables, in keys too, are replaced. A text that is one variable becomes its value.
    pub(crate) fn fill(&self, value: &Value) -> anyhow::Result<Value> {
        Ok(match value {
            Value::String(text) => match only_variable(text) {
                Some(variable) => self.resolve(variable)?.clone(),
                None => self.text(text)?.into(),
            },
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?,
            Value::Object(fields) => {
                let filled = fields.iter().map(|(key, value)| Ok((self.text(key)?, self.fill(value)?)));
                Value::Object(filled.collect::<anyhow::Result<_>>()?)
            }
            other => other.clone(),
        })
    }

    /// A text in which all variables are replaced.
    pub(crate) fn text(&self, text: &str) -> anyhow::Result<String> {
        let mut pieces = text.split("${");
        let mut filled = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (variable, rest) = piece.split_once('}').with_context(|| format!("an open variable in `{text}`"))?;
            match self.resolve(variable)? {
                Value::String(word) => filled.push_str(word),
                other => filled.push_str(&other.to_string()),
            }
            filled.push_str(rest);
        }
        Ok(filled)
    }

    fn resolve(&self, variable: &str) -> anyhow::Result<&Value> {
        let (name, path) = variable.split_once('.').unwrap_or((variable, ""));
        let kept = self.0.get(name).with_context(|| format!("no step is called `{name}`"))?;
        find(kept, path).with_context(|| format!("`{name}` has no `{path}`: {kept}"))
    }
}

fn only_variable(text: &str) -> Option<&str> {
    text.strip_prefix("${")?.strip_suffix('}').filter(|inner| !inner.contains('}'))
}

/// The value at a path: `status.conditions[type=Ready].status`, `items[0].metadata`.
pub(crate) fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let steps = path.split('.').flat_map(|part| part.split('[')).filter(|step| !step.is_empty());
    steps.into_iter().try_fold(value, |value, step| match step.strip_suffix(']') {
        None => value.get(step),
        Some(inside) => match inside.split_once('=') {
            None => value.get(inside.parse::<usize>().ok()?),
            Some((key, wanted)) => value.as_array()?.iter().find(|item| item.get(key) == Some(&json!(wanted))),
        },
    })
}

/// Applies a merge patch: null removes a field, objects are merged, everything else is replaced.
pub(crate) fn apply_merge_patch(value: &mut Value, patch: &Value) {
    json_patch::merge(value, patch);
}

/// The method and the path of a call.
pub(crate) fn method_and_path(call: &str) -> anyhow::Result<(&str, &str)> {
    match call.split_once(' ') {
        Some(parts) => Ok(parts),
        None => bail!("`{call}` is not a method and a path"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_in_texts_keys_and_whole_values() {
        let mut variables = Variables::new("ns");
        variables
            .set("made", json!({ "metadata": { "uid": "u", "n": 3 }, "items": [{ "type": "A", "status": "True" }] }));
        let rows = [
            (json!("${core}/x"), json!("/api/v1/namespaces/ns/x")),
            (json!({ "${group}": ["${made.metadata.uid}-${namespace}"] }), json!({ "ns.example.com": ["u-ns"] })),
            (json!("${made.metadata.n}"), json!(3)),
            (json!("n=${made.metadata.n}"), json!("n=3")),
            (json!("${made.items[0].status}"), json!("True")),
            (json!("${made.items[type=A].status}"), json!("True")),
        ];
        for (text, expected) in rows {
            assert_eq!(variables.fill(&text).unwrap(), expected, "{text}");
        }
        assert!(variables.text("${unknown.metadata}").is_err());
        assert!(variables.text("${made.nothing}").is_err());
    }
}
