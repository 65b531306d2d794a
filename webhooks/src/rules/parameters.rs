//! What each trigger says by itself, read by the very code that will run it.
//!
//! KEDA looks at none of this before the object is stored. Authentication and the environment of the target are not known
//! here: what they may give is not called missing.

use std::collections::BTreeSet;

use kedge_api::trigger::Trigger;
use kedge_scalers::{FieldError, Owner, Registry, TriggerConfig, registry};

use super::trigger_path;
use crate::finding::{FieldPath, Finding, Rule, Severity};

pub static TRIGGER_WRONG: Rule = Rule {
    id: "trigger-wrong",
    severity: Severity::Error,
    about: "a parameter of a trigger is missing or cannot be read: a schedule, a time zone, an address, a number, a selector",
    counted_as: Some("incorrect-triggers"),
};

/// Judges the triggers that are new or changed. One that was stored before may stay as it is.
pub fn check(registry: &Registry, owner: Owner<'_>, triggers: &[Trigger], before: &[Trigger]) -> Vec<Finding> {
    let written = |trigger: &Trigger| serde_json::to_string(trigger).unwrap_or_default();
    let before: BTreeSet<String> = before.iter().map(written).collect();
    let news = triggers.iter().enumerate().filter(|(_, trigger)| !before.contains(&written(trigger)));
    let known = news.filter(|(_, trigger)| registry::find(&trigger.r#type).is_some());
    known.flat_map(|(index, trigger)| check_one(registry, owner, index, trigger)).collect()
}

fn check_one(registry: &Registry, owner: Owner<'_>, index: usize, trigger: &Trigger) -> Vec<Finding> {
    let config = TriggerConfig::new(owner, index, trigger);
    registry.check(&config).into_iter().map(|problem| explain(index, trigger, problem)).collect()
}

fn explain(index: usize, trigger: &Trigger, FieldError { field, problem, remedy }: FieldError) -> Finding {
    let problem = format!("trigger {index} ({}): `{field}` {problem}", trigger.r#type);
    Finding::new(&TRIGGER_WRONG, place(index, field), problem, remedy)
}

fn place(index: usize, field: String) -> FieldPath {
    let path = trigger_path(index);
    if field == "metricType" { path.key(field) } else { path.key("metadata").key(field) }
}
