//! The bounds of replicas.

use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_core::validate::{SpecError, validate_bounds};

use crate::violation::{FieldPath, Rule, Severity, Violation};

pub static MIN_ABOVE_MAX: Rule = Rule {
    id: "min-above-max",
    severity: Severity::Error,
    about: "minReplicaCount is above maxReplicaCount, which defaults to 100",
    counted_as: Some("incorrect-replicas"),
};

pub static IDLE_NOT_BELOW_MIN: Rule = Rule {
    id: "idle-not-below-min",
    severity: Severity::Error,
    about: "idleReplicaCount is not below minReplicaCount, which defaults to 0; an explicit 0 counts as 1",
    counted_as: Some("incorrect-replicas"),
};

pub fn check(spec: &ScaledObjectSpec) -> Vec<Violation> {
    validate_bounds(spec).into_iter().filter_map(|problem| explain(&problem)).collect()
}

fn explain(problem: &SpecError) -> Option<Violation> {
    let text = problem.to_string();
    match problem {
        SpecError::MinAboveMax { .. } => {
            let remedy = "lower minReplicaCount or raise maxReplicaCount";
            Some(Violation::new(&MIN_ABOVE_MAX, FieldPath::new("spec.minReplicaCount"), text, remedy))
        }
        SpecError::IdleNotBelowMin { .. } => {
            let remedy = "give a minReplicaCount above it, or leave idleReplicaCount out";
            Some(Violation::new(&IDLE_NOT_BELOW_MIN, FieldPath::new("spec.idleReplicaCount"), text, remedy))
        }
        _ => None,
    }
}
