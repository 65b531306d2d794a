//! The differences between two JSON values, path by path. Parity and conformance name the sides and add their own rules for lists.

use std::collections::BTreeSet;

use serde_json::Value;

/// One value that differs. `None`: there is no such value.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Field names with dots between them; `[0]` is an element of a list, and a rule may name elements otherwise.
    pub path: String,
    pub expected: Option<Value>,
    pub found: Option<Value>,
}

/// Compares two lists at a path. `None`: element by element.
pub type ListRule = fn(&str, &[Value], &[Value]) -> Option<Vec<Difference>>;

/// All differences, with lists compared element by element.
pub fn differences(expected: &Value, found: &Value) -> Vec<Difference> {
    differences_by(expected, found, |_, _, _| None)
}

/// All differences, with lists compared by a rule where it applies.
pub fn differences_by(expected: &Value, found: &Value, rule: ListRule) -> Vec<Difference> {
    differences_at("", Some(expected), Some(found), rule)
}

/// All differences of two values at a path.
pub fn differences_at(path: &str, expected: Option<&Value>, found: Option<&Value>, rule: ListRule) -> Vec<Difference> {
    if expected == found {
        return Vec::new();
    }
    match (expected, found) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let below = |key: &String| {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differences_at(&path, one.get(key), other.get(key), rule)
            };
            one.keys().chain(other.keys()).collect::<BTreeSet<_>>().into_iter().flat_map(below).collect()
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => rule(path, one, other).unwrap_or_else(|| {
            let at = |index| differences_at(&format!("{path}[{index}]"), one.get(index), other.get(index), rule);
            (0..one.len().max(other.len())).flat_map(at).collect()
        }),
        _ => vec![Difference { path: path.into(), expected: expected.cloned(), found: found.cloned() }],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_value_that_differs_is_named_by_its_path() {
        let paths = |expected: Value, found: Value| -> Vec<String> {
            differences(&expected, &found).into_iter().map(|difference| difference.path).collect()
        };
        assert_eq!(paths(json!({ "a": [1] }), json!({ "a": [1] })), Vec::<String>::new());
        assert_eq!(paths(json!({ "a": { "b": [1, 2] } }), json!({ "a": { "b": [1], "c": 3 } })), ["a.b[1]", "a.c"]);
    }

    #[test]
    fn a_rule_compares_the_lists_that_it_knows() {
        let as_sets: ListRule = |path, one, other| (path == "set" && one.len() == other.len()).then(Vec::new);
        let (one, other) = (json!({ "set": [1, 2], "list": [1, 2] }), json!({ "set": [2, 1], "list": [1, 3] }));
        let expected = Difference { path: "list[1]".into(), expected: Some(json!(2)), found: Some(json!(3)) };
        assert_eq!(differences_by(&one, &other, as_sets), [expected]);
    }
}
