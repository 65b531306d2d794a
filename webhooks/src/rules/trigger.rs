//! What several rules need to know of a trigger.

use kedge_api::trigger::Trigger;
use kedge_core::trigger_class::{Resource, TriggerClass};
use kedge_scalers::registry;

use crate::violation::FieldPath;

/// The path of a trigger.
pub(super) fn trigger_path(index: usize) -> FieldPath {
    FieldPath::new("spec.triggers").index(index)
}

/// The resource that a trigger scales on, if the HPA controller measures one for it.
pub(super) fn resource_of(trigger: &Trigger) -> Option<Resource> {
    registry::class_of(&trigger.r#type).and_then(TriggerClass::resource)
}
