//! How much work the triggers of a ScaledJob announce together.

use kedge_api::scaled_job::MultipleScalersCalculation;

use super::policy::Bounds;

/// What one metric of a trigger announces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricDemand {
    pub queue_length: f64,
    /// How much of it is one Job's share.
    pub target: f64,
    /// Whether it is above its activation value. One that is not takes no part.
    pub is_active: bool,
}

/// What all triggers announce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    pub is_active: bool,
    /// The length of the queue, rounded up: as many Jobs as are created at once.
    pub queue_length: i64,
    /// The Jobs for it, rounded up, and no more than the maximum.
    pub jobs: i64,
}

/// A queue, and the Jobs for it, before they are rounded.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    queue_length: f64,
    jobs: f64,
}

impl MetricDemand {
    /// KEDA: a target of zero asks for no Job.
    fn amount(self, max: f64) -> Amount {
        let jobs = if self.target == 0.0 { 0.0 } else { (self.queue_length / self.target).min(max) };
        Amount { queue_length: self.queue_length, jobs }
    }
}

impl Demand {
    /// Combines the metrics whose sources answered, in the order of the triggers.
    pub fn combine(metrics: &[MetricDemand], how: MultipleScalersCalculation, bounds: Bounds) -> Self {
        let max = bounds.max as f64;
        let active: Vec<Amount> =
            metrics.iter().filter(|metric| metric.is_active).map(|metric| metric.amount(max)).collect();
        let combined = match how {
            MultipleScalersCalculation::Max => largest(&active),
            MultipleScalersCalculation::Min => smallest(&active),
            MultipleScalersCalculation::Avg => mean(&active),
            MultipleScalersCalculation::Sum => sum(&active),
        };
        let Amount { queue_length, jobs } = combined.unwrap_or_default();
        Self {
            is_active: combined.is_some() || bounds.min > 0,
            queue_length: queue_length.ceil() as i64,
            jobs: jobs.min(max).ceil() as i64,
        }
    }
}

/// KEDA: queues that are all empty are no activity, whatever their triggers say.
fn largest(active: &[Amount]) -> Option<Amount> {
    let longer = |held: Option<Amount>, one: &Amount| {
        let is_longer = one.queue_length > held.map_or(0.0, |held| held.queue_length);
        if is_longer { Some(*one) } else { held }
    };
    active.iter().fold(None, longer)
}

/// KEDA: an empty queue that came first is replaced by whatever comes next.
fn smallest(active: &[Amount]) -> Option<Amount> {
    active.iter().copied().reduce(|held, one| {
        let is_taken = held.queue_length == 0.0 || one.queue_length < held.queue_length;
        if is_taken { one } else { held }
    })
}

fn mean(active: &[Amount]) -> Option<Amount> {
    let count = active.len() as f64;
    sum(active).map(|sum| Amount { queue_length: sum.queue_length / count, jobs: sum.jobs / count })
}

fn sum(active: &[Amount]) -> Option<Amount> {
    active
        .iter()
        .copied()
        .reduce(|sum, one| Amount { queue_length: sum.queue_length + one.queue_length, jobs: sum.jobs + one.jobs })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_metric() -> impl Strategy<Value = MetricDemand> {
        let amount = prop_oneof![Just(0.0), 0.0..1000.0f64];
        (amount.clone(), amount, any::<bool>()).prop_map(|(queue_length, target, is_active)| MetricDemand {
            queue_length,
            target,
            is_active,
        })
    }

    fn any_combination() -> impl Strategy<Value = MultipleScalersCalculation> {
        use MultipleScalersCalculation::*;
        prop_oneof![Just(Max), Just(Min), Just(Avg), Just(Sum)]
    }

    proptest! {
        #[test]
        fn inactive_metrics_change_nothing(
            metrics in prop::collection::vec(any_metric(), 0..6), how in any_combination(), min in 0..5i32,
        ) {
            let bounds = Bounds::new(Some(min), Some(50));
            let active: Vec<MetricDemand> = metrics.iter().filter(|metric| metric.is_active).copied().collect();
            prop_assert_eq!(Demand::combine(&metrics, how, bounds), Demand::combine(&active, how, bounds));
        }

        #[test]
        fn jobs_are_between_zero_and_the_maximum(
            metrics in prop::collection::vec(any_metric(), 0..6), how in any_combination(), max in 1..200i32,
        ) {
            let demand = Demand::combine(&metrics, how, Bounds::new(None, Some(max)));
            prop_assert!((0..=i64::from(max)).contains(&demand.jobs), "{:?}", demand);
            prop_assert!(demand.is_active || demand == Demand::default(), "{:?}", demand);
        }

        #[test]
        fn the_sum_is_the_longest_and_the_order_counts_for_min_alone(
            metrics in prop::collection::vec(any_metric(), 1..6), how in any_combination(),
        ) {
            let bounds = Bounds::new(None, Some(100));
            let of = |how| Demand::combine(&metrics, how, bounds);
            prop_assert!(of(MultipleScalersCalculation::Sum).queue_length >= of(how).queue_length);
            if how != MultipleScalersCalculation::Min {
                let reversed: Vec<MetricDemand> = metrics.iter().rev().copied().collect();
                let (there, back) = (of(how), Demand::combine(&reversed, how, bounds));
                // Sums of fractions round differently, and of two queues of one length the first counts.
                prop_assert!((there.queue_length - back.queue_length).abs() <= 1, "{:?} {:?}", there, back);
            }
        }
    }
}
