//! How many replicas there may be.

use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_core::validate::{SpecError, validate_bounds};

use crate::finding::{FieldPath, Finding, Rule, Severity};

pub static MIN_ABOVE_MAX: Rule = Rule {
    id: "min-above-max",
    severity: Severity::Error,
    about: "minReplicaCount is above maxReplicaCount, which is 100 unless given",
    counted_as: Some("incorrect-replicas"),
};

pub static IDLE_NOT_BELOW_MIN: Rule = Rule {
    id: "idle-not-below-min",
    severity: Severity::Error,
    about: "idleReplicaCount is not below minReplicaCount, which is 0 unless given, while a 0 that is given counts as 1",
    counted_as: Some("incorrect-replicas"),
};

pub fn check(spec: &ScaledObjectSpec) -> Vec<Finding> {
    validate_bounds(spec).into_iter().filter_map(|problem| explain(&problem)).collect()
}

fn explain(problem: &SpecError) -> Option<Finding> {
    let text = problem.to_string();
    match problem {
        SpecError::MinAboveMax { .. } => {
            let remedy = "lower minReplicaCount or raise maxReplicaCount";
            Some(Finding::new(&MIN_ABOVE_MAX, FieldPath::of("spec.minReplicaCount"), text, remedy))
        }
        SpecError::IdleNotBelowMin { .. } => {
            let remedy = "give a minReplicaCount above it, or leave idleReplicaCount out";
            Some(Finding::new(&IDLE_NOT_BELOW_MIN, FieldPath::of("spec.idleReplicaCount"), text, remedy))
        }
        _ => None,
    }
}
