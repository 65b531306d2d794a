//! Triggers beside each other. What each says by itself is for `parameters`.

use kedge_api::trigger::Trigger;
use kedge_core::validate::{SpecError, validate_triggers};
use kedge_scalers::registry;

use super::trigger_path;
use crate::finding::{FieldPath, Finding, Rule, Severity};

pub static NO_TRIGGERS: Rule = Rule {
    id: "no-triggers",
    severity: Severity::Error,
    about: "there is no trigger",
    counted_as: Some("incorrect-triggers"),
};

pub static CACHE_UNSUPPORTED: Rule = Rule {
    id: "cache-unsupported",
    severity: Severity::Error,
    about: "useCachedMetrics is set on a cpu, memory or cron trigger",
    counted_as: Some("incorrect-triggers"),
};

pub static TRIGGER_NAME_TWICE: Rule = Rule {
    id: "trigger-name-twice",
    severity: Severity::Error,
    about: "two triggers have the same name",
    counted_as: Some("incorrect-triggers"),
};

pub fn check(triggers: &[Trigger]) -> Vec<Finding> {
    validate_triggers(triggers, registry::class_of).into_iter().filter_map(|problem| explain(&problem)).collect()
}

fn explain(problem: &SpecError) -> Option<Finding> {
    let text = problem.to_string();
    match problem {
        SpecError::NoTriggers => {
            Some(Finding::new(&NO_TRIGGERS, FieldPath::of("spec.triggers"), text, "add at least one trigger"))
        }
        SpecError::CannotCache { index, .. } => {
            let path = trigger_path(*index).key("useCachedMetrics");
            Some(Finding::new(&CACHE_UNSUPPORTED, path, text, "leave it out for this trigger"))
        }
        SpecError::DuplicateName { index, .. } => {
            let path = trigger_path(*index).key("name");
            Some(Finding::new(&TRIGGER_NAME_TWICE, path, text, "give each trigger a name of its own, or none"))
        }
        _ => None,
    }
}
