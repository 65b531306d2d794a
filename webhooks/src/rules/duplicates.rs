//! ScaledObjects with the same target or the same HPA.

use kedge_api::ScaledObject;
use kedge_core::hpa::render::hpa_name;

use super::names::hpa_name_path;
use crate::neighbours::{KindName, Neighbours};
use crate::violation::{FieldPath, Rule, Severity, Violation};

pub static DUPLICATE_TARGET: Rule = Rule {
    id: "duplicate-target",
    severity: Severity::Error,
    about: "another ScaledObject of the namespace scales the same workload",
    counted_as: Some("other-scaled-object"),
};

pub static DUPLICATE_HPA_NAME: Rule = Rule {
    id: "duplicate-hpa-name",
    severity: Severity::Error,
    about: "another ScaledObject of the namespace has an HPA of the same name",
    counted_as: Some("other-scaled-object-hpa"),
};

pub fn check(object: &ScaledObject, neighbours: &Neighbours) -> Vec<Violation> {
    let own = object.metadata.name.as_deref().unwrap_or_default();
    let (workload, kind) = (&object.spec.scale_target_ref.name, KindName::for_target(&object.spec));
    let other = neighbours.same_target.iter().find(|other| &*other.name != own && other.kind == kind);
    let target = other.map(|other| {
        let problem = format!(
            "the workload '{workload}' of type '{kind}' is already managed by the ScaledObject '{}'",
            other.name
        );
        let remedy = "put the triggers of both into one ScaledObject, or delete the other";
        Violation::new(&DUPLICATE_TARGET, FieldPath::new("spec.scaleTargetRef.name"), problem, remedy)
    });
    let other = neighbours.same_hpa.iter().find(|name| &***name != own);
    let hpa = other.map(|other| {
        let problem = format!("the HPA '{}' is already managed by the ScaledObject '{other}'", hpa_name(object));
        let remedy = "give one of the two another name in spec.advanced.horizontalPodAutoscalerConfig.name";
        Violation::new(&DUPLICATE_HPA_NAME, hpa_name_path(object), problem, remedy)
    });
    target.into_iter().chain(hpa).collect()
}
