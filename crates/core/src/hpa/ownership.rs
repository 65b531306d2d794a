//! The owner of an HPA: this ScaledObject, another controller, or none.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::ScaledObject;
use kedge_api::names;

/// What a ScaledObject may do with an existing HPA of the name it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HpaOwnership {
    /// It is controlled by this object, or by an earlier object of the same name.
    Ours,
    /// It has no controller, it is for the same target, and the spec names it: it is taken over.
    Adoptable,
    /// It must not be touched.
    Foreign { because: String },
}

/// Checks whether the ScaledObject may manage an existing HPA.
pub fn check_ownership(object: &ScaledObject, found: &HorizontalPodAutoscaler) -> HpaOwnership {
    let name = found.metadata.name.as_deref().unwrap_or_default();
    let owners = found.metadata.owner_references.iter().flatten();
    if let Some(owner) = owners.into_iter().find(|owner| owner.controller == Some(true)) {
        let is_scaled_object =
            owner.kind == "ScaledObject" && owner.api_version.starts_with(&format!("{}/", names::GROUP));
        let is_this = Some(&owner.name) == object.metadata.name.as_ref();
        return if is_scaled_object && is_this {
            HpaOwnership::Ours
        } else {
            HpaOwnership::Foreign { because: format!("HPA {name} is controlled by {} {}", owner.kind, owner.name) }
        };
    }
    let config = object.spec.advanced.as_ref().and_then(|advanced| advanced.horizontal_pod_autoscaler_config.as_ref());
    if config.and_then(|config| config.name.as_deref()) != Some(name) {
        let remedy = "name it in advanced.horizontalPodAutoscalerConfig.name to take it over, or delete it";
        return HpaOwnership::Foreign {
            because: format!("HPA {name} exists and was not made for this ScaledObject; {remedy}"),
        };
    }
    let target = &found.spec.scale_target_ref.name;
    if *target != object.spec.scale_target_ref.name {
        let because =
            format!("HPA {name} scales {target}, not the target of this ScaledObject; choose another name for it");
        return HpaOwnership::Foreign { because };
    }
    HpaOwnership::Adoptable
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(owner: Value, target: &str) -> HorizontalPodAutoscaler {
        serde_json::from_value(json!({
            "metadata": { "name": "mine", "ownerReferences": owner },
            "spec": { "scaleTargetRef": { "kind": "Deployment", "name": target }, "maxReplicas": 9 },
        }))
        .unwrap()
    }

    fn object(hpa: Option<&str>) -> ScaledObject {
        serde_json::from_value(json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "so" },
            "spec": {
                "scaleTargetRef": { "name": "web" }, "triggers": [],
                "advanced": { "horizontalPodAutoscalerConfig": { "name": hpa } },
            },
        }))
        .unwrap()
    }

    #[test]
    fn only_an_hpa_that_is_ours_or_free_and_named_is_changed() {
        let owner = |kind: &str, group: &str, name: &str| json!([{ "apiVersion": format!("{group}/v1"), "kind": kind, "name": name, "uid": "u", "controller": true }]);
        let rows = [
            ("ours", owner("ScaledObject", "keda.sh", "so"), "web", None, "ours"),
            ("another object's", owner("ScaledObject", "keda.sh", "other"), "web", Some("mine"), "foreign"),
            ("another controller's", owner("Rollout", "argoproj.io", "so"), "web", Some("mine"), "foreign"),
            ("a kind of the same name elsewhere", owner("ScaledObject", "example.com", "so"), "web", None, "foreign"),
            ("free and named", json!([]), "web", Some("mine"), "adoptable"),
            ("free and not named", json!([]), "web", None, "foreign"),
            ("free, named, for another target", json!([]), "db", Some("mine"), "foreign"),
        ];
        for (name, owner, target, hpa, expected) in rows {
            let claim = check_ownership(&object(hpa), &found(owner, target));
            let word = match claim {
                HpaOwnership::Ours => "ours",
                HpaOwnership::Adoptable => "adoptable",
                HpaOwnership::Foreign { .. } => "foreign",
            };
            assert_eq!(word, expected, "{name}: {claim:?}");
        }
    }
}
