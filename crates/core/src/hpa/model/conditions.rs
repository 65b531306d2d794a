//! The conditions of the HPA's status: what a reconcile can find out, with the reason and message of each.

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerCondition as Condition;

use super::normalise::{Limit, Stability};
use kedge_api::time::to_time;

pub const ABLE_TO_SCALE: &str = "AbleToScale";
pub const SCALING_ACTIVE: &str = "ScalingActive";
pub const SCALING_LIMITED: &str = "ScalingLimited";
pub const SCALED_TO_ZERO: &str = "ScaledToZero";

/// A finding of a reconcile that a condition reports.
#[derive(Clone, Copy, Debug)]
pub(super) enum ConditionUpdate<'a> {
    ScaleNotFound { error: &'a str },
    ScaleFound,
    Stable(Stability),
    Rescaled { to: i32 },
    RescaleFailed { error: &'a str },
    MetricFound { name: &'a str },
    Disabled,
    SelectorUnusable { reason: &'a str, message: &'a str },
    MetricFailed { reason: &'a str, cause: &'a str },
    Limited(Limit),
    AtZero,
    NotAtZero,
}

impl ConditionUpdate<'_> {
    fn condition_type(self) -> &'static str {
        match self {
            Self::ScaleNotFound { .. } | Self::ScaleFound | Self::Stable(_) => ABLE_TO_SCALE,
            Self::Rescaled { .. } | Self::RescaleFailed { .. } => ABLE_TO_SCALE,
            Self::MetricFound { .. } | Self::Disabled | Self::SelectorUnusable { .. } => SCALING_ACTIVE,
            Self::MetricFailed { .. } => SCALING_ACTIVE,
            Self::Limited(_) => SCALING_LIMITED,
            Self::AtZero | Self::NotAtZero => SCALED_TO_ZERO,
        }
    }

    fn is_true(self) -> bool {
        match self {
            Self::ScaleFound | Self::Stable(_) | Self::Rescaled { .. } | Self::MetricFound { .. } | Self::AtZero => {
                true
            }
            Self::Limited(limit) => limit != Limit::WithinRange,
            Self::ScaleNotFound { .. } | Self::RescaleFailed { .. } | Self::Disabled => false,
            Self::SelectorUnusable { .. } | Self::MetricFailed { .. } | Self::NotAtZero => false,
        }
    }

    fn reason(&self) -> &str {
        match self {
            Self::ScaleNotFound { .. } => "FailedGetScale",
            Self::ScaleFound => "SucceededGetScale",
            Self::Stable(Stability::Ready) => "ReadyForNewScale",
            Self::Stable(Stability::HeldDown) => "ScaleDownStabilized",
            Self::Stable(Stability::HeldUp) => "ScaleUpStabilized",
            Self::Rescaled { .. } => "SucceededRescale",
            Self::RescaleFailed { .. } => "FailedUpdateScale",
            Self::MetricFound { .. } => "ValidMetricFound",
            Self::Disabled => "ScalingDisabled",
            Self::SelectorUnusable { reason, .. } | Self::MetricFailed { reason, .. } => reason,
            Self::Limited(limit) => limit_reason(*limit),
            Self::AtZero => "ScaledToZero",
            Self::NotAtZero => "NotScaledToZero",
        }
    }

    fn message(self) -> String {
        let fixed = match self {
            Self::ScaleNotFound { error } => {
                return format!("the HPA controller was unable to get the target's current scale: {error}");
            }
            Self::Rescaled { to } => return format!("the HPA controller was able to update the target scale to {to}"),
            Self::RescaleFailed { error } => {
                return format!("the HPA controller was unable to update the target scale: {error}");
            }
            Self::MetricFound { name } => {
                return format!("the HPA was able to successfully calculate a replica count from {name}");
            }
            Self::MetricFailed { cause, .. } => {
                return format!("the HPA was unable to compute the replica count: {cause}");
            }
            Self::SelectorUnusable { message, .. } => message,
            Self::ScaleFound => "the HPA controller was able to get the target's current scale",
            Self::Stable(stability) => stability_message(stability),
            Self::Disabled => "scaling is disabled since the replica count of the target is zero",
            Self::Limited(limit) => limit_message(limit),
            Self::AtZero => "the HPA controller scaled the workload to zero",
            Self::NotAtZero => "the HPA controller did not scale the workload to zero",
        };
        fixed.to_owned()
    }
}

fn stability_message(stability: Stability) -> &'static str {
    match stability {
        // HPA: also the message while a rate or bound limits the target.
        Stability::Ready => "recommended size matches current size",
        Stability::HeldDown => {
            "recent recommendations were higher than current one, applying the highest recent recommendation"
        }
        Stability::HeldUp => {
            "recent recommendations were lower than current one, applying the lowest recent recommendation"
        }
    }
}

fn limit_reason(limit: Limit) -> &'static str {
    match limit {
        Limit::WithinRange => "DesiredWithinRange",
        Limit::UpRate => "ScaleUpLimit",
        Limit::DownRate => "ScaleDownLimit",
        Limit::Max => "TooManyReplicas",
        Limit::Min => "TooFewReplicas",
    }
}

fn limit_message(limit: Limit) -> &'static str {
    match limit {
        Limit::WithinRange => "the desired count is within the acceptable range",
        Limit::UpRate => "the desired replica count is increasing faster than the maximum scale rate",
        Limit::DownRate => "the desired replica count is decreasing faster than the maximum scale rate",
        Limit::Max => "the desired replica count is more than the maximum replica count",
        Limit::Min => "the desired replica count is less than the minimum replica count",
    }
}

/// Updates the condition. Conditions keep the order in which they first appeared; only a change of status moves their time.
pub(super) fn show(conditions: &mut Vec<Condition>, finding: ConditionUpdate<'_>, now: DateTime<Utc>) {
    let type_ = finding.condition_type();
    let status = if finding.is_true() { "True" } else { "False" };
    let known = conditions.iter().position(|condition| condition.type_ == type_).unwrap_or_else(|| {
        conditions.push(Condition { type_: type_.to_owned(), ..Condition::default() });
        conditions.len() - 1
    });
    let condition = &mut conditions[known];
    if condition.status != status {
        condition.status = status.to_owned();
        condition.last_transition_time = Some(to_time(now));
    }
    condition.reason = Some(finding.reason().to_owned());
    condition.message = Some(finding.message());
}

/// Whether the list has the condition, and as true.
pub(super) fn is_true(conditions: &[Condition], type_: &str) -> bool {
    conditions.iter().any(|condition| condition.type_ == type_ && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_of_status_moves_the_time() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let rows = [
            ("it appears", 0, ConditionUpdate::ScaleFound, "SucceededGetScale", 0),
            ("another reason", 10, ConditionUpdate::Rescaled { to: 3 }, "SucceededRescale", 0),
            ("another status", 20, ConditionUpdate::RescaleFailed { error: "no" }, "FailedUpdateScale", 20),
        ];
        let mut conditions = Vec::new();
        for (name, now, finding, reason, since) in rows {
            show(&mut conditions, finding, at(now));
            let [condition] = conditions.as_slice() else { panic!("{name}: one condition") };
            assert_eq!(condition.reason.as_deref(), Some(reason), "{name}");
            assert_eq!(condition.last_transition_time, Some(to_time(at(since))), "{name}");
        }
    }
}
