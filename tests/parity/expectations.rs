//! What a step waits for: values in a capture, by short names.
//!
//! | expectation | means |
//! |---|---|
//! | `Ready`, `Active.reason` | a field of a condition; its status if none is named |
//! | `replicas`, `replicas.other` | the replicas of the target `web`, or of another |
//! | `hpas` | the names of all HPAs, with commas; null if there is none |
//! | `exists` | whether the ScaledObject is there |
//! | `event.REASON` | whether there is such an event |
//! | `so.status.hpaName`, `hpa.spec.maxReplicas` | a path in the ScaledObject, or in the first HPA |
//!
//! The prefix `x:` selects the ScaledObject `x` instead of `so`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The expectations that are not met yet, with the actual values.
pub(crate) fn missing(until: &BTreeMap<String, Value>, seen: &Value) -> BTreeMap<String, Value> {
    let differs = |(expectation, wanted): (&String, &Value)| {
        let value = value_of(expectation, seen);
        (value != *wanted).then(|| (expectation.clone(), value))
    };
    until.iter().filter_map(differs).collect()
}

fn value_of(expectation: &str, seen: &Value) -> Value {
    let (name, expectation) = expectation.split_once(':').unwrap_or(("so", expectation));
    let object = &seen["scaledObjects"][name];
    let (head, rest) = expectation.split_once('.').unwrap_or((expectation, ""));
    match head {
        "replicas" => replicas(seen, if rest.is_empty() { "web" } else { rest }),
        "event" => seen["events"].as_array().into_iter().flatten().any(|event| event["reason"] == rest).into(),
        "hpas" => hpas(seen),
        "exists" => object.is_object().into(),
        "so" => at(object, rest),
        "hpa" => at(seen["hpas"].as_object().and_then(|hpas| hpas.values().next()).unwrap_or(&Value::Null), rest),
        condition => {
            let conditions = object["status"]["conditions"].as_array();
            let found = conditions.into_iter().flatten().find(|found| found["type"] == condition);
            at(found.unwrap_or(&Value::Null), if rest.is_empty() { "status" } else { rest })
        }
    }
}

fn replicas(seen: &Value, name: &str) -> Value {
    let targets = seen["targets"].as_object().into_iter().flatten();
    let has_name = |key: &str| key.split_once('/').is_some_and(|(_, found)| found == name);
    targets.into_iter().find(|(key, _)| has_name(key)).map(|(_, replicas)| replicas.clone()).unwrap_or_default()
}

fn hpas(seen: &Value) -> Value {
    let names: Vec<&str> = seen["hpas"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    if names.is_empty() { Value::Null } else { json!(names.join(",")) }
}

/// The value at a path of names and indices with dots between them.
fn at(value: &Value, path: &str) -> Value {
    let step = |value: &Value, part: &str| match value {
        Value::Array(items) => part.parse().ok().and_then(|index: usize| items.get(index)).cloned().unwrap_or_default(),
        other => other[part].clone(),
    };
    path.split('.').fold(value.clone(), |value, part| step(&value, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Value {
        json!({
            "scaledObjects": {
                "so": { "status": { "hpaName": "h", "conditions": [{ "type": "Ready", "status": "True", "reason": "Fine" }] } },
                "x": { "status": {} },
            },
            "hpas": { "h": { "spec": { "metrics": [{ "type": "External" }] } }, "i": {} },
            "targets": { "Deployment/web": 2, "Widget/other": 0 },
            "events": [{ "reason": "KEDAScalerFailed" }],
        })
    }

    #[test]
    fn each_expectation_names_a_value() {
        let rows = [
            ("Ready", json!("True")),
            ("Ready.reason", json!("Fine")),
            ("Active", Value::Null),
            ("x:Ready", Value::Null),
            ("replicas", json!(2)),
            ("replicas.other", json!(0)),
            ("replicas.absent", Value::Null),
            ("hpas", json!("h,i")),
            ("exists", json!(true)),
            ("x:exists", json!(true)),
            ("absent:exists", json!(false)),
            ("event.KEDAScalerFailed", json!(true)),
            ("event.Other", json!(false)),
            ("so.status.hpaName", json!("h")),
            ("hpa.spec.metrics.0.type", json!("External")),
            ("hpa.spec.metrics.1.type", Value::Null),
        ];
        for (expectation, expected) in rows {
            assert_eq!(value_of(expectation, &seen()), expected, "{expectation}");
        }
    }

    #[test]
    fn only_unmet_expectations_are_missing() {
        let until = [("Ready".to_owned(), json!("False")), ("replicas".to_owned(), json!(2))].into();
        assert_eq!(missing(&until, &seen()), [("Ready".to_owned(), json!("True"))].into());
        assert_eq!(missing(&[("hpas".to_owned(), Value::Null)].into(), &json!({ "hpas": {} })), [].into());
    }
}
