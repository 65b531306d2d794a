//! Other HPAs of the same target.

use kedge_api::ScaledObject;
use kedge_api::names::annotations::TRANSFER_HPA_OWNERSHIP;

use crate::neighbours::{ConflictCheck, Hpa, KindName, Neighbours};
use crate::violation::{FieldPath, Rule, Severity, Violation};

pub static CONFLICTING_HPA: Rule = Rule {
    id: "conflicting-hpa",
    severity: Severity::Error,
    about: "an HPA that the ScaledObject does not own scales the same workload",
    counted_as: Some("other-hpa"),
};

pub static MISSING_HPA_NAME: Rule = Rule {
    id: "missing-hpa-name",
    severity: Severity::Error,
    about: "the ownership of an HPA is to be transferred, but the ScaledObject does not name the HPA",
    counted_as: Some("transfer-ownership-missing-hpa-name"),
};

pub fn check(object: &ScaledObject, neighbours: &Neighbours) -> Vec<Violation> {
    let kind = KindName::for_target(&object.spec);
    let own = object.metadata.name.as_deref().unwrap_or_default();
    // KEDA: compares the kind and name of an owner, not its UID.
    let is_foreign = |hpa: &&Hpa| {
        hpa.conflict_check == ConflictCheck::Included
            && hpa.kind == kind
            && !hpa.owners.iter().any(|owner| &**owner == own)
    };
    neighbours.hpas.iter().filter(is_foreign).filter_map(|hpa| explain(object, &kind, hpa)).collect()
}

fn explain(object: &ScaledObject, kind: &KindName, hpa: &Hpa) -> Option<Violation> {
    let (target, name) = (&object.spec.scale_target_ref.name, &hpa.name);
    let annotation = object.metadata.annotations.as_ref().and_then(|all| all.get(TRANSFER_HPA_OWNERSHIP));
    if annotation.map(String::as_str) != Some("true") {
        let problem = format!("the workload '{target}' of type '{kind}' is already managed by the hpa '{name}'");
        let remedy = format!(
            "delete that HPA, or have it taken over: annotate this object with {TRANSFER_HPA_OWNERSHIP}=true and name the HPA \
             in spec.advanced.horizontalPodAutoscalerConfig.name"
        );
        return Some(Violation::new(&CONFLICTING_HPA, FieldPath::new("spec.scaleTargetRef.name"), problem, remedy));
    }
    let config = object.spec.advanced.as_ref().and_then(|advanced| advanced.horizontal_pod_autoscaler_config.as_ref());
    let named = config.and_then(|config| config.name.as_deref());
    (named != Some(&**name)).then(|| {
        let problem = format!(
            "the existing hpa '{name}' for workload '{target}' of type '{kind}' must be specified by name in advanced settings \
             to enable ownership transfer"
        );
        let path = FieldPath::new("spec.advanced.horizontalPodAutoscalerConfig.name");
        Violation::new(&MISSING_HPA_NAME, path, problem, format!("write {name} there"))
    })
}
