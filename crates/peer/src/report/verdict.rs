//! Decides which changes during a handover are violations.

use std::collections::BTreeMap;

use crate::recorder::{Change, WatchedField, WatchedKind};
use crate::results::Handover;

pub(super) struct Verdict {
    pub(super) violations: Vec<String>,
    pub(super) allowed_changes: Vec<String>,
    pub(super) replicas_changed: usize,
    pub(super) hpas_replaced: usize,
    pub(super) hpa_specs_changed: usize,
    pub(super) hpa_metadata_changed: usize,
    pub(super) ready_changed: usize,
}

impl Verdict {
    pub(super) fn from_handover(handover: &Handover) -> Self {
        let (forbidden, allowed): (Vec<&Change>, Vec<&Change>) =
            handover.changes.iter().partition(|change| is_violation(change));
        let mut violations: Vec<String> = forbidden.iter().map(ToString::to_string).collect();
        violations.extend(handover.unsettled.iter().map(|object| format!("differs at the end: {object}")));
        for probe in handover.probes.iter().filter(|probe| probe.values.len() > 1) {
            violations.push(format!("{} had different values: {:?}", probe.metric.object, probe.values));
        }
        let count = |kinds: &[WatchedKind], field: WatchedField| {
            handover.changes.iter().filter(|change| kinds.contains(&change.kind) && change.field == field).count()
        };
        let targets = [WatchedKind::Deployment, WatchedKind::StatefulSet];
        let hpas = [WatchedKind::HorizontalPodAutoscaler];
        Self {
            replicas_changed: count(&targets, WatchedField::Replicas),
            hpas_replaced: count(&hpas, WatchedField::Uid),
            hpa_specs_changed: count(&hpas, WatchedField::Spec),
            hpa_metadata_changed: count(&hpas, WatchedField::Metadata),
            ready_changed: count(&[WatchedKind::ScaledObject], WatchedField::Ready),
            violations,
            allowed_changes: count_by_description(&allowed),
        }
    }
}

/// Counts equal changes of different objects. Leases are left out; the report lists their holders separately.
pub(super) fn count_by_description(changes: &[&Change]) -> Vec<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    for change in changes.iter().filter(|change| change.kind != WatchedKind::Lease) {
        *counts.entry(change.describe_without_name()).or_default() += 1;
    }
    counts.into_iter().map(|(description, count)| format!("{count} × {description}")).collect()
}

/// Returns whether a change must not happen. Conditions of a ScaledObject may change during a handover, since `Ready`
/// is checked at the end, and so may the holder of a Lease.
pub(super) fn is_violation(change: &Change) -> bool {
    match (change.kind, change.field) {
        (WatchedKind::Deployment | WatchedKind::StatefulSet, _) => true,
        (WatchedKind::HorizontalPodAutoscaler, field) => field != WatchedField::Metadata,
        (WatchedKind::ScaledObject, field) => matches!(
            field,
            WatchedField::Uid
                | WatchedField::Spec
                | WatchedField::OriginalReplicas
                | WatchedField::HpaName
                | WatchedField::MetricNames
        ),
        (WatchedKind::Lease, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

    use super::*;

    #[test]
    fn changed_targets_hpas_and_stored_status_fields_are_violations() {
        let rows = [
            ("replicas", WatchedKind::Deployment, WatchedField::Replicas, true),
            ("a recreated HPA", WatchedKind::HorizontalPodAutoscaler, WatchedField::Uid, true),
            ("the spec of an HPA", WatchedKind::HorizontalPodAutoscaler, WatchedField::Spec, true),
            ("the labels of an HPA", WatchedKind::HorizontalPodAutoscaler, WatchedField::Metadata, false),
            ("the original replicas", WatchedKind::ScaledObject, WatchedField::OriginalReplicas, true),
            ("a condition", WatchedKind::ScaledObject, WatchedField::Active, false),
            ("the holder of a Lease", WatchedKind::Lease, WatchedField::HolderIdentity, false),
        ];
        for (name, kind, field, expected) in rows {
            let object = "team-0/web".to_owned();
            let change = Change { at: Instant::now(), kind, object, field, from: json!(1), to: json!(2) };
            assert_eq!(is_violation(&change), expected, "{name}");
        }
    }
}
