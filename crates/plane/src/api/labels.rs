//! Label selectors that are objects, as text.

use serde_json::Value;

use crate::api::meta;

/// A label selector as text: sorted by key, as the API server writes it.
pub(crate) fn text(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut parts: Vec<(String, String)> = labels.map(|(key, value)| (key.clone(), pair(key, value))).collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or("").to_owned();
        let text = requirement(&key, expression);
        parts.push((key, text));
    }
    parts.sort();
    joined(parts.into_iter().map(|(_, part)| part))
}

/// A map of labels as text.
pub(crate) fn map_text(labels: &Value) -> String {
    let mut pairs: Vec<_> = labels.as_object().into_iter().flatten().map(|(key, value)| pair(key, value)).collect();
    pairs.sort();
    joined(pairs)
}

fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().collect::<Vec<_>>().join(",")
}

fn pair(key: &str, value: &Value) -> String {
    format!("{key}={}", value.as_str().unwrap_or(""))
}

fn requirement(key: &str, expression: &Value) -> String {
    let mut values: Vec<_> = meta::texts(&expression["values"]).collect();
    values.sort_unstable();
    let values = values.join(",");
    match expression["operator"].as_str() {
        Some("In") => format!("{key} in ({values})"),
        Some("NotIn") => format!("{key} notin ({values})"),
        Some("DoesNotExist") => format!("!{key}"),
        _ => key.to_owned(),
    }
}
