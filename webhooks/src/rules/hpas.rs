//! HPAs that scale the target already.

use kedge_api::ScaledObject;
use kedge_api::names::annotations::TRANSFER_HPA_OWNERSHIP;

use crate::finding::{FieldPath, Finding, Rule, Severity};
use crate::neighbours::{Heed, Hpa, KindWord, Neighbours};

pub static FOREIGN_HPA: Rule = Rule {
    id: "foreign-hpa",
    severity: Severity::Error,
    about: "an HPA that is not the ScaledObject's own scales the same workload",
    counted_as: Some("other-hpa"),
};

pub static TRANSFER_UNNAMED: Rule = Rule {
    id: "transfer-unnamed",
    severity: Severity::Error,
    about: "an HPA is to be taken over, but is not named in the ScaledObject",
    counted_as: Some("transfer-ownership-missing-hpa-name"),
};

pub fn check(object: &ScaledObject, neighbours: &Neighbours) -> Vec<Finding> {
    let kind = KindWord::of_target(&object.spec);
    let own = object.metadata.name.as_deref().unwrap_or_default();
    // KEDA: an owner is known by its kind and name alone.
    let is_foreign =
        |hpa: &&Hpa| hpa.heed == Heed::Yes && hpa.kind == kind && !hpa.owners.iter().any(|owner| &**owner == own);
    neighbours.hpas.iter().filter(is_foreign).filter_map(|hpa| judge(object, &kind, hpa)).collect()
}

fn judge(object: &ScaledObject, kind: &KindWord, hpa: &Hpa) -> Option<Finding> {
    let (target, name) = (&object.spec.scale_target_ref.name, &hpa.name);
    let annotation = object.metadata.annotations.as_ref().and_then(|all| all.get(TRANSFER_HPA_OWNERSHIP));
    if annotation.map(String::as_str) != Some("true") {
        let problem = format!("the workload '{target}' of type '{kind}' is already managed by the hpa '{name}'");
        let remedy = format!(
            "delete that HPA, or have it taken over: annotate this object with {TRANSFER_HPA_OWNERSHIP}=true and name the HPA \
             in spec.advanced.horizontalPodAutoscalerConfig.name"
        );
        return Some(Finding::new(&FOREIGN_HPA, FieldPath::of("spec.scaleTargetRef.name"), problem, remedy));
    }
    let config = object.spec.advanced.as_ref().and_then(|advanced| advanced.horizontal_pod_autoscaler_config.as_ref());
    let named = config.and_then(|config| config.name.as_deref());
    (named != Some(&**name)).then(|| {
        let problem = format!(
            "the existing hpa '{name}' for workload '{target}' of type '{kind}' must be specified by name in advanced settings \
             to enable ownership transfer"
        );
        let path = FieldPath::of("spec.advanced.horizontalPodAutoscalerConfig.name");
        Finding::new(&TRANSFER_UNNAMED, path, problem, format!("write {name} there"))
    })
}
