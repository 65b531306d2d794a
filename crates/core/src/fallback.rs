//! The fallback of an object: what replaces a source that keeps failing.

use kedge_api::scaled_object::{Fallback, FallbackBehavior, ScaledObjectSpec};

use crate::milli::Milli;

/// Failures in a row of one metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures(pub i32);

/// The outcome of one query to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryOutcome {
    Answered,
    Failed,
}

impl Failures {
    /// The count after one more query. It stops one above the threshold, where nothing depends on it any more, so that a
    /// source that stays down does not change the status at every poll.
    #[must_use]
    pub fn after(self, outcome: QueryOutcome, threshold: i32) -> Self {
        match outcome {
            QueryOutcome::Answered => Self(0),
            QueryOutcome::Failed => Self(self.0.saturating_add(1).min(threshold.saturating_add(1))),
        }
    }

    /// KEDA: strictly more failures than the threshold.
    pub fn exceed_threshold(self, fallback: &Fallback) -> bool {
        self.0 > fallback.failure_threshold
    }
}

/// The fallback of a spec, if its numbers are valid.
pub fn usable_fallback(spec: &ScaledObjectSpec) -> Option<&Fallback> {
    spec.fallback.as_ref().filter(|fallback| is_usable(fallback))
}

/// Whether the numbers of a fallback are valid, also where the CRD's lower bounds were not enforced.
pub(crate) fn is_usable(fallback: &Fallback) -> bool {
    fallback.failure_threshold >= 0 && fallback.replicas >= 0
}

/// What the failures of one metric mean for the status of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricHealth {
    /// The source has not been queried yet.
    NotRead,
    Healthy,
    /// The source fails, and its fallback does not count yet.
    Failing,
    /// The fallback counts in place of the source.
    FallenBack,
}

impl MetricHealth {
    pub fn from_failures(failures: Failures, fallback: &Fallback) -> Self {
        match failures {
            Failures(0) => Self::Healthy,
            failures if failures.exceed_threshold(fallback) => Self::FallenBack,
            _ => Self::Failing,
        }
    }

    /// Whether the change from `self` to `next` changes what the status says of the fallback, so that the object is to be reconciled
    /// before its next poll. A first failure changes a count alone.
    pub fn needs_reconcile(self, next: Self) -> bool {
        self != next && (next != Self::Failing || self == Self::NotRead)
    }
}

/// How the HPA compares a metric with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricType {
    /// Per replica.
    AverageValue,
    /// As it is; the HPA multiplies by the number of ready pods.
    Value,
}

/// Why there is no substitute value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSubstitute {
    #[error("the fallback needs the current replicas of the target, which could not be read")]
    ReplicasUnknown,
    #[error("the fallback of a metric of type Value needs the number of ready pods, and none are known")]
    NoReadyPods,
    #[error("the fallback leaves this metric to the formula")]
    LeftToFormula,
}

/// The replicas of a fallback. `current` is `None` where it could not be read.
pub fn replicas(fallback: &Fallback, current: Option<i32>) -> Result<i32, NoSubstitute> {
    let current = || current.ok_or(NoSubstitute::ReplicasUnknown);
    match fallback.behavior.unwrap_or(FallbackBehavior::Static) {
        FallbackBehavior::Static => Ok(fallback.replicas),
        FallbackBehavior::CurrentReplicas => current(),
        FallbackBehavior::CurrentReplicasIfHigher => Ok(current()?.max(fallback.replicas)),
        FallbackBehavior::CurrentReplicasIfLower => Ok(current()?.min(fallback.replicas)),
        FallbackBehavior::ScalingModifiers => Err(NoSubstitute::LeftToFormula),
    }
}

/// The value to serve so that the HPA arrives at this many replicas.
pub fn substitute(
    replicas: i32,
    target: Milli,
    metric_type: MetricType,
    ready_pods: Option<i32>,
) -> Result<Milli, NoSubstitute> {
    let replicas = i128::from(replicas);
    let target = i128::from(target.0);
    let milli = match metric_type {
        MetricType::AverageValue => target * replicas,
        MetricType::Value => {
            let ready = ready_pods.filter(|ready| *ready > 0).ok_or(NoSubstitute::NoReadyPods)?;
            target * replicas / i128::from(ready)
        }
    };
    Ok(Milli(i64::try_from(milli).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fallback(behavior: Option<FallbackBehavior>) -> Fallback {
        Fallback { failure_threshold: 3, replicas: 6, behavior }
    }

    #[test]
    fn replicas_follow_the_behavior() {
        use FallbackBehavior::*;
        let rows = [
            ("static is the default", None, Some(9), Ok(6)),
            ("static needs no current replicas", Some(Static), None, Ok(6)),
            ("current keeps what there is", Some(CurrentReplicas), Some(9), Ok(9)),
            ("current needs to be known", Some(CurrentReplicas), None, Err(NoSubstitute::ReplicasUnknown)),
            ("if higher takes the higher", Some(CurrentReplicasIfHigher), Some(9), Ok(9)),
            ("if higher, not the lower", Some(CurrentReplicasIfHigher), Some(2), Ok(6)),
            ("if lower takes the lower", Some(CurrentReplicasIfLower), Some(2), Ok(2)),
            ("if lower, not the higher", Some(CurrentReplicasIfLower), Some(9), Ok(6)),
            ("the formula decides", Some(ScalingModifiers), Some(9), Err(NoSubstitute::LeftToFormula)),
        ];
        for (name, behavior, current, expected) in rows {
            assert_eq!(replicas(&fallback(behavior), current), expected, "{name}");
        }
    }

    #[test]
    fn values_lead_the_hpa_to_the_replicas() {
        use MetricType::*;
        let rows = [
            ("6 replicas of 2 each", 6, 2_000, AverageValue, None, Ok(Milli(12_000))),
            ("5 replicas of a half each", 5, 500, AverageValue, None, Ok(Milli(2_500))),
            ("the HPA multiplies by 4 ready pods", 6, 2_000, Value, Some(4), Ok(Milli(3_000))),
            ("cut off, as KEDA does", 1, 1_000, Value, Some(3), Ok(Milli(333))),
            ("nothing to multiply by", 6, 2_000, Value, Some(0), Err(NoSubstitute::NoReadyPods)),
            ("ready pods are not known", 6, 2_000, Value, None, Err(NoSubstitute::NoReadyPods)),
            ("too large for the HPA", i32::MAX, i64::MAX, AverageValue, None, Ok(Milli(i64::MAX))),
        ];
        for (name, replicas, target, metric_type, ready, expected) in rows {
            assert_eq!(substitute(replicas, Milli(target), metric_type, ready), expected, "{name}");
        }
    }

    #[test]
    fn only_usable_numbers_make_a_fallback() {
        let with = |failure_threshold, replicas| Fallback { failure_threshold, replicas, behavior: None };
        for (given, expected) in [(with(3, 1), true), (with(0, 0), true), (with(-1, 1), false), (with(3, -1), false)] {
            assert_eq!(is_usable(&given), expected, "{given:?}");
        }
    }

    #[test]
    fn a_change_of_the_fallback_needs_a_reconcile() {
        use MetricHealth::{Failing, FallenBack, Healthy, NotRead};
        let rows = [
            ("the fallback ends", FallenBack, Healthy, true),
            ("the fallback begins", Failing, FallenBack, true),
            ("a threshold of zero is exceeded at once", Healthy, FallenBack, true),
            ("a failing source recovers", Failing, Healthy, true),
            ("the first reading", NotRead, Healthy, true),
            ("a first failure", Healthy, Failing, false),
            ("one more failure", Failing, Failing, false),
            ("nothing changes", Healthy, Healthy, false),
            ("the fallback continues", FallenBack, FallenBack, false),
        ];
        for (name, before, after, expected) in rows {
            assert_eq!(before.needs_reconcile(after), expected, "{name}");
        }
        let health = |failures| MetricHealth::from_failures(Failures(failures), &fallback(None));
        assert_eq!([0, 1, 3, 4].map(health), [Healthy, Failing, Failing, FallenBack]);
    }

    #[test]
    fn failures_are_counted_up_to_where_they_matter() {
        let mut failures = Failures::default();
        for expected in [1, 2, 3, 4, 4, 4] {
            failures = failures.after(QueryOutcome::Failed, 3);
            assert_eq!(failures, Failures(expected));
            assert_eq!(failures.exceed_threshold(&fallback(None)), expected > 3);
        }
        assert_eq!(failures.after(QueryOutcome::Answered, 3), Failures(0));
        assert_eq!(Failures(i32::MAX).after(QueryOutcome::Failed, i32::MAX), Failures(i32::MAX));
    }
}
