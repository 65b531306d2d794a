//! The parameters of each trigger, validated by the code that will run it.
//!
//! KEDA validates none of them before the object is stored. Authentication and the environment of the target are not known here, so
//! that parameters which they may set are not reported missing.

use std::collections::BTreeSet;

use kedge_api::trigger::Trigger;
use kedge_scalers::{FieldError, Owner, Registry, TriggerConfig, registry};

use super::trigger::trigger_path;
use crate::violation::{FieldPath, Rule, Severity, Violation};

pub static INVALID_TRIGGER: Rule = Rule {
    id: "invalid-trigger",
    severity: Severity::Error,
    about: "a parameter of a trigger is missing or invalid: a schedule, a time zone, an address, a number, a selector",
    counted_as: Some("incorrect-triggers"),
};

/// Validates the triggers that are new or changed. A trigger that is stored already may stay as it is.
pub fn check(registry: &Registry, owner: Owner<'_>, triggers: &[Trigger], before: &[Trigger]) -> Vec<Violation> {
    let serialized = |trigger: &Trigger| serde_json::to_string(trigger).unwrap_or_default();
    let before: BTreeSet<String> = before.iter().map(serialized).collect();
    let changed = triggers.iter().enumerate().filter(|(_, trigger)| !before.contains(&serialized(trigger)));
    let known = changed.filter(|(_, trigger)| registry::find(&trigger.r#type).is_some());
    known.flat_map(|(index, trigger)| check_one(registry, owner, index, trigger)).collect()
}

fn check_one(registry: &Registry, owner: Owner<'_>, index: usize, trigger: &Trigger) -> Vec<Violation> {
    check_config(registry, &TriggerConfig::new(owner, index, trigger))
}

/// Validates a trigger as it is given.
pub fn check_config(registry: &Registry, trigger: &TriggerConfig<'_>) -> Vec<Violation> {
    registry.check(trigger).into_iter().map(|problem| explain(trigger, problem)).collect()
}

fn explain(trigger: &TriggerConfig<'_>, FieldError { field, problem, remedy }: FieldError) -> Violation {
    let problem = format!("trigger {} ({}): `{field}` {problem}", trigger.index, trigger.trigger_type);
    Violation::new(&INVALID_TRIGGER, parameter_path(trigger.index, field), problem, remedy)
}

fn parameter_path(index: usize, field: String) -> FieldPath {
    let path = trigger_path(index);
    if field == "metricType" { path.key(field) } else { path.key("metadata").key(field) }
}
