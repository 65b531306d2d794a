//! What to do when a source does not answer.

use kedge_api::scaled_object::ScaledObjectSpec;

use super::{modifiers, resource_of};
use crate::finding::{FieldPath, Finding, Rule, Severity};

pub static FALLBACK_NEGATIVE: Rule = Rule {
    id: "fallback-negative",
    severity: Severity::Error,
    about: "failureThreshold or replicas of the fallback is below 0",
    counted_as: Some("incorrect-fallback"),
};

pub static FALLBACK_WITHOUT_SOURCE: Rule = Rule {
    id: "fallback-without-source",
    severity: Severity::Error,
    about: "there is a fallback, but only cpu and memory triggers, which cannot fall back",
    counted_as: Some("incorrect-fallback"),
};

pub fn check(spec: &ScaledObjectSpec) -> Vec<Finding> {
    let Some(fallback) = &spec.fallback else { return Vec::new() };
    let mut findings = Vec::new();
    let (threshold, replicas) = (fallback.failure_threshold, fallback.replicas);
    if threshold < 0 || replicas < 0 {
        let field = if threshold < 0 { "failureThreshold" } else { "replicas" };
        findings.push(Finding::new(
            &FALLBACK_NEGATIVE,
            FieldPath::of("spec.fallback").key(field),
            format!("FailureThreshold={threshold} & Replicas={replicas} must both be greater than or equal to 0"),
            "write 0 or more",
        ));
    }
    let only_resources = spec.triggers.iter().all(|trigger| resource_of(trigger).is_some());
    // KEDA: the metric type, of which the words speak, is not looked at.
    if only_resources && !modifiers::are_used(spec) {
        findings.push(Finding::new(
            &FALLBACK_WITHOUT_SOURCE,
            FieldPath::of("spec.fallback"),
            "at least one trigger (that is not cpu or memory) has to have the `AverageValue` type for the fallback to be enabled",
            "add such a trigger, or leave the fallback out",
        ));
    }
    findings
}
