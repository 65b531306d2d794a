//! JSON merge patches: the smallest change that turns one value into another.

use serde_json::{Map, Value};

/// The merge patch from one value to another, or `None` when they are equal.
pub fn merge_patch(from: &Value, to: &Value) -> Option<Value> {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            let mut patch = Map::new();
            for (key, value) in to {
                if let Some(change) = merge_patch(from.get(key).unwrap_or(&Value::Null), value) {
                    patch.insert(key.clone(), change);
                }
            }
            for key in from.keys().filter(|key| !to.contains_key(*key)) {
                patch.insert(key.clone(), Value::Null);
            }
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        _ if from == to => None,
        _ => Some(to.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_differences_are_patched() {
        let rows = [
            ("nothing", json!({ "a": 1 }), json!({ "a": 1 }), None),
            ("a change", json!({ "a": 1, "b": 2 }), json!({ "a": 1, "b": 3 }), Some(json!({ "b": 3 }))),
            ("an addition", json!({}), json!({ "a": { "b": 1 } }), Some(json!({ "a": { "b": 1 } }))),
            ("a removal", json!({ "a": 1 }), json!({}), Some(json!({ "a": null }))),
            (
                "deep",
                json!({ "a": { "b": 1, "c": 2 } }),
                json!({ "a": { "c": 3 } }),
                Some(json!({ "a": { "b": null, "c": 3 } })),
            ),
            ("a list is one value", json!({ "a": [1, 2] }), json!({ "a": [1] }), Some(json!({ "a": [1] }))),
        ];
        for (name, from, to, expected) in rows {
            assert_eq!(merge_patch(&from, &to), expected, "{name}");
        }
    }
}
