//! Verdicts, cached for a short time.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// The hash of what a verdict is about. That itself is not stored: it may be a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SubjectHash([u8; 32]);

impl SubjectHash {
    pub(crate) fn digest(subject: &[u8]) -> Self {
        Self(Sha256::digest(subject).into())
    }
}

/// A bounded cache: when it is full, the oldest verdict is evicted.
#[derive(Debug)]
pub(crate) struct VerdictCache<K, V> {
    ttl: Duration,
    entries_max: usize,
    entries: Mutex<Entries<K, V>>,
}

#[derive(Debug)]
struct Entries<K, V> {
    verdicts: HashMap<K, V>,
    /// In the order of their expiry, which is the order of their insertion: all have the same TTL.
    ends: VecDeque<(Instant, K)>,
}

impl<K: Copy + Eq + Hash, V> Entries<K, V> {
    fn remove_expired(&mut self, now: Instant) {
        while self.ends.front().is_some_and(|(ends_at, _)| *ends_at <= now) {
            self.remove_oldest();
        }
    }

    fn remove_oldest(&mut self) {
        if let Some((_, key)) = self.ends.pop_front() {
            self.verdicts.remove(&key);
        }
    }
}

impl<K: Copy + Eq + Hash, V: Clone> VerdictCache<K, V> {
    pub(crate) fn new(ttl: Duration, entries_max: usize) -> Self {
        Self { ttl, entries_max, entries: Mutex::new(Entries { verdicts: HashMap::new(), ends: VecDeque::new() }) }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut entries = self.lock();
        entries.remove_expired(Instant::now());
        entries.verdicts.get(key).cloned()
    }

    /// Stores a verdict. Of two concurrent ones for the same key, the first stays.
    pub(crate) fn put(&self, key: K, verdict: V) {
        let now = Instant::now();
        let mut entries = self.lock();
        entries.remove_expired(now);
        if self.entries_max == 0 || entries.verdicts.contains_key(&key) {
            return;
        }
        if entries.verdicts.len() == self.entries_max {
            entries.remove_oldest();
        }
        entries.verdicts.insert(key, verdict);
        entries.ends.push_back((now + self.ttl, key));
    }

    fn lock(&self) -> MutexGuard<'_, Entries<K, V>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn key(text: &str) -> SubjectHash {
        SubjectHash::digest(text.as_bytes())
    }

    #[tokio::test(start_paused = true)]
    async fn verdicts_are_forgotten_when_their_time_is_over() {
        let cache = VerdictCache::new(Duration::from_secs(10), 8);
        cache.put(key("a"), 1);
        advance(Duration::from_millis(9_999)).await;
        assert_eq!(cache.get(&key("a")), Some(1));
        cache.put(key("a"), 2);
        assert_eq!(cache.get(&key("a")), Some(1), "the first stays, and so does its end");
        advance(Duration::from_millis(1)).await;
        assert_eq!(cache.get(&key("a")), None);
        cache.put(key("a"), 3);
        assert_eq!(cache.get(&key("a")), Some(3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_cache_evicts_its_oldest_verdict() {
        let cache = VerdictCache::new(Duration::from_secs(10), 2);
        for (name, verdict) in [("a", 1), ("b", 2), ("c", 3)] {
            cache.put(key(name), verdict);
        }
        assert_eq!((cache.get(&key("a")), cache.get(&key("b")), cache.get(&key("c"))), (None, Some(2), Some(3)));
        assert_eq!(cache.lock().ends.len(), 2);
    }
}
