//! When the triggers of an object are polled.

use std::time::Duration;

use kedge_cluster::{instant_after, phase};
use kedge_core::policy::Overrides;
use tokio::time::Instant;

use crate::scalers_cache::ObjectScalers;

/// Within this time a new process, or a new leader, polls every object.
pub(crate) const FIRST_POLLS: Duration = Duration::from_secs(5);

/// When the polls of one object are due.
#[derive(Debug, Default)]
pub(crate) struct PollSchedule {
    /// `None` during a pause: then the next reconcile that may poll does.
    pub(crate) next_at: Option<Instant>,
    /// When the last poll counted for the activity history: polls that fail half-way do not.
    counted_at: Option<Instant>,
    /// When the second poll is due, which puts the object at its own place in its period.
    place_at: Option<Instant>,
    /// The input of the last poll; when it changes, the triggers are polled at once.
    polled: Option<PollInput>,
}

/// What a poll depends on, apart from the sources.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PollInput {
    generation: Option<i64>,
    overrides: Overrides,
    /// The count of changes of the credentials.
    credentials: u64,
    /// The indexes of the triggers that are built.
    built: Vec<usize>,
}

impl PollInput {
    pub(crate) fn new(generation: Option<i64>, overrides: &Overrides, scalers: &ObjectScalers) -> Self {
        Self { generation, overrides: overrides.clone(), credentials: scalers.credentials, built: scalers.built() }
    }
}

impl PollSchedule {
    /// A new object is polled at once, and the objects of an earlier process soon, a few at a time: no process did meanwhile. Then each takes
    /// its own place in its period: objects that were created together are not polled together ever after, over a connection each.
    pub(crate) fn new(uid: &str, period: Duration, is_known: bool) -> Self {
        let now = Instant::now();
        let soon = if is_known { phase(uid, period.min(FIRST_POLLS)) } else { Duration::ZERO };
        Self { next_at: Some(now + soon), place_at: Some(now + phase(uid, period)), ..Self::default() }
    }

    /// Whether a poll is due, or its input has changed.
    pub(crate) fn is_due(&self, input: &PollInput) -> bool {
        let changed = self.polled.as_ref().is_some_and(|polled| polled != input);
        changed || self.next_at.is_none_or(|at| at <= Instant::now())
    }

    /// Records the start of a poll; returns how late it is.
    pub(crate) fn start_poll(&mut self, interval: Duration, input: PollInput) -> Duration {
        let delay = self.next_at.map_or(Duration::ZERO, |at| at.elapsed());
        let place_at = self.place_at.take().filter(|at| *at > Instant::now());
        self.next_at = Some(place_at.unwrap_or_else(|| instant_after(interval)));
        self.polled = Some(input);
        delay
    }

    /// Records that a poll counts for the activity history; returns by how much more than the interval the last one is ago.
    pub(crate) fn count_poll(&mut self, interval: Duration) -> Duration {
        let last = self.counted_at.replace(Instant::now());
        last.map_or(Duration::ZERO, |at| at.elapsed().saturating_sub(interval))
    }

    /// When a failed reconcile is retried: after a pause, but not later than the next poll.
    pub(crate) fn retry_at(&self, pause: Duration) -> Instant {
        let retry_at = instant_after(pause);
        self.next_at.filter(|at| *at > Instant::now()).map_or(retry_at, |poll_at| retry_at.min(poll_at))
    }

    /// Makes the next reconcile poll, after one that did not finish.
    pub(crate) fn poll_again(&mut self) {
        if self.next_at.is_some() {
            self.next_at = Some(Instant::now());
        }
    }

    /// Makes the next reconcile poll, however long it takes until then.
    pub(crate) fn suspend(&mut self) {
        (self.next_at, self.counted_at) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const INTERVAL: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn objects_that_are_created_together_are_polled_at_once_and_then_apart() {
        let created_at = Instant::now();
        let overrides = Overrides::from_annotations(None);
        let input = PollInput { generation: None, overrides, credentials: 0, built: Vec::new() };
        let mut seconds = BTreeSet::new();
        for uid in 0..100 {
            let mut schedule = PollSchedule::new(&uid.to_string(), INTERVAL, false);
            assert!(schedule.is_due(&input), "a new object is polled at once");
            schedule.start_poll(INTERVAL, input.clone());
            let second_after = schedule.next_at.unwrap() - created_at;
            assert!(second_after <= INTERVAL, "{second_after:?}");
            seconds.insert(second_after.as_secs());
            schedule.start_poll(INTERVAL, input.clone());
            assert_eq!(schedule.next_at, Some(created_at + INTERVAL), "from then on the interval is exact");
        }
        assert!(seconds.len() > 20, "they share {} of 30 seconds", seconds.len());
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_without_polls_is_what_exceeds_the_interval() {
        let mut schedule = PollSchedule::default();
        assert_eq!(schedule.count_poll(INTERVAL), Duration::ZERO, "the first");
        for (waited, expected) in [(30, 0), (100, 70), (30, 0)] {
            tokio::time::advance(Duration::from_secs(waited)).await;
            assert_eq!(schedule.count_poll(INTERVAL), Duration::from_secs(expected), "after {waited} s");
        }
        schedule.suspend();
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(schedule.count_poll(INTERVAL), Duration::ZERO, "a pause is no delay");
    }
}
