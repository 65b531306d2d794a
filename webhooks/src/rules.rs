//! Every rule. Each is pure: an object and what is known of its neighbours in, everything that is wrong with it out, in a
//! fixed order, with field and remedy. One file a subject.

pub mod authentication;
pub mod duplicates;
pub mod fallback;
pub mod hpas;
pub mod kinds;
pub mod modifiers;
pub mod names;
pub mod oauth2;
pub mod parameters;
pub mod replicas;
pub mod requests;
pub mod surprises;
pub mod target;
pub mod triggers;

use kedge_api::ScaledObject;
use kedge_api::scaled_job::ScaledJob;
use kedge_api::trigger::Trigger;
use kedge_core::trigger_class::{Resource, TriggerClass};
use kedge_scalers::{Owner, Registry, Role, registry};

use crate::finding::{FieldPath, Finding, Rule};
use crate::neighbours::Neighbours;

/// All rules there are, in the order in which their findings are told.
pub static ALL: [&Rule; 37] = [
    &target::KIND_UNKNOWN,
    &duplicates::TARGET_TAKEN,
    &duplicates::HPA_NAME_TAKEN,
    &modifiers::FALLBACK_WITHOUT_FORMULA,
    &modifiers::FORMULA_MISSING,
    &modifiers::FORMULA_WRONG,
    &modifiers::FORMULA_WITHOUT_TARGET,
    &modifiers::FORMULA_TARGET_WRONG,
    &modifiers::FORMULA_ACTIVATION_WRONG,
    &requests::TARGET_MISSING,
    &requests::REQUEST_MISSING,
    &requests::ONLY_RESOURCES_TO_ZERO,
    &hpas::FOREIGN_HPA,
    &hpas::TRANSFER_UNNAMED,
    &replicas::MIN_ABOVE_MAX,
    &replicas::IDLE_NOT_BELOW_MIN,
    &fallback::FALLBACK_NEGATIVE,
    &fallback::FALLBACK_WITHOUT_SOURCE,
    &names::NAME_TOO_LONG,
    &names::HPA_NAME_TOO_LONG,
    &triggers::NO_TRIGGERS,
    &triggers::CACHE_UNSUPPORTED,
    &triggers::TRIGGER_NAME_TWICE,
    &parameters::TRIGGER_WRONG,
    &surprises::POLLING_UNUSED,
    &surprises::COOLDOWN_UNUSED,
    &surprises::INITIAL_COOLDOWN_UNUSED,
    &surprises::IDLE_ABOVE_ZERO,
    &surprises::COOLDOWN_GATES_LAST_STEP,
    &kinds::TYPE_UNSUPPORTED,
    &kinds::TYPE_UNKNOWN,
    &authentication::SERVICE_PRINCIPAL_WRONG,
    &authentication::AZURE_IDENTITY_EMPTY,
    &authentication::AWS_ROLE_NOT_OURS,
    &authentication::AWS_EXTERNAL_ID_ALONE,
    &oauth2::OAUTH2_WRONG,
    &authentication::FILE_PATH_NAMESPACED,
];

/// Whether the object is to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    Real,
    /// It is only tried out.
    Dry,
}

/// Everything that is to be said of a ScaledObject. `before` are the triggers that it has already.
pub fn scaled_object(
    registry: &Registry,
    object: &ScaledObject,
    before: &[Trigger],
    neighbours: &Neighbours,
    run: Run,
) -> Vec<Finding> {
    let spec = &object.spec;
    let role = if modifiers::are_used(spec) { Role::FormulaInput } else { Role::Metric };
    let owner = owner(&object.metadata, role);
    let mut findings = target::check(spec, neighbours);
    findings.extend(duplicates::check(object, neighbours));
    findings.extend(modifiers::check(spec));
    // KEDA: a dry run does not look into the target.
    if run == Run::Real {
        findings.extend(requests::check(spec, neighbours));
    }
    findings.extend(hpas::check(object, neighbours));
    findings.extend(replicas::check(spec));
    findings.extend(fallback::check(spec));
    findings.extend(names::check(object));
    findings.extend(triggers::check(&spec.triggers));
    findings.extend(parameters::check(registry, owner, &spec.triggers, before));
    findings.extend(surprises::check(spec));
    findings.extend(kinds::check(&spec.triggers));
    findings
}

/// Everything that is to be said of a ScaledJob. `before` are the triggers that it has already.
// KEDA: only its triggers are looked at.
pub fn scaled_job(registry: &Registry, job: &ScaledJob, before: &[Trigger]) -> Vec<Finding> {
    let owner = owner(&job.metadata, Role::Metric);
    let mut findings = triggers::check(&job.spec.triggers);
    findings.extend(parameters::check(registry, owner, &job.spec.triggers, before));
    findings.extend(kinds::check(&job.spec.triggers));
    findings
}

/// The resource that a trigger is about, if the HPA controller measures one for it.
fn resource_of(trigger: &Trigger) -> Option<Resource> {
    registry::class_of(&trigger.r#type).and_then(TriggerClass::resource)
}

fn owner(metadata: &kube::core::ObjectMeta, role: Role) -> Owner<'_> {
    Owner {
        namespace: metadata.namespace.as_deref().unwrap_or_default(),
        name: metadata.name.as_deref().unwrap_or_default(),
        role,
    }
}

/// Where a trigger stands.
fn trigger_path(index: usize) -> FieldPath {
    FieldPath::of("spec.triggers").index(index)
}

#[cfg(test)]
pub(crate) mod tests;
