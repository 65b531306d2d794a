//! Normalisation without `spec.behavior`: one window for scale-downs, at most a doubling per pass.

use chrono::TimeDelta;

use super::{Limit, NormaliseInput, Normalised, Stability};
use crate::hpa::model::convert::to_i32;
use crate::hpa::model::history::{ScalingHistory, cutoff};

/// Normalises the proposal and remembers it.
pub fn normalise(asked: NormaliseInput, window: TimeDelta, history: &mut ScalingHistory) -> Normalised {
    let stabilised = stabilise(asked, window, history);
    let stability = if stabilised == asked.raw { Stability::Ready } else { Stability::HeldDown };
    let (desired, limit) = bound(stabilised, asked);
    Normalised { stabilised, stability, desired, limit }
}

/// The largest proposal of the window.
fn stabilise(asked: NormaliseInput, window: TimeDelta, history: &mut ScalingHistory) -> i32 {
    let cutoff = cutoff(asked.now, window);
    // HPA: a recommendation as old as the window still counts. And since the largest one is the target, replicas may
    // rise although the metrics ask for fewer.
    let recent = history.recommendations.iter().filter(|recommendation| recommendation.at >= cutoff);
    let stabilised = recent.map(|recommendation| recommendation.replicas).fold(asked.raw, i32::max);
    history.recommend(asked.raw, asked.now, cutoff);
    stabilised
}

fn bound(stabilised: i32, asked: NormaliseInput) -> (i32, Limit) {
    let rate = to_i32((2.0 * f64::from(asked.current)).max(4.0));
    let (allowed, limit) = if asked.bounds.max > rate { (rate, Limit::UpRate) } else { (asked.bounds.max, Limit::Max) };
    if stabilised < asked.bounds.min {
        (asked.bounds.min, Limit::Min)
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
            let asked = NormaliseInput { raw, current, bounds: Bounds { min: 1, max: 100 }, now: at(second) };
            let normalised = normalise(asked, TimeDelta::seconds(300), &mut history);
            assert_eq!((normalised.stabilised, normalised.desired), (stabilised, desired), "{name}");
        }
    }
}
