//! Normalisation with `spec.behavior`: a window for each direction, and rates by policies.

use super::{Limit, NormaliseInput, Normalised, Stability};
use crate::hpa::model::convert::to_i32;
use crate::hpa::model::history::{ScalingHistory, cutoff};
use crate::hpa::model::rules::{Allowance, Behavior, Policy, Rules, Select};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Up,
    Down,
}

/// Normalises the proposal and records it in the history.
pub fn normalise(input: NormaliseInput, behavior: &Behavior, history: &mut ScalingHistory) -> Normalised {
    let stabilised = stabilise(input, behavior, history);
    let stability = match input.raw {
        raw if raw == stabilised => Stability::Ready,
        raw if raw >= input.current => Stability::HeldUp,
        _ => Stability::HeldDown,
    };
    let (desired, limit) = match stabilised.cmp(&input.current) {
        std::cmp::Ordering::Greater => bound_up(stabilised, input, &behavior.up, history),
        std::cmp::Ordering::Less => bound_down(stabilised, input, &behavior.down, history),
        std::cmp::Ordering::Equal => (stabilised, Limit::WithinRange),
    };
    Normalised { stabilised, stability, desired, limit }
}

/// The current replicas, moved no further than between the lowest and the highest proposal of the windows.
fn stabilise(input: NormaliseInput, behavior: &Behavior, history: &mut ScalingHistory) -> i32 {
    let up_since = cutoff(input.now, behavior.up.window);
    let down_since = cutoff(input.now, behavior.down.window);
    let (mut lowest, mut highest) = (input.raw, input.raw);
    for recommendation in &history.recommendations {
        // HPA: as old as the window is too old, unlike where there is no behavior.
        if recommendation.at > up_since {
            lowest = lowest.min(recommendation.replicas);
        }
        if recommendation.at > down_since {
            highest = highest.max(recommendation.replicas);
        }
    }
    history.recommend(input.raw, input.now, up_since.min(down_since));
    input.current.max(lowest).min(highest)
}

fn bound_up(stabilised: i32, input: NormaliseInput, rules: &Rules, history: &ScalingHistory) -> (i32, Limit) {
    let limits = rules.policies.iter().map(|policy| limit_of(Direction::Up, policy, input, history));
    let rate = match rules.select {
        Select::Disabled => input.current,
        Select::Max => limits.max().unwrap_or(i32::MIN),
        Select::Min => limits.min().unwrap_or(i32::MAX),
    };
    let rate = rate.max(input.current);
    let (allowed, limit) = if input.bounds.max > rate { (rate, Limit::UpRate) } else { (input.bounds.max, Limit::Max) };
    if stabilised > allowed { (allowed, limit) } else { (stabilised, Limit::WithinRange) }
}

fn bound_down(stabilised: i32, input: NormaliseInput, rules: &Rules, history: &ScalingHistory) -> (i32, Limit) {
    let limits = rules.policies.iter().map(|policy| limit_of(Direction::Down, policy, input, history));
    // The largest change leaves the fewest replicas.
    let rate = match rules.select {
        Select::Disabled => input.current,
        Select::Max => limits.min().unwrap_or(i32::MAX),
        Select::Min => limits.max().unwrap_or(i32::MIN),
    };
    let rate = rate.min(input.current);
    let (allowed, limit) =
        if input.bounds.min < rate { (rate, Limit::DownRate) } else { (input.bounds.min, Limit::Min) };
    if stabilised < allowed { (allowed, limit) } else { (stabilised, Limit::WithinRange) }
}

fn limit_of(direction: Direction, policy: &Policy, input: NormaliseInput, history: &ScalingHistory) -> i32 {
    // HPA: changes of both directions count, so a scale-up makes room for a scale-down and vice versa.
    let start = history.period_start(input.current, policy.period, input.now);
    match (policy.allows, direction) {
        (Allowance::Pods(pods), Direction::Up) => start.wrapping_add(pods),
        (Allowance::Pods(pods), Direction::Down) => start.wrapping_sub(pods),
        (Allowance::Percent(percent), _) => percent_limit(direction, start, percent),
    }
}

/// The replicas that a percent policy allows when its period started with `start` replicas.
// HPA: a product of floats, so 10 % of 50 allows 56, and 80 % down from 25 allows 4.
pub fn percent_limit(direction: Direction, start: i32, percent: i32) -> i32 {
    let (start, fraction) = (f64::from(start), f64::from(percent) / 100.0);
    match direction {
        Direction::Up => to_i32((start * (1.0 + fraction)).ceil()),
        Direction::Down => to_i32(start * (1.0 - fraction)),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::*;
    use crate::hpa::model::normalise::Bounds;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn pods_per_two_minutes(pods: i32) -> Rules {
        let policies = vec![Policy { allows: Allowance::Pods(pods), period: TimeDelta::seconds(120) }];
        Rules { window: TimeDelta::zero(), select: Select::Max, policies, tolerance: None }
    }

    #[test]
    fn a_change_in_one_direction_makes_room_for_the_other() {
        let behavior = Behavior { up: pods_per_two_minutes(5), down: pods_per_two_minutes(3) };
        let rows = [
            // second, current, raw, desired
            ("up by what is allowed", 0, 10, 30, 15),
            ("down below where it came from", 30, 15, 1, 7),
            ("and up again", 60, 7, 30, 15),
        ];
        let mut history = ScalingHistory::default();
        for (name, second, current, raw, desired) in rows {
            let input = NormaliseInput { raw, current, bounds: Bounds { min: 1, max: 100 }, now: at(second) };
            assert_eq!(normalise(input, &behavior, &mut history).desired, desired, "{name}");
            history.store_change(current, desired, &behavior, at(second));
        }
    }

    #[test]
    fn percents_round_as_floats_do() {
        let rows = [
            ("10 % of 50 is a little more than 55", Direction::Up, 50, 10, 56),
            ("nothing grows out of nothing", Direction::Up, 0, 100, 0),
            ("one grows at least by one", Direction::Up, 1, 1, 2),
            ("90 % of 10 leaves a little less than 1", Direction::Down, 10, 90, 0),
            ("80 % of 25 leaves a little less than 5", Direction::Down, 25, 80, 4),
        ];
        for (name, direction, start, percent, limit) in rows {
            assert_eq!(percent_limit(direction, start, percent), limit, "{name}");
        }
    }
}
