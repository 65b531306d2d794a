//! The lengths of names: the ScaledObject's, which becomes a label value, and the HPA's.

use kedge_api::ScaledObject;
use kedge_api::names::labels;
use kedge_core::hpa::render::hpa_name;

use crate::violation::{FieldPath, Rule, Severity, Violation};

/// The longest value of a label.
const NAME_BYTES_MAX: usize = 63;

pub static NAME_TOO_LONG: Rule = Rule {
    id: "name-too-long",
    severity: Severity::Error,
    about: "the name of the ScaledObject is longer than 63 characters, the maximum of a label value",
    counted_as: Some("name-too-long"),
};

pub static HPA_NAME_TOO_LONG: Rule = Rule {
    id: "hpa-name-too-long",
    severity: Severity::Error,
    about: "the name of the HPA, explicit or `keda-hpa-` followed by the ScaledObject's name, is longer than 63 characters",
    counted_as: Some("hpa-name-too-long"),
};

pub fn check(object: &ScaledObject) -> Vec<Violation> {
    let mut violations = Vec::new();
    let name = object.metadata.name.as_deref().unwrap_or_default();
    if name.len() > NAME_BYTES_MAX {
        violations.push(Violation::new(
            &NAME_TOO_LONG,
            FieldPath::new("metadata.name"),
            format!(
                "scaledobject name {name:?} is {} characters long; must be no more than {NAME_BYTES_MAX} characters because it is \
                 used as the {:?} label value",
                name.len(),
                labels::SCALED_OBJECT_NAME
            ),
            "give it a shorter name",
        ));
    }
    let hpa = hpa_name(object);
    if hpa.len() > NAME_BYTES_MAX {
        violations.push(Violation::new(
            &HPA_NAME_TOO_LONG,
            hpa_name_path(object),
            format!("hpa name {hpa:?} is {} characters long; must be no more than {NAME_BYTES_MAX} characters", hpa.len()),
            "set spec.advanced.horizontalPodAutoscalerConfig.name to a shorter one, or shorten the name of the ScaledObject",
        ));
    }
    violations
}

/// The field that the name of the HPA comes from.
pub(super) fn hpa_name_path(object: &ScaledObject) -> FieldPath {
    let config = object.spec.advanced.as_ref().and_then(|advanced| advanced.horizontal_pod_autoscaler_config.as_ref());
    match config.and_then(|config| config.name.as_ref()) {
        Some(name) if !name.is_empty() => FieldPath::new("spec.advanced.horizontalPodAutoscalerConfig.name"),
        _ => FieldPath::new("metadata.name"),
    }
}
