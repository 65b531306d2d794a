//! The difference between two answers, path by path.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// One value that differs. None: there is no such value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) real: Option<Value>,
    pub(crate) plane: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<Value>| value.as_ref().map_or("(absent)".to_owned(), Value::to_string);
        write!(out, "    @ {}\n    - {}\n    + {}", self.path, text(&self.real), text(&self.plane))
    }
}

/// All differences between what the real API server answered and what the plane did.
pub(crate) fn differences(real: &Value, plane: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", Some(real), Some(plane), &mut found);
    found
}

fn compare(path: &str, real: Option<&Value>, plane: Option<&Value>, found: &mut Vec<Difference>) {
    if real == plane {
        return;
    }
    match (real, plane) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            for key in one.keys().chain(other.keys()).collect::<BTreeSet<_>>() {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(&below, one.get(key), other.get(key), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for index in 0..one.len().max(other.len()) {
                compare(&format!("{path}[{index}]"), one.get(index), other.get(index), found);
            }
        }
        _ => found.push(Difference { path: path.into(), real: real.cloned(), plane: plane.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_value_that_differs_is_named_by_its_path() {
        let told = |real: Value, plane: Value| -> Vec<String> {
            differences(&real, &plane).iter().map(|difference| difference.path.clone()).collect()
        };
        assert_eq!(told(json!({ "a": [1] }), json!({ "a": [1] })), Vec::<String>::new());
        assert_eq!(told(json!({ "a": { "b": [1, 2] } }), json!({ "a": { "b": [1], "c": 3 } })), ["a.b[1]", "a.c"]);
    }
}
