//! Which updates need no validation: those that change nothing that a rule reads. They are never denied, not even for an object
//! that has become invalid since it was stored.

use std::collections::BTreeMap;

use kedge_api::names::{annotations, labels};
use kedge_core::quantity::Quantity;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The part of an object by which updates are compared.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ComparedObject {
    metadata: Metadata,
    spec: Value,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Metadata {
    finalizers: Option<Vec<String>>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
}

/// What an update changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A finalizer is removed, and the spec stays.
    // KEDA: admits it without validation, and without counting it.
    FinalizerRemoved,
    /// The object is paused or resumed, or the operator labels it.
    NothingToValidate,
    /// Anything else.
    NeedsValidation,
}

/// Annotations whose change needs no validation: those that pause, and the copy of the manifest that `kubectl apply` leaves.
const FREE_ANNOTATIONS: [&str; 5] = [
    annotations::PAUSED,
    annotations::PAUSED_REPLICAS,
    annotations::PAUSED_SCALE_IN,
    annotations::PAUSED_SCALE_OUT,
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// Labels that the operator writes itself.
const FREE_LABELS: [&str; 1] = [labels::SCALED_OBJECT_NAME];

impl Change {
    pub fn between(before: &ComparedObject, after: &ComparedObject) -> Self {
        if !are_same(&before.spec, &after.spec) {
            return Self::NeedsValidation;
        }
        let count = |object: &ComparedObject| object.metadata.finalizers.as_ref().map_or(0, Vec::len);
        if count(after) < count(before) {
            return Self::FinalizerRemoved;
        }
        let annotations = |object: &ComparedObject| without(&object.metadata.annotations, &FREE_ANNOTATIONS);
        let labels = |object: &ComparedObject| without(&object.metadata.labels, &FREE_LABELS);
        match annotations(before) == annotations(after) && labels(before) == labels(after) {
            true => Self::NothingToValidate,
            false => Self::NeedsValidation,
        }
    }
}

/// A map without some of its keys.
fn without(map: &Option<BTreeMap<String, String>>, keys: &[&str]) -> BTreeMap<String, String> {
    let rest = map.iter().flatten().filter(|(key, _)| !keys.contains(&key.as_str()));
    rest.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Whether two values are equal to the API server: a missing field, null, and an empty list or object are the same; quantities are
/// compared by value.
fn are_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => are_same_fields(one, other, are_same),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| are_same(one, other))
        }
        _ => one == other || is_empty(one) && is_empty(other),
    }
}

fn are_same_fields(one: &Map<String, Value>, other: &Map<String, Value>, same: fn(&Value, &Value) -> bool) -> bool {
    let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
    keys.into_iter().all(|key| {
        let (one, other) = (one.get(key).unwrap_or(&Value::Null), other.get(key).unwrap_or(&Value::Null));
        match (key.as_str(), one, other) {
            ("requests" | "limits", Value::Object(one), Value::Object(other)) => {
                are_same_fields(one, other, are_same_quantities)
            }
            _ => same(one, other),
        }
    })
}

fn are_same_quantities(one: &Value, other: &Value) -> bool {
    let quantity = |value: &Value| match value {
        Value::String(text) => Quantity::parse(text).ok().map(|quantity| quantity.canonical()),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok().map(|quantity| quantity.canonical()),
        _ => None,
    };
    one == other || quantity(one).is_some() && quantity(one) == quantity(other)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> ComparedObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_an_update_changes_decides_whether_it_is_validated() {
        use Change::{FinalizerRemoved, NeedsValidation, NothingToValidate};
        let spec = || json!({ "triggers": [{ "type": "cron" }], "minReplicaCount": 1 });
        let with = |metadata: Value| object(json!({ "metadata": metadata, "spec": spec() }));
        let plain = || with(json!({ "finalizers": ["f"], "labels": { "a": "b" } }));
        let annotated =
            |key: &str| with(json!({ "labels": { "a": "b" }, "finalizers": ["f"], "annotations": { key: "true" } }));
        let other = object(json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "triggers": [] } }));
        let rows = [
            ("nothing", plain(), plain(), NothingToValidate),
            (
                "the status, which is not compared",
                object(json!({ "spec": spec(), "status": { "a": 1 } })),
                object(json!({ "spec": spec() })),
                NothingToValidate,
            ),
            ("paused", plain(), annotated("autoscaling.keda.sh/paused"), NothingToValidate),
            ("resumed", annotated("autoscaling.keda.sh/paused-replicas"), plain(), NothingToValidate),
            ("scaling in paused", plain(), annotated("autoscaling.keda.sh/paused-scale-in"), NothingToValidate),
            ("scaling out paused", plain(), annotated("autoscaling.keda.sh/paused-scale-out"), NothingToValidate),
            (
                "paused by kubectl apply",
                plain(),
                annotated("kubectl.kubernetes.io/last-applied-configuration"),
                NothingToValidate,
            ),
            ("another annotation", plain(), annotated("scaledobject.keda.sh/transfer-hpa-ownership"), NeedsValidation),
            ("a label", plain(), with(json!({ "finalizers": ["f"], "labels": { "a": "c" } })), NeedsValidation),
            (
                "the operator's label",
                plain(),
                with(json!({ "finalizers": ["f"], "labels": { "a": "b", "scaledobject.keda.sh/name": "so" } })),
                NothingToValidate,
            ),
            (
                "one more finalizer",
                plain(),
                with(json!({ "finalizers": ["f", "g"], "labels": { "a": "b" } })),
                NothingToValidate,
            ),
            ("one finalizer less, and a label", plain(), with(json!({ "labels": { "a": "c" } })), FinalizerRemoved),
            ("one finalizer less, and the spec", plain(), other, NeedsValidation),
        ];
        for (name, before, after, expected) in rows {
            assert_eq!(Change::between(&before, &after), expected, "{name}");
        }
    }

    #[test]
    fn specs_are_compared_by_value() {
        let rows = [
            ("null is empty", json!({ "a": null }), json!({}), true),
            ("an empty list is empty", json!({ "a": [] }), json!({}), true),
            ("an empty object is empty", json!({ "a": { "b": {} } }), json!({ "a": null }), true),
            ("zero is a value", json!({ "a": 0 }), json!({}), false),
            ("an empty string is a value", json!({ "a": "" }), json!({}), false),
            ("order counts", json!({ "a": [1, 2] }), json!({ "a": [2, 1] }), false),
            (
                "quantities by value",
                json!({ "requests": { "cpu": "1000m" } }),
                json!({ "requests": { "cpu": "1" } }),
                true,
            ),
            (
                "different quantities",
                json!({ "limits": { "cpu": "100m" } }),
                json!({ "limits": { "cpu": "1" } }),
                false,
            ),
            ("strings that look like quantities", json!({ "a": "1000m" }), json!({ "a": "1" }), false),
            ("string and list", json!({ "a": "x" }), json!({ "a": ["x"] }), false),
        ];
        for (name, one, other, expected) in rows {
            assert_eq!(are_same(&one, &other), expected, "{name}");
            assert_eq!(are_same(&other, &one), expected, "{name}, the other way round");
        }
    }
}
