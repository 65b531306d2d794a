//! The revision of the last change, told to those who wait for the next.
//!
//! They wake in the order in which they began to wait. `tokio::sync::watch` wakes in an order of chance, and with it two
//! runs that are the same in everything else would differ.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Where the revision is told.
#[derive(Debug)]
pub(crate) struct Teller {
    told: Arc<Told>,
}

#[derive(Debug)]
struct Told {
    revision: AtomicU64,
    changed: Notify,
}

impl Teller {
    pub(crate) fn new(revision: u64) -> Self {
        Self { told: Arc::new(Told { revision: AtomicU64::new(revision), changed: Notify::new() }) }
    }

    /// Wakes those who wait, if this is news.
    pub(crate) fn tell(&self, revision: u64) {
        if self.told.revision.swap(revision, Ordering::SeqCst) != revision {
            self.told.changed.notify_waiters();
        }
    }

    pub(crate) fn listen(&self) -> Revision {
        Revision { seen: self.told.revision.load(Ordering::SeqCst), told: self.told.clone() }
    }
}

/// The revision of the last change, as one listener has seen it.
#[derive(Clone, Debug)]
pub struct Revision {
    told: Arc<Told>,
    seen: u64,
}

impl Revision {
    /// The revision now. It counts as seen.
    pub fn see(&mut self) -> u64 {
        self.seen = self.told.revision.load(Ordering::SeqCst);
        self.seen
    }

    /// Waits until it is another one than that last seen, and has seen it then.
    pub async fn changed(&mut self) {
        let told = self.told.clone();
        loop {
            let mut changed = std::pin::pin!(told.changed.notified());
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
        let (teller, order) = (Teller::new(1), Arc::new(Mutex::new(Vec::new())));
        let waiters: Vec<_> = (0..50)
            .map(|number| {
                let (mut revision, order) = (teller.listen(), order.clone());
                tokio::spawn(async move {
                    revision.changed().await;
                    order.lock().expect("nobody panics").push(number);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        teller.tell(2);
        for waiter in waiters {
            waiter.await.expect("it ends");
        }
        assert_eq!(*order.lock().expect("nobody panics"), (0..50).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_told_before_the_wait_ends_it_and_what_is_no_news_does_not() {
        let teller = Teller::new(1);
        let mut revision = teller.listen();
        teller.tell(2);
        revision.changed().await;
        assert_eq!(revision.see(), 2);
        teller.tell(2);
        let patience = std::time::Duration::from_secs(1);
        assert!(tokio::time::timeout(patience, revision.changed()).await.is_err());
    }
}
