//! Which updates need not be judged: those that change nothing that could be wrong. They are never refused, not even for an
//! object that has become invalid since it was stored.

use std::collections::BTreeMap;

use kedge_api::names::{annotations, labels};
use kedge_core::quantity::Quantity;
use serde::Deserialize;
use serde_json::{Map, Value};

/// As much of an object as tells what an update changes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Draft {
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

/// What an update does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A finalizer goes, and the spec stays.
    // KEDA: lets it through without a look, and without counting it.
    FinalizerGone,
    /// The object is paused or resumed, or the operator marks it as its own.
    NothingToJudge,
    /// Anything else.
    ToBeJudged,
}

/// Annotations that may change without a look: those that pause, and the copy of the manifest that `kubectl apply` leaves.
const FREE_ANNOTATIONS: [&str; 5] = [
    annotations::PAUSED,
    annotations::PAUSED_REPLICAS,
    annotations::PAUSED_SCALE_IN,
    annotations::PAUSED_SCALE_OUT,
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// The operator writes it itself.
const FREE_LABELS: [&str; 1] = [labels::SCALED_OBJECT_NAME];

impl Change {
    pub fn of(before: &Draft, after: &Draft) -> Self {
        if !are_same(&before.spec, &after.spec) {
            return Self::ToBeJudged;
        }
        let count = |draft: &Draft| draft.metadata.finalizers.as_ref().map_or(0, Vec::len);
        if count(after) < count(before) {
            return Self::FinalizerGone;
        }
        let notes = |draft: &Draft| rest(&draft.metadata.annotations, &FREE_ANNOTATIONS);
        let marks = |draft: &Draft| rest(&draft.metadata.labels, &FREE_LABELS);
        match notes(before) == notes(after) && marks(before) == marks(after) {
            true => Self::NothingToJudge,
            false => Self::ToBeJudged,
        }
    }
}

/// What is left of a map without some of its keys.
fn rest(map: &Option<BTreeMap<String, String>>, without: &[&str]) -> BTreeMap<String, String> {
    let all = map.iter().flatten().filter(|(key, _)| !without.contains(&key.as_str()));
    all.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Whether two values mean the same: nothing, null, and an empty list or object are one; amounts are compared as amounts.
fn are_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => are_same_fields(one, other, are_same),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| are_same(one, other))
        }
        _ => one == other || is_nothing(one) && is_nothing(other),
    }
}

fn are_same_fields(one: &Map<String, Value>, other: &Map<String, Value>, same: fn(&Value, &Value) -> bool) -> bool {
    let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
    keys.into_iter().all(|key| {
        let (one, other) = (one.get(key).unwrap_or(&Value::Null), other.get(key).unwrap_or(&Value::Null));
        match (key.as_str(), one, other) {
            ("requests" | "limits", Value::Object(one), Value::Object(other)) => {
                are_same_fields(one, other, are_same_amounts)
            }
            _ => same(one, other),
        }
    })
}

fn are_same_amounts(one: &Value, other: &Value) -> bool {
    let amount = |value: &Value| match value {
        Value::String(text) => Quantity::parse(text).ok().map(|quantity| quantity.canonical()),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok().map(|quantity| quantity.canonical()),
        _ => None,
    };
    one == other || amount(one).is_some() && amount(one) == amount(other)
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draft(value: Value) -> Draft {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_an_update_changes_decides_whether_it_is_judged() {
        use Change::{FinalizerGone, NothingToJudge, ToBeJudged};
        let spec = || json!({ "triggers": [{ "type": "cron" }], "minReplicaCount": 1 });
        let with = |metadata: Value| draft(json!({ "metadata": metadata, "spec": spec() }));
        let plain = || with(json!({ "finalizers": ["f"], "labels": { "a": "b" } }));
        let annotated =
            |key: &str| with(json!({ "labels": { "a": "b" }, "finalizers": ["f"], "annotations": { key: "true" } }));
        let other = draft(json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "triggers": [] } }));
        let rows = [
            ("nothing", plain(), plain(), NothingToJudge),
            (
                "the status, which is not looked at",
                draft(json!({ "spec": spec(), "status": { "a": 1 } })),
                draft(json!({ "spec": spec() })),
                NothingToJudge,
            ),
            ("paused", plain(), annotated("autoscaling.keda.sh/paused"), NothingToJudge),
            ("resumed", annotated("autoscaling.keda.sh/paused-replicas"), plain(), NothingToJudge),
            ("scaling in paused", plain(), annotated("autoscaling.keda.sh/paused-scale-in"), NothingToJudge),
            ("scaling out paused", plain(), annotated("autoscaling.keda.sh/paused-scale-out"), NothingToJudge),
            (
                "paused by kubectl apply",
                plain(),
                annotated("kubectl.kubernetes.io/last-applied-configuration"),
                NothingToJudge,
            ),
            ("another annotation", plain(), annotated("scaledobject.keda.sh/transfer-hpa-ownership"), ToBeJudged),
            ("a label", plain(), with(json!({ "finalizers": ["f"], "labels": { "a": "c" } })), ToBeJudged),
            (
                "the operator's label",
                plain(),
                with(json!({ "finalizers": ["f"], "labels": { "a": "b", "scaledobject.keda.sh/name": "so" } })),
                NothingToJudge,
            ),
            (
                "one more finalizer",
                plain(),
                with(json!({ "finalizers": ["f", "g"], "labels": { "a": "b" } })),
                NothingToJudge,
            ),
            ("one finalizer less, and a label", plain(), with(json!({ "labels": { "a": "c" } })), FinalizerGone),
            ("one finalizer less, and the spec", plain(), other, ToBeJudged),
        ];
        for (name, before, after, expected) in rows {
            assert_eq!(Change::of(&before, &after), expected, "{name}");
        }
    }

    #[test]
    fn specs_are_compared_by_what_they_mean() {
        let rows = [
            ("null is nothing", json!({ "a": null }), json!({}), true),
            ("an empty list is nothing", json!({ "a": [] }), json!({}), true),
            ("an empty object is nothing", json!({ "a": { "b": {} } }), json!({ "a": null }), true),
            ("zero is something", json!({ "a": 0 }), json!({}), false),
            ("an empty text is something", json!({ "a": "" }), json!({}), false),
            ("order counts", json!({ "a": [1, 2] }), json!({ "a": [2, 1] }), false),
            (
                "amounts by value",
                json!({ "requests": { "cpu": "1000m" } }),
                json!({ "requests": { "cpu": "1" } }),
                true,
            ),
            ("other amounts", json!({ "limits": { "cpu": "100m" } }), json!({ "limits": { "cpu": "1" } }), false),
            ("texts that look like amounts", json!({ "a": "1000m" }), json!({ "a": "1" }), false),
            ("text and list", json!({ "a": "x" }), json!({ "a": ["x"] }), false),
        ];
        for (name, one, other, expected) in rows {
            assert_eq!(are_same(&one, &other), expected, "{name}");
            assert_eq!(are_same(&other, &one), expected, "{name}, the other way round");
        }
    }
}
