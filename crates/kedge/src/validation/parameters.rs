//! Misspelled parameters of triggers. No other rule reports them: a misspelled optional parameter has no effect.

use kedge_api::trigger::Trigger;
use kedge_scalers::field::FROM_ENV;
use kedge_scalers::registry;
use kedge_webhooks::nearest::nearest;
use kedge_webhooks::violation::{FieldPath, Rule, Severity, Violation};

pub(super) static MISSPELLED_PARAMETER: Rule = Rule {
    id: "misspelled-parameter",
    severity: Severity::Warning,
    about: "a parameter of a trigger resembles a known one, and has no effect as it is",
    counted_as: None,
};

pub(super) fn check(index: usize, trigger: &Trigger) -> Vec<Violation> {
    let Some(known) = registry::find(&trigger.r#type) else { return Vec::new() };
    let suggestion = |key: &str| {
        let (name, source) = key.strip_suffix(FROM_ENV).map_or((key, ""), |name| (name, FROM_ENV));
        let near = if known.expects(key) { None } else { nearest(name, known.metadata_names()) };
        near.map(|near| format!("{near}{source}"))
    };
    let misspelled =
        trigger.metadata.keys().filter_map(|key| Some((key, suggestion(key)?))).map(|(key, suggestion)| {
            let path = FieldPath::new("spec.triggers").index(index).key("metadata").key(key);
            let problem = format!("is not a parameter of a {} trigger, and has no effect", trigger.r#type);
            Violation::new(&MISSPELLED_PARAMETER, path, problem, format!("write {suggestion}"))
        });
    misspelled.collect()
}
