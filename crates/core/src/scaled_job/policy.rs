//! The bounds, the strategy and the clean-up rules of a ScaledJob, with KEDA's defaults applied.

use std::collections::{BTreeMap, BTreeSet};

use kedge_api::scaled_job::{
    MultipleScalersCalculation, RolloutPropagation, RolloutStrategy, ScaledJobSpec, ScalingStrategy,
    ScalingStrategyName,
};

use crate::policy::{MAX_REPLICAS_DEFAULT, is_paused};

/// KEDA: how many finished Jobs of each result are kept where the spec says nothing.
const HISTORY_LIMIT_DEFAULT: i32 = 100;

/// How a ScaledJob is run.
#[derive(Clone, Debug, PartialEq)]
pub struct JobPolicy {
    pub bounds: Bounds,
    pub strategy: Strategy,
    pub combination: MultipleScalersCalculation,
    /// The conditions of a pod that must be true before its Job counts as started; empty where a running pod is enough.
    pub pending_pod_conditions: BTreeSet<String>,
    pub history: HistoryLimits,
    /// How Jobs of an older spec are deleted; `None` where they run to completion.
    pub rollout: Option<RolloutPropagation>,
    pub is_paused: bool,
}

/// How many Jobs there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Jobs that run whatever the triggers say.
    pub min: i64,
    /// Jobs that may run for the triggers, beside those.
    pub max: i64,
}

/// How the number of new Jobs follows from the demand and the running Jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy {
    Default,
    Custom { deduction: i64, running_share: f64 },
    Accurate,
    Eager,
}

/// How many finished Jobs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    pub successful: usize,
    pub failed: usize,
}

impl JobPolicy {
    /// Reads the spec and the annotations of an object.
    pub fn from_spec(spec: &ScaledJobSpec, notes: Option<&BTreeMap<String, String>>) -> Self {
        let none = ScalingStrategy::default();
        let scaling = spec.scaling_strategy.as_ref().unwrap_or(&none);
        Self {
            bounds: Bounds::new(spec.min_replica_count, spec.max_replica_count),
            strategy: Strategy::new(scaling),
            combination: scaling.multiple_scalers_calculation.unwrap_or(MultipleScalersCalculation::Max),
            pending_pod_conditions: scaling.pending_pod_conditions.iter().flatten().cloned().collect(),
            history: HistoryLimits {
                successful: limit(spec.successful_jobs_history_limit),
                failed: limit(spec.failed_jobs_history_limit),
            },
            rollout: rollout(spec),
            is_paused: is_paused(notes),
        }
    }
}

impl Bounds {
    /// KEDA: a maximum that is given includes the minimum, and a minimum above it counts as the maximum. The default maximum comes on
    /// top of the minimum.
    pub fn new(min: Option<i32>, max: Option<i32>) -> Self {
        let bounds = |min: i32, max: i32| Self { min: min.into(), max: max.into() };
        match (min, max) {
            (Some(min), Some(max)) if min <= max => bounds(min, max - min),
            (Some(_), Some(max)) => bounds(max, max),
            (min, max) => bounds(min.unwrap_or(0), max.unwrap_or(MAX_REPLICAS_DEFAULT)),
        }
    }
}

impl Strategy {
    fn new(scaling: &ScalingStrategy) -> Self {
        match scaling.strategy {
            None | Some(ScalingStrategyName::Default) => Self::Default,
            Some(ScalingStrategyName::Accurate) => Self::Accurate,
            Some(ScalingStrategyName::Eager) => Self::Eager,
            // KEDA: without a number it is the default.
            Some(ScalingStrategyName::Custom) => running_share(scaling).map_or(Self::Default, |running_share| {
                let deduction = scaling.custom_scaling_queue_length_deduction.unwrap_or(0).into();
                Self::Custom { deduction, running_share }
            }),
        }
    }

    /// Whether it asks how many Jobs have not started.
    pub fn counts_pending(self) -> bool {
        matches!(self, Self::Accurate | Self::Eager)
    }
}

/// The share of running Jobs that the strategy `custom` subtracts, if it is a number.
pub fn running_share(scaling: &ScalingStrategy) -> Option<f64> {
    let text = scaling.custom_scaling_running_job_percentage.as_deref()?;
    text.parse().ok().filter(|share: &f64| share.is_finite())
}

/// KEDA: the deprecated field wins.
fn rollout(spec: &ScaledJobSpec) -> Option<RolloutPropagation> {
    let rollout = spec.rollout.as_ref();
    match spec.rollout_strategy.or(rollout.and_then(|rollout| rollout.strategy)) {
        Some(RolloutStrategy::Gradual) => None,
        Some(RolloutStrategy::Immediate) | None => {
            Some(rollout.and_then(|rollout| rollout.propagation_policy).unwrap_or(RolloutPropagation::Background))
        }
    }
}

fn limit(limit: Option<i32>) -> usize {
    usize::try_from(limit.unwrap_or(HISTORY_LIMIT_DEFAULT)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use kedge_api::names::annotations;
    use kedge_api::scaled_job::Rollout;
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn the_maximum_is_the_room_above_the_minimum() {
        for (min, max, expected) in [
            (None, None, (0, 100)),
            (None, Some(10), (0, 10)),
            (Some(1), Some(10), (1, 9)),
            (Some(1), None, (1, 100)),
            (Some(10), Some(1), (1, 1)),
            (Some(5), Some(5), (5, 0)),
            (Some(150), None, (150, 100)),
        ] {
            let bounds = Bounds::new(min, max);
            assert_eq!((bounds.min, bounds.max), expected, "{min:?} {max:?}");
        }
    }

    fn custom(share: Option<&str>) -> Strategy {
        Strategy::new(&ScalingStrategy {
            strategy: Some(ScalingStrategyName::Custom),
            custom_scaling_queue_length_deduction: Some(3),
            custom_scaling_running_job_percentage: share.map(str::to_owned),
            ..ScalingStrategy::default()
        })
    }

    #[test]
    fn custom_without_a_number_is_the_default() {
        for (share, expected) in [("0.5", 0.5), ("1", 1.0), ("-2", -2.0), ("1e-3", 0.001), (".5", 0.5)] {
            assert_eq!(custom(Some(share)), Strategy::Custom { deduction: 3, running_share: expected }, "{share}");
        }
        for share in [None, Some(""), Some("50%"), Some(" 0.5"), Some("half"), Some("NaN"), Some("inf"), Some("1e999")]
        {
            assert_eq!(custom(share), Strategy::Default, "{share:?}");
        }
    }

    #[test]
    fn the_deprecated_rollout_field_wins_and_leaves_the_propagation_alone() {
        use {RolloutPropagation::*, RolloutStrategy::*};
        for (old, strategy, propagation, expected) in [
            (None, None, None, Some(Background)),
            (None, Some(Immediate), Some(Foreground), Some(Foreground)),
            (None, Some(Gradual), Some(Foreground), None),
            (Some(Immediate), Some(Gradual), Some(Foreground), Some(Foreground)),
            (Some(Gradual), Some(Immediate), None, None),
        ] {
            let spec = ScaledJobSpec {
                rollout_strategy: old,
                rollout: Some(Rollout { strategy, propagation_policy: propagation }),
                ..spec()
            };
            assert_eq!(rollout(&spec), expected, "{old:?} {strategy:?} {propagation:?}");
        }
        assert_eq!(rollout(&spec()), Some(Background));
    }

    fn spec() -> ScaledJobSpec {
        serde_json::from_str(r#"{ "jobTargetRef": { "template": {} }, "triggers": [] }"#).unwrap()
    }

    #[test]
    fn defaults_are_kedas_and_only_the_pause_annotation_pauses() {
        let note = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let policy = JobPolicy::from_spec(&spec(), None);
        assert_eq!(policy.history, HistoryLimits { successful: 100, failed: 100 });
        assert_eq!((policy.strategy, policy.combination), (Strategy::Default, MultipleScalersCalculation::Max));
        assert!(!policy.is_paused && policy.pending_pod_conditions.is_empty());
        let is_paused = |key, value| JobPolicy::from_spec(&spec(), Some(&note(key, value))).is_paused;
        assert!(is_paused(annotations::PAUSED, "true") && is_paused(annotations::PAUSED, ""));
        assert!(!is_paused(annotations::PAUSED, "f") && !is_paused(annotations::PAUSED_REPLICAS, "3"));
    }

    proptest! {
        #[test]
        fn a_share_is_the_number_that_its_text_is(share in -1e6..1e6f64, words in "[a-z%, ]{1,6}") {
            prop_assert_eq!(custom(Some(&share.to_string())), Strategy::Custom { deduction: 3, running_share: share });
            prop_assert_eq!(custom(Some(&format!("{share}{words}%"))), Strategy::Default);
        }

        #[test]
        fn a_maximum_that_includes_the_minimum_is_never_exceeded_together(min in 0..500i32, max in 1..500i32) {
            let bounds = Bounds::new(Some(min), Some(max));
            prop_assert!(bounds.min >= 0 && bounds.max >= 0);
            if min <= max {
                prop_assert_eq!(bounds.min + bounds.max, i64::from(max));
            }
        }
    }
}
