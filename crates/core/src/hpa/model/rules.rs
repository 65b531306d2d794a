//! `spec.behavior` as types. [`defaults`](super::defaults) fills in absent fields before.

use chrono::TimeDelta;
use k8s_openapi::api::autoscaling::v2::{HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscalerBehavior};

use super::settings::Settings;
use crate::quantity::Quantity;

/// The rules of both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Behavior {
    pub up: Rules,
    pub down: Rules,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// The stabilisation window.
    pub window: TimeDelta,
    pub select: Select,
    pub policies: Vec<Policy>,
    pub tolerance: Option<f64>,
}

/// Which of several policies holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// The one that allows the largest change.
    Max,
    /// The one that allows the smallest change.
    Min,
    /// None; the direction is closed.
    Disabled,
}

/// A limit on the change within a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub allows: Allowance,
    pub period: TimeDelta,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    Pods(i32),
    Percent(i32),
}

impl Behavior {
    /// Parses a behavior that went through the API server.
    pub fn from_spec(behavior: &HorizontalPodAutoscalerBehavior, settings: &Settings) -> Self {
        let up = behavior.scale_up.clone().unwrap_or_default();
        let down = behavior.scale_down.clone().unwrap_or_default();
        Self {
            up: Rules::from_spec(&up, TimeDelta::zero()),
            down: Rules::from_spec(&down, settings.downscale_stabilization),
        }
    }
}

impl Rules {
    fn from_spec(rules: &HPAScalingRules, window: TimeDelta) -> Self {
        let given = rules.stabilization_window_seconds.map(|seconds| TimeDelta::seconds(seconds.into()));
        Self {
            window: given.unwrap_or(window),
            select: Select::from_text(rules.select_policy.as_deref()),
            policies: rules.policies.iter().flatten().filter_map(Policy::from_spec).collect(),
            tolerance: rules.tolerance.as_ref().and_then(|text| Some(Quantity::parse(&text.0).ok()?.approx_f64())),
        }
    }

    /// The longest period of the policies.
    pub fn period_max(&self) -> TimeDelta {
        self.policies.iter().map(|policy| policy.period).max().unwrap_or_default()
    }
}

impl Select {
    fn from_text(text: Option<&str>) -> Self {
        match text {
            Some("Disabled") => Self::Disabled,
            Some("Min") => Self::Min,
            _ => Self::Max,
        }
    }
}

impl Policy {
    /// Policies of an unknown type are left out; the API server rejects them.
    fn from_spec(policy: &HPAScalingPolicy) -> Option<Self> {
        let allows = match policy.type_.as_str() {
            "Pods" => Allowance::Pods(policy.value),
            "Percent" => Allowance::Percent(policy.value),
            _ => return None,
        };
        Some(Self { allows, period: TimeDelta::seconds(policy.period_seconds.into()) })
    }
}
