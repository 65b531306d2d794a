//! Proposals from one amount for the target: External and Object metrics. [`metric`](super::metric) reads them and
//! names the result.

use super::convert::{to_i32, to_i64};
use super::pods::{ObservedPod, PodsError, count_ready};
use super::tolerance::Tolerances;
use crate::milli::Milli;

/// The proposal of a metric, before windows, rates and bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Not yet within any bounds: zero, negative numbers and the limits of `i32` all occur.
    pub replicas: i32,
    /// What the status reports as the metric's current amount.
    pub reported: Milli,
}

/// Where an amount per replica comes from; the controller guards the two differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    External,
    Object,
}

/// The sum of the series of an External metric with a `value` target.
pub fn sum_for_value(series: &[Milli]) -> Milli {
    let mut sum = 0_i64;
    for Milli(amount) in series {
        match sum.checked_add(*amount) {
            Some(next) => sum = next,
            None if *amount > 0 => return Milli(i64::MAX),
            // HPA: only the upper end is guarded.
            None => sum = sum.wrapping_add(*amount),
        }
    }
    Milli(sum)
}

/// The sum of the series of an External metric with an `averageValue` target.
pub fn sum_for_average(series: &[Milli]) -> Milli {
    let mut sum = 0_i64;
    for Milli(amount) in series {
        sum = sum.wrapping_add(*amount);
        if sum < 0 {
            // HPA: a negative sum counts as an overflow, so one negative series proposes the maximum.
            return Milli(i64::MAX);
        }
    }
    Milli(sum)
}

/// The proposal for a `value` target.
pub fn propose_by_value(
    value: Milli,
    target: Milli,
    current: i32,
    pods: &[ObservedPod],
    tolerances: Tolerances,
) -> Result<Proposal, PodsError> {
    let ratio = value.0 as f64 / target.0 as f64;
    let replicas = if current == 0 {
        // HPA: no upper end here; what does not fit becomes the minimum and later counts as zero.
        to_i32(ratio.ceil())
    } else if tolerances.contain(ratio) {
        current
    } else {
        // HPA: the ratio is applied to the pods that are ready, not to the current replicas.
        let ready = count_ready(pods).map_err(|problem| PodsError::ReadyPods(Box::new(problem)))?;
        clamp_to_i32(ratio * ready as f64)
    };
    Ok(Proposal { replicas, reported: value })
}

/// The proposal for an `averageValue` target, which uses the replicas that the target reports.
pub fn propose_by_average(
    value: Milli,
    target: Milli,
    status_replicas: i32,
    tolerances: Tolerances,
    origin: Origin,
) -> Proposal {
    let (amount, target, base) = (value.0 as f64, target.0 as f64, f64::from(status_replicas));
    let replicas = if tolerances.contain(amount / (target * base)) {
        status_replicas
    } else {
        match origin {
            Origin::External => clamp_to_i32(amount / target),
            Origin::Object => to_i32((amount / target).ceil()),
        }
    };
    // 2^63, which is what the largest i64 becomes as a double.
    let reported = match origin {
        Origin::External if amount >= 9_223_372_036_854_775_808.0 => i64::MAX,
        // HPA: without replicas this is a division by zero, and the status shows the minimum.
        Origin::External | Origin::Object => to_i64((amount / base).ceil()),
    };
    Proposal { replicas, reported: Milli(reported) }
}

/// Rounds up; only the upper end is guarded.
fn clamp_to_i32(proposal: f64) -> i32 {
    if proposal > f64::from(i32::MAX) { i32::MAX } else { to_i32(proposal.ceil()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TENTH: Tolerances = Tolerances { down: 0.1, up: 0.1 };

    proptest! {
        #[test]
        fn more_load_never_means_fewer_replicas(
            replicas in 1..500,
            load in 0..1_000_000_i64,
            extra in 0..1_000_000_i64,
            target in 1..10_000_i64,
        ) {
            let propose = |load| propose_by_average(Milli(load), Milli(target), replicas, TENTH, Origin::External);
            prop_assert!(propose(load + extra).replicas >= propose(load).replicas);
        }
    }

    #[test]
    fn series_add_up_in_their_order() {
        let rows = [
            ("plain amounts add up", vec![25, 30, 8], 63, 63),
            ("a later negative one subtracts", vec![60, -20], 40, 40),
            ("a first negative one is an overflow to the average", vec![-20, 60], 40, i64::MAX),
            ("an overflow stops at the end", vec![i64::MAX, 1, -5], i64::MAX, i64::MAX),
        ];
        for (name, series, value, average) in rows {
            let series: Vec<_> = series.into_iter().map(Milli).collect();
            assert_eq!((sum_for_value(&series).0, sum_for_average(&series).0), (value, average), "{name}");
        }
    }

    #[test]
    fn averages_are_taken_over_the_reported_replicas() {
        let rows = [
            ("above the tolerance", 50_000, 3, 5, 16_667),
            ("at its end nothing changes", 110_000, 10, 10, 11_000),
            ("above its end it does", 111_000, 10, 12, 11_100),
            ("without replicas the average has no number", 1, 0, 1, i64::MIN),
        ];
        for (name, value, replicas, proposed, reported) in rows {
            let proposal = propose_by_average(Milli(value), Milli(10_000), replicas, TENTH, Origin::External);
            assert_eq!(proposal, Proposal { replicas: proposed, reported: Milli(reported) }, "{name}");
        }
    }
}
