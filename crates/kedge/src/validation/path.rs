//! Field paths in the notation of the API server.

use kedge_webhooks::violation::{FieldPath, Step};
use serde_json::Value;

/// A path as messages write it: `spec.triggers[0].metadata.some.key`. Keys may contain dots: the object shows where
/// they end. The path of the object itself is `<nil>`.
pub(super) fn parse_path(text: &str, object: &Value) -> FieldPath {
    let mut path = FieldPath::default();
    let mut at = Some(object);
    let mut rest = if text == "<nil>" { "" } else { text };
    while !rest.is_empty() {
        if let Some((inside, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            (path, at) = match inside.parse::<usize>() {
                Ok(index) if !at.is_some_and(Value::is_object) => (path.index(index), at.and_then(|at| at.get(index))),
                _ => (path.key(inside.trim_matches('"')), at.and_then(|at| at.get(inside.trim_matches('"')))),
            };
            rest = after;
        } else {
            let start = rest.strip_prefix('.').unwrap_or(rest);
            let key = first_key(start, at);
            rest = if key.is_empty() { "" } else { &start[key.len()..] };
            (path, at) = (path.key(key), at.and_then(|at| at.get(key)));
        }
    }
    path
}

/// The first key of a path: the longest that the object has, else all up to the next separator.
fn first_key<'p>(path: &'p str, at: Option<&Value>) -> &'p str {
    let ends = |key: &&String| {
        path.strip_prefix(key.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let known =
        at.and_then(Value::as_object).into_iter().flat_map(|map| map.keys()).filter(ends).map(String::len).max();
    let length = known.unwrap_or_else(|| path.find(['.', '[']).unwrap_or(path.len()));
    &path[..length]
}

/// The value at a path, if there is one.
pub(super) fn value_at<'v>(object: &'v Value, path: &FieldPath) -> Option<&'v Value> {
    path.0.iter().try_fold(object, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

/// The value at a path, mutable.
pub(super) fn value_at_mut<'v>(object: &'v mut Value, path: &FieldPath) -> Option<&'v mut Value> {
    path.0.iter().try_fold(object, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })
}

/// A path appended to another.
pub(super) fn below(base: &FieldPath, path: &FieldPath) -> FieldPath {
    FieldPath(base.0.iter().chain(&path.0).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_message_is_parsed() {
        let object =
            serde_json::json!({ "metadata": { "annotations": { "a.b/c": true, "0": 1 } }, "spec": [{ "x": 1 }] });
        let annotations = FieldPath::new("metadata.annotations");
        let rows = [
            (
                "spec.triggers[0].metadata[a.b].c",
                FieldPath::new("spec.triggers").index(0).key("metadata").key("a.b").key("c"),
            ),
            ("metadata.annotations.a.b/c", annotations.clone().key("a.b/c")),
            ("metadata.annotations[0]", annotations.key("0")),
            ("spec[0].x", FieldPath::new("spec").index(0).key("x")),
            ("", FieldPath::default()),
            ("<nil>", FieldPath::default()),
            ("spec.", FieldPath::new("spec").key("")),
        ];
        for (text, expected) in rows {
            assert_eq!(parse_path(text, &object), expected, "{text}");
        }
    }
}
