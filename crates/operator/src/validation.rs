//! The check of a spec before it is used: what makes a ScaledObject unusable as it is written.

use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_core::validate::{ValidationStep, validate};

/// Why a spec is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidSpec {
    /// The first step that failed.
    pub(crate) step: ValidationStep,
    pub(crate) message: String,
}

/// All errors of a spec in one message, or `None` for a valid one.
pub(crate) fn check_spec(spec: &ScaledObjectSpec) -> Option<InvalidSpec> {
    let errors = validate(spec, kedge_scalers::registry::class_of);
    let step = errors.first()?.step();
    let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Some(InvalidSpec { step, message: format!("{}: {}", step.message(), all.join("; ")) })
}
