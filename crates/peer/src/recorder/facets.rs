//! What of an object is watched.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::fleet::NAMESPACES;

/// The kinds that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Deployment,
    StatefulSet,
    HorizontalPodAutoscaler,
    ScaledObject,
    Lease,
}

pub(crate) const KINDS: [Kind; 5] =
    [Kind::Deployment, Kind::StatefulSet, Kind::HorizontalPodAutoscaler, Kind::ScaledObject, Kind::Lease];

/// The name of the Lease of the one in charge, in whatever namespace.
const LEASE: &str = "operator.keda.sh";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Facet {
    /// The uid: another one is another object.
    Identity,
    Spec,
    Replicas,
    /// Labels, annotations, owners and finalizers.
    Marks,
    Ready,
    Active,
    Fallback,
    Paused,
    OriginalReplicas,
    HpaName,
    MetricNames,
    Holder,
}

impl Kind {
    pub(super) fn group_version_kind(self) -> GroupVersionKind {
        match self {
            Kind::Deployment => GroupVersionKind::gvk("apps", "v1", "Deployment"),
            Kind::StatefulSet => GroupVersionKind::gvk("apps", "v1", "StatefulSet"),
            Kind::HorizontalPodAutoscaler => GroupVersionKind::gvk("autoscaling", "v2", "HorizontalPodAutoscaler"),
            Kind::ScaledObject => GroupVersionKind::gvk("keda.sh", "v1alpha1", "ScaledObject"),
            Kind::Lease => GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease"),
        }
    }

    /// The name of an object, and all of it that is watched; nothing for one that is not.
    pub(super) fn look(self, object: &DynamicObject) -> Option<(String, BTreeMap<Facet, Value>)> {
        let namespace = object.namespace().unwrap_or_default();
        let is_watched = match self {
            Kind::Lease => object.name_any() == LEASE,
            _ => namespace.starts_with(NAMESPACES),
        };
        if !is_watched {
            return None;
        }
        let name = format!("{namespace}/{}", object.name_any());
        let mut facets = BTreeMap::from([(Facet::Identity, json!(object.uid()))]);
        let (spec, status) = (&object.data["spec"], &object.data["status"]);
        match self {
            Kind::Deployment | Kind::StatefulSet => facets.extend(of_target(spec)),
            Kind::HorizontalPodAutoscaler => {
                facets.extend([(Facet::Spec, spec.clone()), (Facet::Marks, marks(object))]);
            }
            Kind::ScaledObject => {
                facets.extend([(Facet::Spec, spec.clone()), (Facet::Marks, marks(object))]);
                facets.extend(of_status(status));
            }
            Kind::Lease => facets.extend([(Facet::Holder, spec["holderIdentity"].clone())]),
        }
        Some((name, facets))
    }
}

fn of_target(spec: &Value) -> [(Facet, Value); 2] {
    let mut rest = spec.clone();
    rest["replicas"] = Value::Null;
    [(Facet::Replicas, spec["replicas"].clone()), (Facet::Spec, rest)]
}

fn marks(object: &DynamicObject) -> Value {
    json!({
        "labels": object.labels(), "annotations": object.annotations(),
        "owners": object.owner_references(), "finalizers": object.finalizers(),
    })
}

fn of_status(status: &Value) -> [(Facet, Value); 7] {
    let condition = |kind: &str| {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let found = conditions.into_iter().find(|condition| condition["type"] == kind);
        found.map(|condition| condition["status"].clone()).unwrap_or_default()
    };
    [
        (Facet::Ready, condition("Ready")),
        (Facet::Active, condition("Active")),
        (Facet::Fallback, condition("Fallback")),
        (Facet::Paused, condition("Paused")),
        (Facet::OriginalReplicas, status["originalReplicaCount"].clone()),
        (Facet::HpaName, status["hpaName"].clone()),
        (Facet::MetricNames, status["externalMetricNames"].clone()),
    ]
}

/// Where two values differ: `path: from -> to`.
pub(super) fn differences(from: &Value, to: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect("", from, to, &mut found);
    found
}

fn collect(path: &str, from: &Value, to: &Value, found: &mut Vec<String>) {
    match (from, to) {
        _ if from == to => {}
        (Value::Object(one), Value::Object(other)) => {
            let only_there = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(only_there) {
                collect(&format!("{path}.{key}"), &from[key], &to[key], found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                collect(&format!("{path}[{index}]"), one, other, found);
            }
        }
        _ => found.push(format!("{path} {from} -> {to}").trim_start().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_by_their_paths() {
        let from = json!({ "a": { "b": 1, "same": 1 }, "list": [1, 2] });
        let to = json!({ "a": { "b": 2, "same": 1 }, "list": [1, 3], "new": true });
        assert_eq!(differences(&from, &to), [".a.b 1 -> 2", ".list[1] 2 -> 3", ".new null -> true"]);
        assert_eq!(differences(&json!(3), &json!(4)), ["3 -> 4"]);
    }
}
