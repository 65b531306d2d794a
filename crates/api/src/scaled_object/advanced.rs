//! `spec.advanced`: the managed HPA, formulas, and restoring on deletion.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

#[cfg(test)]
use crate::strategies::any_int_or_string;

/// Advanced options.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct Advanced {
    /// Options for the HPA of this object.
    pub horizontal_pod_autoscaler_config: Option<HorizontalPodAutoscalerConfig>,

    /// When this object is deleted, set the target back to the replicas it had when this object was created. Default
    /// false: the target keeps its current replicas.
    pub restore_to_original_replica_count: Option<bool>,

    /// Combines several triggers into one metric by a formula.
    pub scaling_modifiers: Option<ScalingModifiers>,
}

/// The managed HorizontalPodAutoscaler.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct HorizontalPodAutoscalerConfig {
    /// The name of the HPA. Default: keda-hpa- followed by the name of this object.
    pub name: Option<String>,

    /// Limits how fast the HPA scales in each direction; copied to the HPA. Unset: the defaults of Kubernetes.
    pub behavior: Option<HpaBehavior>,
}

/// The scaling behavior: one set of rules per direction.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct HpaBehavior {
    /// The rules for adding replicas. Unset: in each 15 seconds at most double, or 4 more, whichever is higher, at once.
    pub scale_up: Option<HpaScalingRules>,

    /// The rules for removing replicas. Unset: any number at once, down to the highest number recommended in the last 300 seconds.
    pub scale_down: Option<HpaScalingRules>,
}

/// The rules for one direction of scaling.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct HpaScalingRules {
    /// Limits to the change within a period; selectPolicy chooses among them.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub policies: Option<Vec<HpaScalingPolicy>>,

    /// Selects the policy: Max (the one that allows the most, the default), Min, or Disabled (never scale in this direction).
    pub select_policy: Option<String>,

    /// Seconds of past recommendations to consider: the most conservative one is used. 0 to 3600; default 0 up, 300 down.
    #[schemars(range(min = 0, max = 3600))]
    pub stabilization_window_seconds: Option<i32>,

    /// How far the metric may differ from its target, as a fraction of it, before the HPA scales: 0.05 means 5 %. Default: the
    /// setting of the cluster, normally 0.1.
    #[schemars(extend("pattern" = crate::crd::QUANTITY_PATTERN))]
    #[cfg_attr(test, proptest(strategy = "any_int_or_string()"))]
    pub tolerance: Option<IntOrString>,
}

/// A limit to the change of replicas within a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct HpaScalingPolicy {
    /// The unit of value: Pods or Percent (of the current replicas).
    pub r#type: String,

    /// The largest change allowed within the period; above 0.
    pub value: i32,

    /// The period in seconds, 1 to 1800.
    pub period_seconds: i32,
}

/// One metric computed from several triggers. When any field is given, formula and target are needed.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct ScalingModifiers {
    /// An expression over the names of triggers, e.g. "max(orders, returns) / 2". Every trigger it mentions needs a name;
    /// cpu and memory triggers cannot be used.
    pub formula: Option<String>,

    /// The value of the formula that one replica (or, with metricType Value, all replicas together) should have: a number above 0.
    pub target: Option<String>,

    /// The target is active while the formula gives more than this number. Default 0.
    pub activation_target: Option<String>,

    /// How the HPA compares the result with `target`: AverageValue (per replica, the default) or Value (as it is).
    pub metric_type: Option<ModifierMetricType>,
}

/// The metric types that a composite metric can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum ModifierMetricType {
    #[serde(alias = "")]
    AverageValue,
    Value,
}
