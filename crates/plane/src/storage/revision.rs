//! The revision of the last change, and notification of subscribers.
//!
//! Subscribers wake in the order in which they began to wait. `tokio::sync::watch` wakes in a random order, with which two
//! otherwise equal runs would differ.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Publishes the revision.
#[derive(Debug)]
pub(crate) struct RevisionPublisher {
    shared: Arc<SharedRevision>,
}

#[derive(Debug)]
struct SharedRevision {
    revision: AtomicU64,
    changed: Notify,
}

impl RevisionPublisher {
    pub(crate) fn new(revision: u64) -> Self {
        Self { shared: Arc::new(SharedRevision { revision: AtomicU64::new(revision), changed: Notify::new() }) }
    }

    /// Wakes subscribers, if the revision is new.
    pub(crate) fn publish(&self, revision: u64) {
        if self.shared.revision.swap(revision, Ordering::SeqCst) != revision {
            self.shared.changed.notify_waiters();
        }
    }

    pub(crate) fn subscribe(&self) -> Revision {
        Revision { seen: self.shared.revision.load(Ordering::SeqCst), shared: self.shared.clone() }
    }
}

/// The revision of the last change, as one subscriber has seen it.
#[derive(Clone, Debug)]
pub struct Revision {
    shared: Arc<SharedRevision>,
    seen: u64,
}

impl Revision {
    /// The revision now. It counts as seen.
    pub fn see(&mut self) -> u64 {
        self.seen = self.shared.revision.load(Ordering::SeqCst);
        self.seen
    }

    /// Waits until the revision differs from the last seen one, and marks it as seen.
    pub async fn changed(&mut self) {
        let shared = self.shared.clone();
        loop {
            let mut changed = std::pin::pin!(shared.changed.notified());
            changed.as_mut().enable();
            let seen = self.seen;
            if self.see() != seen {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn whoever_waited_first_wakes_first() {
        let (publisher, order) = (RevisionPublisher::new(1), Arc::new(Mutex::new(Vec::new())));
        let waiters: Vec<_> = (0..50)
            .map(|number| {
                let (mut revision, order) = (publisher.subscribe(), order.clone());
                tokio::spawn(async move {
                    revision.changed().await;
                    order.lock().expect("no thread panics").push(number);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        publisher.publish(2);
        for waiter in waiters {
            waiter.await.expect("it ends");
        }
        assert_eq!(*order.lock().expect("no thread panics"), (0..50).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn a_revision_announced_before_the_wait_ends_it_and_an_older_one_does_not() {
        let publisher = RevisionPublisher::new(1);
        let mut revision = publisher.subscribe();
        publisher.publish(2);
        revision.changed().await;
        assert_eq!(revision.see(), 2);
        publisher.publish(2);
        let patience = std::time::Duration::from_secs(1);
        assert!(tokio::time::timeout(patience, revision.changed()).await.is_err());
    }
}
