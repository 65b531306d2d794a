//! Every admission rule. Each is pure: an object and its neighbours in, all violations out, in a fixed order, with field and
//! remedy. One file per subject.

pub mod authentication;
pub mod duplicates;
pub mod fallback;
pub mod hpas;
pub mod ineffective;
pub mod modifiers;
pub mod names;
pub mod oauth2;
pub mod parameters;
pub mod replicas;
pub mod resource_requests;
pub mod target;
mod trigger;
pub mod trigger_types;
pub mod triggers;

use kedge_api::ScaledObject;
use kedge_api::scaled_job::ScaledJob;
use kedge_api::trigger::Trigger;
use kedge_core::formula::settings::has_modifiers;
use kedge_scalers::{Owner, Registry, Role};

use crate::neighbours::Neighbours;
use crate::violation::{Rule, Violation};

/// All admission rules, in the order in which their violations are reported.
pub static ALL: [&Rule; 37] = [
    &target::UNKNOWN_TARGET_KIND,
    &duplicates::DUPLICATE_TARGET,
    &duplicates::DUPLICATE_HPA_NAME,
    &modifiers::FALLBACK_WITHOUT_FORMULA,
    &modifiers::MISSING_FORMULA,
    &modifiers::INVALID_FORMULA,
    &modifiers::MISSING_FORMULA_TARGET,
    &modifiers::INVALID_FORMULA_TARGET,
    &modifiers::INVALID_FORMULA_ACTIVATION_TARGET,
    &resource_requests::MISSING_TARGET,
    &resource_requests::MISSING_RESOURCE_REQUEST,
    &resource_requests::UNSUPPORTED_SCALE_TO_ZERO,
    &hpas::CONFLICTING_HPA,
    &hpas::MISSING_HPA_NAME,
    &replicas::MIN_ABOVE_MAX,
    &replicas::IDLE_NOT_BELOW_MIN,
    &fallback::NEGATIVE_FALLBACK,
    &fallback::FALLBACK_WITHOUT_SOURCE,
    &names::NAME_TOO_LONG,
    &names::HPA_NAME_TOO_LONG,
    &triggers::NO_TRIGGERS,
    &triggers::UNSUPPORTED_CACHED_METRICS,
    &triggers::DUPLICATE_TRIGGER_NAME,
    &parameters::INVALID_TRIGGER,
    &ineffective::UNUSED_POLLING_INTERVAL,
    &ineffective::UNUSED_COOLDOWN_PERIOD,
    &ineffective::UNUSED_INITIAL_COOLDOWN_PERIOD,
    &ineffective::IDLE_ABOVE_ZERO,
    &ineffective::COOLDOWN_GATES_LAST_STEP,
    &trigger_types::UNSUPPORTED_TRIGGER_TYPE,
    &trigger_types::UNKNOWN_TRIGGER_TYPE,
    &authentication::INVALID_SERVICE_PRINCIPAL,
    &authentication::INVALID_AZURE_IDENTITY,
    &authentication::CONFLICTING_AWS_ROLE,
    &authentication::AWS_EXTERNAL_ID_WITHOUT_ROLE,
    &oauth2::INVALID_OAUTH2,
    &authentication::CLUSTER_ONLY_FILE_PATH,
];

/// Whether the object will be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    Real,
    DryRun,
}

/// All violations of a ScaledObject. `before` are the triggers that are stored already.
pub fn scaled_object(
    registry: &Registry,
    object: &ScaledObject,
    before: &[Trigger],
    neighbours: &Neighbours,
    run: Run,
) -> Vec<Violation> {
    let spec = &object.spec;
    let owner = owner(object);
    let mut violations = target::check(spec, neighbours);
    violations.extend(duplicates::check(object, neighbours));
    violations.extend(modifiers::check(spec));
    // KEDA: a dry run does not fetch the target.
    if run == Run::Real {
        violations.extend(resource_requests::check(spec, neighbours));
    }
    violations.extend(hpas::check(object, neighbours));
    violations.extend(replicas::check(spec));
    violations.extend(fallback::check(spec));
    violations.extend(names::check(object));
    violations.extend(triggers::check(&spec.triggers));
    violations.extend(parameters::check(registry, owner, &spec.triggers, before));
    violations.extend(ineffective::check(spec));
    violations.extend(trigger_types::check(&spec.triggers));
    violations
}

/// All violations of a ScaledJob. `before` are the triggers that are stored already.
// KEDA: validates only its triggers.
pub fn scaled_job(registry: &Registry, job: &ScaledJob, before: &[Trigger]) -> Vec<Violation> {
    let owner = owner_of(&job.metadata, Role::Metric);
    let mut violations = triggers::check(&job.spec.triggers);
    violations.extend(parameters::check(registry, owner, &job.spec.triggers, before));
    violations.extend(trigger_types::check(&job.spec.triggers));
    violations
}

/// The owner of a ScaledObject's triggers.
pub fn owner(object: &ScaledObject) -> Owner<'_> {
    let role = if has_modifiers(&object.spec) { Role::FormulaInput } else { Role::Metric };
    owner_of(&object.metadata, role)
}

fn owner_of(metadata: &kube::core::ObjectMeta, role: Role) -> Owner<'_> {
    Owner {
        namespace: metadata.namespace.as_deref().unwrap_or_default(),
        name: metadata.name.as_deref().unwrap_or_default(),
        role,
    }
}

#[cfg(test)]
pub(crate) mod tests;
