//! The watched kinds, and the fields of each that are watched.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::fleet::NAMESPACE_PREFIX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WatchedKind {
    Deployment,
    StatefulSet,
    HorizontalPodAutoscaler,
    ScaledObject,
    Lease,
}

pub(super) const WATCHED_KINDS: [WatchedKind; 5] = [
    WatchedKind::Deployment,
    WatchedKind::StatefulSet,
    WatchedKind::HorizontalPodAutoscaler,
    WatchedKind::ScaledObject,
    WatchedKind::Lease,
];

/// The name of the operators' Lease in each namespace.
const LEASE: &str = "operator.keda.sh";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WatchedField {
    /// Another uid means that the object was recreated.
    Uid,
    Spec,
    Replicas,
    /// Labels, annotations, owner references and finalizers.
    Metadata,
    Ready,
    Active,
    Fallback,
    Paused,
    OriginalReplicas,
    HpaName,
    MetricNames,
    HolderIdentity,
}

pub(super) type FieldValues = BTreeMap<WatchedField, Value>;

impl WatchedKind {
    pub(super) fn group_version_kind(self) -> GroupVersionKind {
        match self {
            WatchedKind::Deployment => GroupVersionKind::gvk("apps", "v1", "Deployment"),
            WatchedKind::StatefulSet => GroupVersionKind::gvk("apps", "v1", "StatefulSet"),
            WatchedKind::HorizontalPodAutoscaler => {
                GroupVersionKind::gvk("autoscaling", "v2", "HorizontalPodAutoscaler")
            }
            WatchedKind::ScaledObject => GroupVersionKind::gvk("keda.sh", "v1alpha1", "ScaledObject"),
            WatchedKind::Lease => GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease"),
        }
    }

    /// Extracts `namespace/name` and the watched fields; returns `None` for an object that is not watched.
    pub(super) fn extract_fields(self, object: &DynamicObject) -> Option<(String, FieldValues)> {
        let namespace = object.namespace().unwrap_or_default();
        let is_watched = match self {
            WatchedKind::Lease => object.name_any() == LEASE,
            _ => namespace.starts_with(NAMESPACE_PREFIX),
        };
        if !is_watched {
            return None;
        }
        let name = format!("{namespace}/{}", object.name_any());
        let mut values = BTreeMap::from([(WatchedField::Uid, json!(object.uid()))]);
        let (spec, status) = (&object.data["spec"], &object.data["status"]);
        match self {
            WatchedKind::Deployment | WatchedKind::StatefulSet => values.extend(target_fields(spec)),
            WatchedKind::HorizontalPodAutoscaler => {
                values.extend([(WatchedField::Spec, spec.clone()), (WatchedField::Metadata, metadata(object))]);
            }
            WatchedKind::ScaledObject => {
                values.extend([(WatchedField::Spec, spec.clone()), (WatchedField::Metadata, metadata(object))]);
                values.extend(status_fields(status));
            }
            WatchedKind::Lease => values.extend([(WatchedField::HolderIdentity, spec["holderIdentity"].clone())]),
        }
        Some((name, values))
    }
}

/// Separates the replicas of a target from the other fields of its spec.
fn target_fields(spec: &Value) -> [(WatchedField, Value); 2] {
    let mut without_replicas = spec.clone();
    without_replicas["replicas"] = Value::Null;
    [(WatchedField::Replicas, spec["replicas"].clone()), (WatchedField::Spec, without_replicas)]
}

fn metadata(object: &DynamicObject) -> Value {
    json!({
        "labels": object.labels(), "annotations": object.annotations(),
        "ownerReferences": object.owner_references(), "finalizers": object.finalizers(),
    })
}

fn status_fields(status: &Value) -> [(WatchedField, Value); 7] {
    let condition = |kind: &str| {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let found = conditions.into_iter().find(|condition| condition["type"] == kind);
        found.map(|condition| condition["status"].clone()).unwrap_or_default()
    };
    [
        (WatchedField::Ready, condition("Ready")),
        (WatchedField::Active, condition("Active")),
        (WatchedField::Fallback, condition("Fallback")),
        (WatchedField::Paused, condition("Paused")),
        (WatchedField::OriginalReplicas, status["originalReplicaCount"].clone()),
        (WatchedField::HpaName, status["hpaName"].clone()),
        (WatchedField::MetricNames, status["externalMetricNames"].clone()),
    ]
}

/// Lists where two values differ: `path from -> to`.
pub(super) fn list_differences(from: &Value, to: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    collect_differences("", from, to, &mut differences);
    differences
}

fn collect_differences(path: &str, from: &Value, to: &Value, differences: &mut Vec<String>) {
    match (from, to) {
        _ if from == to => {}
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            for key in old.keys().chain(added) {
                collect_differences(&format!("{path}.{key}"), &from[key], &to[key], differences);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                collect_differences(&format!("{path}[{index}]"), old, new, differences);
            }
        }
        _ => differences.push(format!("{path} {from} -> {to}").trim_start().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_listed_with_their_paths() {
        let from = json!({ "a": { "b": 1, "same": 1 }, "list": [1, 2] });
        let to = json!({ "a": { "b": 2, "same": 1 }, "list": [1, 3], "new": true });
        assert_eq!(list_differences(&from, &to), [".a.b 1 -> 2", ".list[1] 2 -> 3", ".new null -> true"]);
        assert_eq!(list_differences(&json!(3), &json!(4)), ["3 -> 4"]);
    }
}
