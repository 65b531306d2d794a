//! Parameters of triggers that are almost right. No other check refuses them: a misspelt optional parameter has no effect.

use kedge_api::trigger::Trigger;
use kedge_scalers::registry;
use kedge_scalers::trigger_type::field::FROM_ENV;
use kedge_webhooks::finding::{FieldPath, Finding, Rule, Severity};
use kedge_webhooks::nearest::nearest;

pub(super) static PARAMETER_MISSPELT: Rule = Rule {
    id: "parameter-misspelt",
    severity: Severity::Warning,
    about: "a parameter of a trigger is almost that of another name, and has no effect as it is",
    counted_as: None,
};

pub(super) fn check(index: usize, trigger: &Trigger) -> Vec<Finding> {
    let Some(known) = registry::find(&trigger.r#type) else { return Vec::new() };
    let meant = |key: &str| {
        let (name, source) = key.strip_suffix(FROM_ENV).map_or((key, ""), |name| (name, FROM_ENV));
        let meant = if known.expects(key) { None } else { nearest(name, known.metadata_names()) };
        meant.map(|meant| format!("{meant}{source}"))
    };
    let misspelt = trigger.metadata.keys().filter_map(|key| Some((key, meant(key)?))).map(|(key, meant)| {
        let path = FieldPath::of("spec.triggers").index(index).key("metadata").key(key);
        let problem = format!("is no parameter of a {} trigger, and has no effect", trigger.r#type);
        Finding::new(&PARAMETER_MISSPELT, path, problem, format!("write {meant}"))
    });
    misspelt.collect()
}
