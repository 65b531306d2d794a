//! ScaledObjects that name the same target: the oldest keeps it.

use kedge_api::ScaledObject;
use kedge_api::scaled_object::ScaleTargetRef;

/// Whether two references of one namespace name the same target.
pub fn is_same_target(one: &ScaleTargetRef, other: &ScaleTargetRef) -> bool {
    one.name == other.name && one.api_version_and_kind() == other.api_version_and_kind()
}

/// The names of the objects that keep this object's target: older ones of the same namespace that are not being deleted.
pub fn rivals<'a>(object: &ScaledObject, others: impl Iterator<Item = &'a ScaledObject>) -> Vec<String> {
    let age = |object: &ScaledObject| {
        let meta = &object.metadata;
        (meta.creation_timestamp.as_ref().map(|time| time.0), meta.name.clone())
    };
    others
        .filter(|other| other.metadata.namespace == object.metadata.namespace)
        .filter(|other| other.metadata.name != object.metadata.name && other.metadata.deletion_timestamp.is_none())
        .filter(|other| is_same_target(&object.spec.scale_target_ref, &other.spec.scale_target_ref))
        .filter(|other| age(other) < age(object))
        .filter_map(|other| other.metadata.name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(name: &str, second: u32, target: Value) -> ScaledObject {
        let created = format!("2026-01-01T00:00:{second:02}Z");
        serde_json::from_value(json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": { "name": name, "namespace": "shop", "creationTimestamp": created },
            "spec": { "scaleTargetRef": target, "triggers": [] },
        }))
        .unwrap()
    }

    #[test]
    fn the_oldest_object_keeps_the_target() {
        let web = || json!({ "name": "web" });
        let mut deleted = object("a", 1, web());
        deleted.metadata.deletion_timestamp = deleted.metadata.creation_timestamp.clone();
        let mut elsewhere = object("a", 1, web());
        elsewhere.metadata.namespace = Some("other".to_owned());
        let explicit = json!({ "name": "web", "apiVersion": "apps/v1", "kind": "Deployment" });
        let rows = [
            ("an older object", object("a", 1, web()), true),
            ("one that spells out the defaults", object("a", 1, explicit), true),
            ("a younger object", object("a", 9, web()), false),
            ("of the same age, the name decides", object("a", 5, web()), true),
            ("of the same age, after it by name", object("z", 5, web()), false),
            ("another kind", object("a", 1, json!({ "name": "web", "kind": "StatefulSet" })), false),
            ("another name", object("a", 1, json!({ "name": "api" })), false),
            ("one that is being deleted", deleted, false),
            ("one of another namespace", elsewhere, false),
        ];
        let own = object("so", 5, web());
        for (name, other, expected) in rows {
            assert_eq!(!rivals(&own, [&own, &other].into_iter()).is_empty(), expected, "{name}");
        }
    }
}
