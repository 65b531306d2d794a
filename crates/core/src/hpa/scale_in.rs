//! The ban on scaling in: while a trigger has neither a scaler nor known metrics, the HPA may only scale out, because that trigger
//! might ask for more replicas than the others.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use crate::contribution::TriggerState;

/// Whether the HPA may not scale in: a trigger is not built, and the HPA has no metric of it.
pub fn is_scale_in_banned(triggers: impl IntoIterator<Item = (TriggerState, usize)>) -> bool {
    triggers.into_iter().any(|(state, metrics)| state == TriggerState::NotBuilt && metrics == 0)
}

/// Lets the HPA scale out only.
pub fn ban_scale_in(hpa: &mut HorizontalPodAutoscaler) {
    let behavior = hpa.spec.behavior.get_or_insert_default();
    behavior.scale_down.get_or_insert_default().select_policy = Some("Disabled".to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trigger_without_scaler_and_metrics_bans_scaling_in() {
        use TriggerState::{Built, NotBuilt};
        let rows = [
            ("all are built", vec![(Built, 1), (Built, 0)], false),
            ("one is not built, its metrics are known", vec![(Built, 1), (NotBuilt, 1)], false),
            ("one is not built, nothing is known of it", vec![(Built, 1), (NotBuilt, 0)], true),
            ("no triggers", vec![], false),
        ];
        for (name, triggers, expected) in rows {
            assert_eq!(is_scale_in_banned(triggers), expected, "{name}");
        }
        let mut hpa = HorizontalPodAutoscaler::default();
        ban_scale_in(&mut hpa);
        let scale_down = hpa.spec.behavior.unwrap().scale_down.unwrap();
        assert_eq!(scale_down.select_policy.as_deref(), Some("Disabled"));
    }
}
