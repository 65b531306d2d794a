//! Trigger types: those that only KEDA has, and unknown ones.

use kedge_api::trigger::Trigger;
use kedge_scalers::{keda, registry};

use super::trigger::trigger_path;
use crate::nearest::nearest;
use crate::violation::{Rule, Severity, Violation};

pub static UNSUPPORTED_TRIGGER_TYPE: Rule = Rule {
    id: "unsupported-trigger-type",
    severity: Severity::Warning,
    about: "KEDA has this trigger type, Kedge does not yet: the object will not be ready",
    counted_as: None,
};

pub static UNKNOWN_TRIGGER_TYPE: Rule = Rule {
    id: "unknown-trigger-type",
    severity: Severity::Warning,
    about: "there is no such trigger type: the object will not be ready",
    counted_as: None,
};

pub fn check(triggers: &[Trigger]) -> Vec<Violation> {
    let unsupported = triggers.iter().enumerate().filter(|(_, trigger)| registry::find(&trigger.r#type).is_none());
    unsupported.map(|(index, trigger)| warn(index, &trigger.r#type)).collect()
}

fn warn(index: usize, trigger_type: &str) -> Violation {
    let path = trigger_path(index).key("type");
    if keda::has_trigger_type(trigger_type) {
        let problem =
            format!("the trigger type {trigger_type:?} of KEDA is not supported yet, and this trigger will not work");
        let remedy = format!("Kedge has {}; `external` can ask anything", registry::names());
        return Violation::new(&UNSUPPORTED_TRIGGER_TYPE, path, problem, remedy);
    }
    // KEDA: the message of its operator.
    let problem = format!("no scaler found for type: {trigger_type:?}");
    let known = keda::trigger_types().chain(registry::TRIGGER_TYPES.iter().map(|known| known.name));
    let remedy = match nearest(trigger_type, known) {
        Some(near) => format!("write {near}"),
        None => format!("use one of {}", registry::names()),
    };
    Violation::new(&UNKNOWN_TRIGGER_TYPE, path, problem, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_supported_or_missing_or_unknown() {
        let rows = [
            ("cron", None, ""),
            ("solace-event-queue", Some(&UNSUPPORTED_TRIGGER_TYPE), "`external` can ask anything"),
            ("telepathy", Some(&UNKNOWN_TRIGGER_TYPE), "use one of apache-kafka, "),
            ("Cron", Some(&UNKNOWN_TRIGGER_TYPE), "write cron"),
            (" kafka", Some(&UNKNOWN_TRIGGER_TYPE), "write kafka"),
            ("promethues", Some(&UNKNOWN_TRIGGER_TYPE), "write prometheus"),
            ("", Some(&UNKNOWN_TRIGGER_TYPE), "use one of"),
        ];
        for (trigger_type, rule, remedy) in rows {
            let trigger = Trigger { r#type: trigger_type.to_owned(), ..super::super::tests::cron() };
            let found = check(&[trigger]);
            assert_eq!(found.first().map(|violation| violation.rule), rule, "{trigger_type}");
            assert!(found.iter().all(|violation| violation.remedy.contains(remedy)), "{trigger_type}: {found:?}");
        }
    }
}
