//! `advanced.scalingModifiers`: one metric computed from several triggers.

use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_core::formula::settings::{self, ModifiersError};
use kedge_scalers::registry;

use crate::violation::{FieldPath, Rule, Severity, Violation};

const PATH: &str = "spec.advanced.scalingModifiers";

pub static MISSING_FORMULA: Rule = Rule {
    id: "missing-formula",
    severity: Severity::Error,
    about: "scalingModifiers has settings, but no formula",
    counted_as: Some("scaling-modifiers"),
};

pub static MISSING_FORMULA_TARGET: Rule = Rule {
    id: "missing-formula-target",
    severity: Severity::Error,
    about: "there is a formula, but no target",
    counted_as: Some("scaling-modifiers"),
};

pub static INVALID_FORMULA: Rule = Rule {
    id: "invalid-formula",
    severity: Severity::Error,
    about: "the formula does not compile, fails in a trial evaluation, or uses a name that no trigger has",
    counted_as: Some("scaling-modifiers"),
};

pub static INVALID_FORMULA_TARGET: Rule = Rule {
    id: "invalid-formula-target",
    severity: Severity::Error,
    about: "the target of the formula is not a number above 0",
    counted_as: Some("scaling-modifiers"),
};

pub static INVALID_FORMULA_ACTIVATION_TARGET: Rule = Rule {
    id: "invalid-formula-activation-target",
    severity: Severity::Error,
    about: "activationTarget is not a number; KEDA reports it only when it scales",
    counted_as: Some("scaling-modifiers"),
};

pub static FALLBACK_WITHOUT_FORMULA: Rule = Rule {
    id: "fallback-without-formula",
    severity: Severity::Error,
    about: "the fallback has the behavior scalingModifiers, but there is no formula",
    counted_as: Some("scaling-modifiers-fallback"),
};

pub fn check(spec: &ScaledObjectSpec) -> Vec<Violation> {
    settings::parse(spec, registry::class_of).err().unwrap_or_default().iter().map(explain).collect()
}

fn explain(problem: &ModifiersError) -> Violation {
    let (rule, path, remedy) = match problem {
        ModifiersError::NoFormula => {
            (&MISSING_FORMULA, FieldPath::new(PATH).key("formula"), "write one over the names of triggers, as in a + b")
        }
        ModifiersError::NoTarget => (
            &MISSING_FORMULA_TARGET,
            FieldPath::new(PATH).key("target"),
            "write the value of the formula that one replica should see",
        ),
        ModifiersError::Formula(_) => (
            &INVALID_FORMULA,
            FieldPath::new(PATH).key("formula"),
            "correct it; every name in it must be the name of a trigger that is not cpu or memory",
        ),
        ModifiersError::Target { .. } => {
            (&INVALID_FORMULA_TARGET, FieldPath::new(PATH).key("target"), "write a number above 0")
        }
        ModifiersError::Activation { .. } => (
            &INVALID_FORMULA_ACTIVATION_TARGET,
            FieldPath::new(PATH).key("activationTarget"),
            "write a number, or leave it out",
        ),
        ModifiersError::FallbackWithoutFormula => (
            &FALLBACK_WITHOUT_FORMULA,
            FieldPath::new("spec.fallback.behavior"),
            "write the formula, or choose another behavior",
        ),
    };
    Violation::new(rule, path, problem.to_string(), remedy)
}
