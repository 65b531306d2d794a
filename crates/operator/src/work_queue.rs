//! The work queue of the controllers: keys, with the instants at which they are due. One timer serves all objects.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;
use tokio::time::Instant;

/// Keys with the instants at which they are due. A key is in it at most once.
#[derive(Debug)]
pub struct WorkQueue<K> {
    entries: Mutex<Entries<K>>,
    changed: Notify,
}

#[derive(Debug)]
struct Entries<K> {
    due: HashMap<K, Instant>,
    order: BTreeSet<(Instant, K)>,
}

impl<K: Clone + Eq + Hash + Ord> WorkQueue<K> {
    pub fn new() -> Self {
        Self { entries: Mutex::new(Entries { due: HashMap::new(), order: BTreeSet::new() }), changed: Notify::new() }
    }

    /// Makes a key due at this instant, unless it is due earlier.
    pub fn add(&self, key: K, at: Instant) {
        let mut entries = self.lock();
        if let Some(due) = entries.due.get(&key).copied() {
            if due <= at {
                return;
            }
            entries.order.remove(&(due, key.clone()));
        }
        entries.due.insert(key.clone(), at);
        entries.order.insert((at, key));
        drop(entries);
        self.changed.notify_one();
    }

    /// Makes a key due at once.
    pub fn add_now(&self, key: K) {
        self.add(key, Instant::now());
    }

    /// Waits for the key that is due first, and removes it. Keys due at the same instant come in their order.
    pub async fn next(&self) -> K {
        loop {
            let wait = {
                let mut entries = self.lock();
                let first = entries.order.first().map(|(at, _)| *at);
                if first.is_some_and(|at| at <= Instant::now())
                    && let Some((_, key)) = entries.order.pop_first()
                {
                    entries.due.remove(&key);
                    return key;
                }
                first
            };
            let changed = self.changed.notified();
            match wait {
                Some(at) => {
                    tokio::select! {
                        biased;
                        () = changed => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries<K>> {
        self.entries.lock().expect("no holder of the lock panics")
    }
}

impl<K: Clone + Eq + Hash + Ord> Default for WorkQueue<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn keys_come_when_they_are_due_and_the_earlier_instant_counts() {
        let queue = WorkQueue::new();
        let start = Instant::now();
        let second = Duration::from_secs(1);
        queue.add("later", start + 9 * second);
        queue.add("sooner", start + 5 * second);
        queue.add("later", start + 7 * second);
        queue.add("sooner", start + 8 * second);
        assert_eq!((queue.next().await, start.elapsed()), ("sooner", 5 * second));
        assert_eq!((queue.next().await, start.elapsed()), ("later", 7 * second));
        queue.add_now("b");
        queue.add_now("a");
        assert_eq!((queue.next().await, queue.next().await), ("a", "b"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_key_ends_the_wait() {
        let queue = std::sync::Arc::new(WorkQueue::new());
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.next().await }
        });
        tokio::task::yield_now().await;
        queue.add_now(7);
        assert_eq!(waiting.await.unwrap(), 7);
    }
}
