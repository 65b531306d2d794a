//! Misspelled annotations: the API server accepts them, and a misspelled pause has no effect.

use std::collections::BTreeMap;

use kedge_api::names::annotations;
use kedge_core::policy::{Overrides, Pause};
use kedge_webhooks::nearest::nearest;
use kedge_webhooks::violation::{FieldPath, Rule, Severity, Violation};

pub(super) static INVALID_PAUSED_REPLICAS: Rule = Rule {
    id: "invalid-paused-replicas",
    severity: Severity::Warning,
    about: "the paused-replicas annotation is not a number: the object is paused at its current replicas, and not ready",
    counted_as: None,
};

pub(super) static MISSPELLED_ANNOTATION: Rule = Rule {
    id: "misspelled-annotation",
    severity: Severity::Warning,
    about: "an annotation of keda.sh resembles a known one, and has no effect as it is",
    counted_as: None,
};

/// The annotations that have an effect on objects of users.
const KNOWN: [&str; 8] = [
    annotations::PAUSED,
    annotations::PAUSED_REPLICAS,
    annotations::PAUSED_SCALE_IN,
    annotations::PAUSED_SCALE_OUT,
    annotations::FORCE_ACTIVATION,
    annotations::TRANSFER_HPA_OWNERSHIP,
    annotations::HPA_EXCLUDED_LABELS,
    annotations::JOB_EXCLUDED_LABELS,
];

pub(super) fn check(annotations: Option<&BTreeMap<String, String>>) -> Vec<Violation> {
    let mut violations = Vec::from_iter(pause(annotations));
    let keys = annotations.into_iter().flat_map(BTreeMap::keys);
    violations.extend(keys.filter_map(|key| Some(misspelled(key, suggestion(key)?))));
    violations
}

fn pause(annotations: Option<&BTreeMap<String, String>>) -> Option<Violation> {
    let Pause::Unreadable(value) = Overrides::from_annotations(annotations).pause else { return None };
    let problem = format!("{value:?} is not a number of replicas: the object is paused as it is, and not ready");
    let remedy = "give an integer in quotes, such as \"0\"";
    Some(Violation::new(&INVALID_PAUSED_REPLICAS, path(annotations::PAUSED_REPLICAS), problem, remedy))
}

/// The known annotation that is spelled alike: with the same name in another domain, or within a few edits.
fn suggestion(key: &str) -> Option<&'static str> {
    let (domain, name) = key.split_once('/')?;
    if !domain.ends_with("keda.sh") || key == annotations::VALIDATIONS_HPA_OWNERSHIP || KNOWN.contains(&key) {
        return None;
    }
    let name_of = |known: &'static str| known.rsplit('/').next().unwrap_or(known);
    let suggested = nearest(name, KNOWN.map(name_of))?;
    KNOWN.into_iter().find(|known| name_of(known) == suggested)
}

fn misspelled(key: &str, suggested: &str) -> Violation {
    Violation::new(&MISSPELLED_ANNOTATION, path(key), "has no effect", format!("write {suggested}"))
}

fn path(key: &str) -> FieldPath {
    FieldPath::new("metadata.annotations").key(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_annotation_is_suggested_by_name_and_domain() {
        let rows = [
            ("autoscaling.keda.sh/paused", None),
            ("autoscaling.keda.sh/pause", Some(annotations::PAUSED)),
            ("autoscaling.keda.sh/paused-replica", Some(annotations::PAUSED_REPLICAS)),
            ("keda.sh/paused", Some(annotations::PAUSED)),
            ("autoscaling.keda.sh/transfer-hpa-ownership", Some(annotations::TRANSFER_HPA_OWNERSHIP)),
            ("validations.keda.sh/hpa-ownership", None),
            ("autoscaling.keda.sh/team", None),
            ("example.com/paused", None),
            ("paused", None),
        ];
        for (key, expected) in rows {
            assert_eq!(suggestion(key), expected, "{key}");
        }
    }
}
