//! Normalisation without `spec.behavior`: one window for scale-downs, at most a doubling per reconcile.

use chrono::TimeDelta;

use super::{Limit, NormaliseInput, Normalised, Stability};
use crate::hpa::model::convert::to_i32;
use crate::hpa::model::history::{ScalingHistory, cutoff};

/// Normalises the proposal and records it in the history.
pub fn normalise(input: NormaliseInput, window: TimeDelta, history: &mut ScalingHistory) -> Normalised {
    let stabilised = stabilise(input, window, history);
    let stability = if stabilised == input.raw { Stability::Ready } else { Stability::HeldDown };
    let (desired, limit) = bound(stabilised, input);
    Normalised { stabilised, stability, desired, limit }
}

/// The largest proposal of the window.
fn stabilise(input: NormaliseInput, window: TimeDelta, history: &mut ScalingHistory) -> i32 {
    let cutoff = cutoff(input.now, window);
    // HPA: a recommendation as old as the window still counts. And since the largest one is the target, replicas may
    // rise although the metrics propose fewer.
    let recent = history.recommendations.iter().filter(|recommendation| recommendation.at >= cutoff);
    let stabilised = recent.map(|recommendation| recommendation.replicas).fold(input.raw, i32::max);
    history.recommend(input.raw, input.now, cutoff);
    stabilised
}

fn bound(stabilised: i32, input: NormaliseInput) -> (i32, Limit) {
    let rate = to_i32((2.0 * f64::from(input.current)).max(4.0));
    let (allowed, limit) = if input.bounds.max > rate { (rate, Limit::UpRate) } else { (input.bounds.max, Limit::Max) };
    if stabilised < input.bounds.min {
        (input.bounds.min, Limit::Min)
    } else if stabilised > allowed {
        (allowed, limit)
    } else {
        (stabilised, Limit::WithinRange)
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::hpa::model::normalise::Bounds;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    #[test]
    fn the_highest_proposal_of_the_window_is_the_target() {
        let rows = [
            // second, current, raw, stabilised, desired
            ("a burst at most doubles", 0, 12, 30, 30, 24),
            ("a lower proposal still goes up to the window's highest", 15, 24, 20, 30, 30),
            ("as old as the window it still counts", 300, 30, 2, 30, 30),
            ("then it does not", 301, 30, 2, 20, 20),
        ];
        let mut history = ScalingHistory::default();
        for (name, second, current, raw, stabilised, desired) in rows {
            let input = NormaliseInput { raw, current, bounds: Bounds { min: 1, max: 100 }, now: at(second) };
            let normalised = normalise(input, TimeDelta::seconds(300), &mut history);
            assert_eq!((normalised.stabilised, normalised.desired), (stabilised, desired), "{name}");
        }
    }
}
