//! What may change in a hand-over and what may not.

use std::collections::BTreeMap;

use crate::recorder::{Change, Facet, Kind};
use crate::takeover::Handover;

/// What was found.
pub(super) struct Verdict {
    pub(super) violations: Vec<String>,
    /// What changed and may.
    pub(super) notes: Vec<String>,
    pub(super) replicas_changed: usize,
    pub(super) hpas_replaced: usize,
    pub(super) hpa_specs_changed: usize,
    pub(super) hpa_marks_changed: usize,
    pub(super) ready_changed: usize,
}

impl Verdict {
    pub(super) fn from_handover(seen: &Handover) -> Self {
        let (wrong, allowed): (Vec<&Change>, Vec<&Change>) =
            seen.changes.iter().partition(|change| is_violation(change));
        let mut violations: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        violations.extend(seen.unsettled.iter().map(|object| format!("not as it was at the end: {object}")));
        for gap in seen.gaps.iter().filter(|gap| gap.values.len() > 1) {
            violations.push(format!("{} had different values: {:?}", gap.metric.object, gap.values));
        }
        let count = |kinds: &[Kind], facet: Facet| {
            seen.changes.iter().filter(|change| kinds.contains(&change.kind) && change.facet == facet).count()
        };
        let hpa = [Kind::HorizontalPodAutoscaler];
        Self {
            replicas_changed: count(&[Kind::Deployment, Kind::StatefulSet], Facet::Replicas),
            hpas_replaced: count(&hpa, Facet::Identity),
            hpa_specs_changed: count(&hpa, Facet::Spec),
            hpa_marks_changed: count(&hpa, Facet::Marks),
            ready_changed: count(&[Kind::ScaledObject], Facet::Ready),
            violations,
            notes: notes(&allowed),
        }
    }
}

/// Changes of the same form are one note, with how many there were. The holder of the Lease is reported elsewhere.
pub(super) fn notes(changes: &[&Change]) -> Vec<String> {
    let mut counted = BTreeMap::<String, usize>::new();
    for change in changes.iter().filter(|change| change.kind != Kind::Lease) {
        *counted.entry(change.without_object()).or_default() += 1;
    }
    counted.into_iter().map(|(form, count)| format!("{count} × {form}")).collect()
}

/// Targets and HPAs are to stay as they are, and so is what a ScaledObject is and remembers. Its conditions, and who has the Lease, may
/// change on the way; how they are at the end is checked then.
pub(super) fn is_violation(change: &Change) -> bool {
    match (change.kind, change.facet) {
        (Kind::Deployment | Kind::StatefulSet, _) => true,
        (Kind::HorizontalPodAutoscaler, facet) => facet != Facet::Marks,
        (Kind::ScaledObject, facet) => {
            let kept = [Facet::Identity, Facet::Spec, Facet::OriginalReplicas, Facet::HpaName, Facet::MetricNames];
            kept.contains(&facet)
        }
        (Kind::Lease, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

    use super::*;

    #[test]
    fn what_moves_a_target_or_rewrites_an_hpa_is_a_violation() {
        let rows = [
            ("a replica", Kind::Deployment, Facet::Replicas, true),
            ("another HPA", Kind::HorizontalPodAutoscaler, Facet::Identity, true),
            ("its spec", Kind::HorizontalPodAutoscaler, Facet::Spec, true),
            ("its labels", Kind::HorizontalPodAutoscaler, Facet::Marks, false),
            ("what was before", Kind::ScaledObject, Facet::OriginalReplicas, true),
            ("a condition on the way", Kind::ScaledObject, Facet::Active, false),
            ("who leads", Kind::Lease, Facet::Holder, false),
        ];
        for (name, kind, facet, expected) in rows {
            let object = "team-0/web".to_owned();
            let change = Change { at: Instant::now(), kind, object, facet, from: json!(1), to: json!(2) };
            assert_eq!(is_violation(&change), expected, "{name}");
        }
    }
}
