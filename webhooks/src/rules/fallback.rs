//! The fallback of a ScaledObject.

use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_core::formula::settings::has_modifiers;

use super::trigger::resource_of;
use crate::violation::{FieldPath, Rule, Severity, Violation};

pub static NEGATIVE_FALLBACK: Rule = Rule {
    id: "negative-fallback",
    severity: Severity::Error,
    about: "failureThreshold or replicas of the fallback is below 0",
    counted_as: Some("incorrect-fallback"),
};

pub static FALLBACK_WITHOUT_SOURCE: Rule = Rule {
    id: "fallback-without-source",
    severity: Severity::Error,
    about: "a fallback is set, but all triggers are cpu or memory, which have no fallback",
    counted_as: Some("incorrect-fallback"),
};

pub fn check(spec: &ScaledObjectSpec) -> Vec<Violation> {
    let Some(fallback) = &spec.fallback else { return Vec::new() };
    let mut violations = Vec::new();
    let (threshold, replicas) = (fallback.failure_threshold, fallback.replicas);
    if threshold < 0 || replicas < 0 {
        let field = if threshold < 0 { "failureThreshold" } else { "replicas" };
        violations.push(Violation::new(
            &NEGATIVE_FALLBACK,
            FieldPath::new("spec.fallback").key(field),
            format!("FailureThreshold={threshold} & Replicas={replicas} must both be greater than or equal to 0"),
            "write 0 or more",
        ));
    }
    let only_resources = spec.triggers.iter().all(|trigger| resource_of(trigger).is_some());
    // KEDA: does not check the metric type that the message mentions.
    if only_resources && !has_modifiers(spec) {
        violations.push(Violation::new(
            &FALLBACK_WITHOUT_SOURCE,
            FieldPath::new("spec.fallback"),
            "at least one trigger (that is not cpu or memory) has to have the `AverageValue` type for the fallback to be enabled",
            "add such a trigger, or leave the fallback out",
        ));
    }
    violations
}
