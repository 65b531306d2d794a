//! Trigger types: those that KEDA has and Kedge does not, and those that nobody has.

use kedge_api::trigger::Trigger;
use kedge_scalers::{keda, registry};

use super::trigger_path;
use crate::finding::{Finding, Rule, Severity};
use crate::nearest::nearest;

pub static TYPE_UNSUPPORTED: Rule = Rule {
    id: "trigger-type-unsupported",
    severity: Severity::Warning,
    about: "KEDA has this trigger type, but Kedge does not yet: the object will not be ready",
    counted_as: None,
};

pub static TYPE_UNKNOWN: Rule = Rule {
    id: "trigger-type-unknown",
    severity: Severity::Warning,
    about: "there is no such trigger type: the object will not be ready",
    counted_as: None,
};

pub fn check(triggers: &[Trigger]) -> Vec<Finding> {
    let lacking = triggers.iter().enumerate().filter(|(_, trigger)| registry::find(&trigger.r#type).is_none());
    lacking.map(|(index, trigger)| warn(index, &trigger.r#type)).collect()
}

fn warn(index: usize, kind: &str) -> Finding {
    let path = trigger_path(index).key("type");
    if keda::has_trigger_type(kind) {
        let problem = format!("the trigger type {kind:?} of KEDA is not supported yet, and this trigger will not work");
        let remedy = format!("Kedge has {}; `external` can ask anything", registry::names());
        return Finding::new(&TYPE_UNSUPPORTED, path, problem, remedy);
    }
    // KEDA: the words of its operator for this.
    let problem = format!("no scaler found for type: {kind:?}");
    let remedy =
        match nearest(kind, keda::trigger_types().chain(registry::TRIGGER_TYPES.iter().map(|known| known.name))) {
            Some(near) => format!("write {near}"),
            None => format!("use one of {}", registry::names()),
        };
    Finding::new(&TYPE_UNKNOWN, path, problem, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_supported_or_missing_or_unknown() {
        let rows = [
            ("cron", None, ""),
            ("kafka", Some(&TYPE_UNSUPPORTED), "`external` can ask anything"),
            ("telepathy", Some(&TYPE_UNKNOWN), "use one of cpu, cron"),
            ("Cron", Some(&TYPE_UNKNOWN), "write cron"),
            (" kafka", Some(&TYPE_UNKNOWN), "write kafka"),
            ("promethues", Some(&TYPE_UNKNOWN), "write prometheus"),
            ("", Some(&TYPE_UNKNOWN), "use one of"),
        ];
        for (kind, rule, remedy) in rows {
            let trigger = Trigger { r#type: kind.to_owned(), ..super::super::tests::cron() };
            let found = check(&[trigger]);
            assert_eq!(found.first().map(|finding| finding.rule), rule, "{kind}");
            assert!(found.iter().all(|finding| finding.remedy.contains(remedy)), "{kind}: {found:?}");
        }
    }
}
