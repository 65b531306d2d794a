//! The defaults that the API server fills into a spec. The controller relies on them.

use k8s_openapi::api::autoscaling::v2::{
    HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerSpec, MetricSpec,
    MetricTarget, ResourceMetricSource,
};

/// The spec with all defaults, as the controller reads it. A complete spec is returned unchanged.
pub fn fill_defaults(spec: &HorizontalPodAutoscalerSpec) -> HorizontalPodAutoscalerSpec {
    let metrics = spec.metrics.clone().filter(|metrics| !metrics.is_empty());
    HorizontalPodAutoscalerSpec {
        min_replicas: Some(spec.min_replicas.unwrap_or(1)),
        metrics: Some(metrics.unwrap_or_else(|| vec![cpu_at_80_percent()])),
        // HPA: an absent behavior stays absent, and means another algorithm than an empty one.
        behavior: spec.behavior.as_ref().map(fill_behavior),
        ..spec.clone()
    }
}

fn cpu_at_80_percent() -> MetricSpec {
    let target =
        MetricTarget { type_: "Utilization".to_owned(), average_utilization: Some(80), ..MetricTarget::default() };
    let resource = ResourceMetricSource { name: "cpu".to_owned(), target };
    MetricSpec { type_: "Resource".to_owned(), resource: Some(resource), ..MetricSpec::default() }
}

fn fill_behavior(behavior: &HorizontalPodAutoscalerBehavior) -> HorizontalPodAutoscalerBehavior {
    let up = HPAScalingRules {
        stabilization_window_seconds: Some(0),
        select_policy: Some("Max".to_owned()),
        policies: Some(vec![policy("Pods", 4), policy("Percent", 100)]),
        tolerance: None,
    };
    let down = HPAScalingRules {
        // The controller uses its flag instead; it is not stored.
        stabilization_window_seconds: None,
        policies: Some(vec![policy("Percent", 100)]),
        ..up.clone()
    };
    HorizontalPodAutoscalerBehavior {
        scale_up: Some(fill_rules(behavior.scale_up.as_ref(), up)),
        scale_down: Some(fill_rules(behavior.scale_down.as_ref(), down)),
    }
}

fn policy(type_: &str, value: i32) -> HPAScalingPolicy {
    HPAScalingPolicy { type_: type_.to_owned(), value, period_seconds: 15 }
}

fn fill_rules(given: Option<&HPAScalingRules>, defaults: HPAScalingRules) -> HPAScalingRules {
    let given = given.cloned().unwrap_or_default();
    HPAScalingRules {
        stabilization_window_seconds: given.stabilization_window_seconds.or(defaults.stabilization_window_seconds),
        select_policy: given.select_policy.or(defaults.select_policy),
        policies: given.policies.or(defaults.policies),
        tolerance: given.tolerance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_fields_stay_and_absent_ones_get_defaults() {
        let given = HPAScalingRules { policies: Some(vec![policy("Pods", 1)]), ..HPAScalingRules::default() };
        let behavior = HorizontalPodAutoscalerBehavior { scale_down: Some(given), scale_up: None };
        let spec = HorizontalPodAutoscalerSpec { behavior: Some(behavior), ..HorizontalPodAutoscalerSpec::default() };

        let filled = fill_defaults(&spec);

        let behavior = filled.behavior.clone().unwrap();
        let (up, down) = (behavior.scale_up.unwrap(), behavior.scale_down.unwrap());
        assert_eq!(down.policies, Some(vec![policy("Pods", 1)]));
        assert_eq!((down.select_policy.as_deref(), down.stabilization_window_seconds), (Some("Max"), None));
        assert_eq!((up.policies.map(|policies| policies.len()), up.stabilization_window_seconds), (Some(2), Some(0)));
        assert_eq!((filled.min_replicas, filled.metrics.as_ref().map(Vec::len)), (Some(1), Some(1)));
        assert_eq!(fill_defaults(&filled), filled, "filling twice changes nothing");
    }

    #[test]
    fn no_behavior_is_not_an_empty_one() {
        assert_eq!(fill_defaults(&HorizontalPodAutoscalerSpec::default()).behavior, None);
    }
}
