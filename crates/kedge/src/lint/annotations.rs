//! Annotations that are almost those that steer an object: nobody refuses them, and a pause that is misspelt pauses nothing.

use std::collections::BTreeMap;

use kedge_api::names::annotations;
use kedge_core::policy::{Overrides, Pause};
use kedge_webhooks::finding::{FieldPath, Finding, Rule, Severity};
use kedge_webhooks::nearest::nearest;

pub(super) static PAUSE_UNREADABLE: Rule = Rule {
    id: "pause-unreadable",
    severity: Severity::Warning,
    about: "the annotation that pauses at some replicas does not hold a number: the object is paused as it is, and not ready",
    counted_as: None,
};

pub(super) static ANNOTATION_MISSPELT: Rule = Rule {
    id: "annotation-misspelt",
    severity: Severity::Warning,
    about: "an annotation of keda.sh is almost one that has an effect, and has none as it is",
    counted_as: None,
};

/// Those that have an effect on the objects of users.
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

pub(super) fn check(annotations: Option<&BTreeMap<String, String>>) -> Vec<Finding> {
    let mut findings = Vec::from_iter(pause(annotations));
    let keys = annotations.into_iter().flat_map(BTreeMap::keys);
    findings.extend(keys.filter_map(|key| Some(misspelt(key, meant(key)?))));
    findings
}

fn pause(annotations: Option<&BTreeMap<String, String>>) -> Option<Finding> {
    let Pause::Unreadable(value) = Overrides::from_annotations(annotations).pause else { return None };
    let problem = format!("{value:?} is not a number of replicas: the object is paused as it is, and not ready");
    let remedy = "give a whole number in quotes, such as \"0\"";
    Some(Finding::new(&PAUSE_UNREADABLE, path(annotations::PAUSED_REPLICAS), problem, remedy))
}

/// The annotation that was probably meant: the same name in another domain, or one with few letters wrong.
fn meant(key: &str) -> Option<&'static str> {
    let (domain, name) = key.split_once('/')?;
    if !domain.ends_with("keda.sh") || key == annotations::VALIDATIONS_HPA_OWNERSHIP || KNOWN.contains(&key) {
        return None;
    }
    let name_of = |known: &'static str| known.rsplit('/').next().unwrap_or(known);
    let meant = nearest(name, KNOWN.map(name_of))?;
    KNOWN.into_iter().find(|known| name_of(known) == meant)
}

fn misspelt(key: &str, meant: &str) -> Finding {
    Finding::new(&ANNOTATION_MISSPELT, path(key), "has no effect", format!("write {meant}"))
}

fn path(key: &str) -> FieldPath {
    FieldPath::of("metadata.annotations").key(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_known_by_name_and_domain() {
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
            assert_eq!(meant(key), expected, "{key}");
        }
    }
}
