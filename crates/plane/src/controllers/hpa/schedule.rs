//! When which autoscaler is due: one period after it was first asked for, be it because it is new, because it changed,
//! or because its last reconcile is over. Asking again while it waits changes nothing, so no update makes a reconcile come early.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::controllers::client::ObjectKey;

#[derive(Debug)]
pub(super) struct Schedule {
    period: Duration,
    waiting: BTreeMap<ObjectKey, Instant>,
    /// The same, by time.
    order: BTreeSet<(Instant, ObjectKey)>,
}

impl Schedule {
    pub(super) fn new(period: Duration) -> Self {
        Self { period, waiting: BTreeMap::new(), order: BTreeSet::new() }
    }

    pub(super) fn request(&mut self, key: ObjectKey, now: Instant) {
        if let Entry::Vacant(entry) = self.waiting.entry(key) {
            let due_at = now + self.period;
            self.order.insert((due_at, entry.key().clone()));
            entry.insert(due_at);
        }
    }

    /// The one that has been due for the longest and is not being reconciled.
    pub(super) fn take_due(&mut self, busy: &BTreeSet<ObjectKey>) -> Option<ObjectKey> {
        let now = Instant::now();
        let due = self.first_free(busy).filter(|(at, _)| *at <= now)?.clone();
        self.order.remove(&due);
        self.waiting.remove(&due.1);
        Some(due.1)
    }

    pub(super) fn next_at(&self, busy: &BTreeSet<ObjectKey>) -> Option<Instant> {
        self.first_free(busy).map(|(at, _)| *at)
    }

    fn first_free(&self, busy: &BTreeSet<ObjectKey>) -> Option<&(Instant, ObjectKey)> {
        self.order.iter().find(|(_, key)| !busy.contains(key))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_update_makes_no_pass_come_early() {
        let (mut schedule, none) = (Schedule::new(Duration::from_secs(15)), BTreeSet::new());
        let (web, api) = (ObjectKey::new("shop", "web"), ObjectKey::new("shop", "api"));
        let start = Instant::now();
        schedule.request(web.clone(), start);
        advance(Duration::from_secs(5)).await;
        schedule.request(web.clone(), Instant::now());
        schedule.request(api.clone(), Instant::now());
        assert_eq!(schedule.take_due(&none), None);
        assert_eq!(schedule.next_at(&none), Some(start + Duration::from_secs(15)));
        advance(Duration::from_secs(15)).await;
        assert_eq!(
            schedule.take_due(&BTreeSet::from([web.clone()])),
            Some(api),
            "one that is being reconciled is not taken again"
        );
        assert_eq!(schedule.take_due(&none), Some(web));
        assert_eq!(schedule.next_at(&none), None);
    }
}
