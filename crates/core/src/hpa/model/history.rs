//! The controller's history of one HPA between two reconciles, which a restart loses. Old slots are reused rather than
//! removed, and which slot is reused has an effect later.

use chrono::{DateTime, TimeDelta, Utc};

use super::rules::Behavior;

/// Recommendations and scale events; empty after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScalingHistory {
    /// Raw proposals, before windows, rates and bounds.
    pub recommendations: Vec<Recommendation>,
    pub scale_ups: Vec<ScaleEvent>,
    pub scale_downs: Vec<ScaleEvent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recommendation {
    pub replicas: i32,
    pub at: DateTime<Utc>,
}

/// A change that the controller itself has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaleEvent {
    /// How many replicas came or went.
    pub change: i32,
    pub at: DateTime<Utc>,
    pub age: EventAge,
}

/// Whether an event's slot may be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventAge {
    Current,
    Outdated,
}

impl ScalingHistory {
    /// Records the current replicas as the first recommendation, so that a restart changes nothing at once.
    pub(super) fn record_first(&mut self, current: i32, now: DateTime<Utc>) {
        if self.recommendations.is_empty() {
            self.recommendations.push(Recommendation { replicas: current, at: now });
        }
    }

    /// Records a raw proposal, in place of the last recommendation from before `cutoff` where there is one.
    pub(super) fn recommend(&mut self, raw: i32, now: DateTime<Utc>, cutoff: DateTime<Utc>) {
        let new = Recommendation { replicas: raw, at: now };
        match self.recommendations.iter_mut().rev().find(|old| old.at < cutoff) {
            Some(old) => *old = new,
            None => self.recommendations.push(new),
        }
    }

    /// The replicas at the start of a period, if only the controller had changed them.
    pub(super) fn period_start(&self, current: i32, period: TimeDelta, now: DateTime<Utc>) -> i32 {
        let since = cutoff(now, period);
        current.wrapping_sub(sum_since(&self.scale_ups, since)).wrapping_add(sum_since(&self.scale_downs, since))
    }

    /// Stores a change that was written.
    pub(super) fn store_change(&mut self, from: i32, to: i32, behavior: &Behavior, now: DateTime<Utc>) {
        let (events, rules) =
            if to > from { (&mut self.scale_ups, &behavior.up) } else { (&mut self.scale_downs, &behavior.down) };
        // HPA: events age by the longest period of their own direction, although the other direction counts them as well.
        let cutoff = cutoff(now, rules.period_max());
        for event in events.iter_mut().filter(|event| event.at < cutoff) {
            event.age = EventAge::Outdated;
        }
        let new = ScaleEvent { change: to.wrapping_sub(from).wrapping_abs(), at: now, age: EventAge::Current };
        match events.iter_mut().rev().find(|event| event.age == EventAge::Outdated) {
            Some(old) => *old = new,
            None => events.push(new),
        }
    }
}

/// The instant that lies the window before `now`.
pub(super) fn cutoff(now: DateTime<Utc>, window: TimeDelta) -> DateTime<Utc> {
    now.checked_sub_signed(window).unwrap_or(DateTime::<Utc>::MIN_UTC)
}

/// An event exactly at the start no longer counts.
fn sum_since(events: &[ScaleEvent], since: DateTime<Utc>) -> i32 {
    events.iter().filter(|event| event.at > since).map(|event| event.change).fold(0, i32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_of_several_old_slots_is_reused() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let mut history = ScalingHistory::default();
        for second in [0, 10, 20] {
            history.recommend(1, at(second), at(-300));
        }
        history.recommend(9, at(320), at(15));
        let seen: Vec<_> = history.recommendations.iter().map(|old| (old.replicas, old.at.timestamp())).collect();
        assert_eq!(seen, [(1, 0), (9, 320), (1, 20)]);
    }
}
