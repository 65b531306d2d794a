//! ScaledObjects that want the same: one target, or one HPA.

use kedge_api::ScaledObject;
use kedge_core::hpa::render::hpa_name;

use super::names::hpa_name_path;
use crate::finding::{FieldPath, Finding, Rule, Severity};
use crate::neighbours::{KindWord, Neighbours};

pub static TARGET_TAKEN: Rule = Rule {
    id: "target-taken",
    severity: Severity::Error,
    about: "another ScaledObject of the namespace scales the same workload",
    counted_as: Some("other-scaled-object"),
};

pub static HPA_NAME_TAKEN: Rule = Rule {
    id: "hpa-name-taken",
    severity: Severity::Error,
    about: "another ScaledObject of the namespace has an HPA of the same name",
    counted_as: Some("other-scaled-object-hpa"),
};

pub fn check(object: &ScaledObject, neighbours: &Neighbours) -> Vec<Finding> {
    let own = object.metadata.name.as_deref().unwrap_or_default();
    let (target, kind) = (&object.spec.scale_target_ref.name, KindWord::of_target(&object.spec));
    let rival = neighbours.same_target.iter().find(|rival| &*rival.name != own && rival.kind == kind);
    let taken = rival.map(|rival| {
        let problem =
            format!("the workload '{target}' of type '{kind}' is already managed by the ScaledObject '{}'", rival.name);
        let remedy = "put the triggers of both into one ScaledObject, or delete the other";
        Finding::new(&TARGET_TAKEN, FieldPath::of("spec.scaleTargetRef.name"), problem, remedy)
    });
    let rival = neighbours.same_hpa.iter().find(|name| &***name != own);
    let named = rival.map(|rival| {
        let problem = format!("the HPA '{}' is already managed by the ScaledObject '{rival}'", hpa_name(object));
        let remedy = "give one of the two another name in spec.advanced.horizontalPodAutoscalerConfig.name";
        Finding::new(&HPA_NAME_TAKEN, hpa_name_path(object), problem, remedy)
    });
    taken.into_iter().chain(named).collect()
}
