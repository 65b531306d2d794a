//! `advanced.scalingModifiers`: one metric made of several triggers.

use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_core::formula::settings::{self, ModifiersError};
use kedge_scalers::registry;

use crate::finding::{FieldPath, Finding, Rule, Severity};

const PLACE: &str = "spec.advanced.scalingModifiers";

pub static FORMULA_MISSING: Rule = Rule {
    id: "formula-missing",
    severity: Severity::Error,
    about: "something of scalingModifiers is given, but no formula",
    counted_as: Some("scaling-modifiers"),
};

pub static FORMULA_WITHOUT_TARGET: Rule = Rule {
    id: "formula-without-target",
    severity: Severity::Error,
    about: "there is a formula, but no target for its value",
    counted_as: Some("scaling-modifiers"),
};

pub static FORMULA_WRONG: Rule = Rule {
    id: "formula-wrong",
    severity: Severity::Error,
    about: "the formula does not compile, fails when it is tried, or names something that is no named trigger",
    counted_as: Some("scaling-modifiers"),
};

pub static FORMULA_TARGET_WRONG: Rule = Rule {
    id: "formula-target-wrong",
    severity: Severity::Error,
    about: "the target of the formula is not a number above 0",
    counted_as: Some("scaling-modifiers"),
};

pub static FORMULA_ACTIVATION_WRONG: Rule = Rule {
    id: "formula-activation-wrong",
    severity: Severity::Error,
    about: "activationTarget is not a number; KEDA notices it when it first scales",
    counted_as: Some("scaling-modifiers"),
};

pub static FALLBACK_WITHOUT_FORMULA: Rule = Rule {
    id: "fallback-without-formula",
    severity: Severity::Error,
    about: "the fallback has the behavior scalingModifiers, but there is no formula",
    counted_as: Some("scaling-modifiers-fallback"),
};

/// Whether any of its fields is given.
pub(super) fn are_used(spec: &ScaledObjectSpec) -> bool {
    let modifiers = spec.advanced.as_ref().and_then(|advanced| advanced.scaling_modifiers.as_ref());
    modifiers.is_some_and(settings::is_used)
}

pub fn check(spec: &ScaledObjectSpec) -> Vec<Finding> {
    settings::parse(spec, registry::class_of).err().unwrap_or_default().iter().map(explain).collect()
}

fn explain(problem: &ModifiersError) -> Finding {
    let (rule, path, remedy) = match problem {
        ModifiersError::NoFormula => {
            (&FORMULA_MISSING, FieldPath::of(PLACE).key("formula"), "write one over the names of triggers, as in a + b")
        }
        ModifiersError::NoTarget => (
            &FORMULA_WITHOUT_TARGET,
            FieldPath::of(PLACE).key("target"),
            "write the value of the formula that one replica should see",
        ),
        ModifiersError::Formula(_) => (
            &FORMULA_WRONG,
            FieldPath::of(PLACE).key("formula"),
            "correct it; every name in it must be the name of a trigger that is not cpu or memory",
        ),
        ModifiersError::Target { .. } => {
            (&FORMULA_TARGET_WRONG, FieldPath::of(PLACE).key("target"), "write a number above 0")
        }
        ModifiersError::Activation { .. } => {
            (&FORMULA_ACTIVATION_WRONG, FieldPath::of(PLACE).key("activationTarget"), "write a number, or leave it out")
        }
        ModifiersError::FallbackWithoutFormula => (
            &FALLBACK_WITHOUT_FORMULA,
            FieldPath::of("spec.fallback.behavior"),
            "write the formula, or choose another behavior",
        ),
    };
    Finding::new(rule, path, problem.to_string(), remedy)
}
