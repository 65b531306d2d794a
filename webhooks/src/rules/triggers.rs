//! The list of triggers: its length, names and caches. `parameters` validates each trigger.

use kedge_api::trigger::Trigger;
use kedge_core::validate::{SpecError, validate_triggers};
use kedge_scalers::registry;

use super::trigger::trigger_path;
use crate::violation::{FieldPath, Rule, Severity, Violation};

pub static NO_TRIGGERS: Rule = Rule {
    id: "no-triggers",
    severity: Severity::Error,
    about: "there is no trigger",
    counted_as: Some("incorrect-triggers"),
};

pub static UNSUPPORTED_CACHED_METRICS: Rule = Rule {
    id: "unsupported-cached-metrics",
    severity: Severity::Error,
    about: "useCachedMetrics is set on a cpu, memory or cron trigger",
    counted_as: Some("incorrect-triggers"),
};

pub static DUPLICATE_TRIGGER_NAME: Rule = Rule {
    id: "duplicate-trigger-name",
    severity: Severity::Error,
    about: "two triggers have the same name",
    counted_as: Some("incorrect-triggers"),
};

pub fn check(triggers: &[Trigger]) -> Vec<Violation> {
    validate_triggers(triggers, registry::class_of).into_iter().filter_map(|problem| explain(&problem)).collect()
}

fn explain(problem: &SpecError) -> Option<Violation> {
    let text = problem.to_string();
    match problem {
        SpecError::NoTriggers => {
            Some(Violation::new(&NO_TRIGGERS, FieldPath::new("spec.triggers"), text, "add at least one trigger"))
        }
        SpecError::CannotCache { index, .. } => {
            let path = trigger_path(*index).key("useCachedMetrics");
            Some(Violation::new(&UNSUPPORTED_CACHED_METRICS, path, text, "leave it out for this trigger"))
        }
        SpecError::DuplicateName { index, .. } => {
            let path = trigger_path(*index).key("name");
            Some(Violation::new(&DUPLICATE_TRIGGER_NAME, path, text, "give each trigger a name of its own, or none"))
        }
        _ => None,
    }
}
