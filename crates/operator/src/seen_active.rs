//! When the metrics API last served an active reading of an object: the HPA may have scaled out on it, so the next poll counts it for the
//! cooldown. It outlives scalers and terms: the metrics API serves before the first poll, and on a standby.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use chrono::{DateTime, Utc};
use kedge_cluster::ObjectKey;

/// The newest active reading of each object that no poll has counted yet.
#[derive(Debug, Default)]
pub(crate) struct SeenActive(Mutex<HashMap<ObjectKey, Seen>>);

#[derive(Debug)]
struct Seen {
    uid: String,
    at: DateTime<Utc>,
}

impl SeenActive {
    pub(crate) fn record(&self, key: &ObjectKey, uid: &str, at: DateTime<Utc>) {
        let mut all = self.all();
        match all.get_mut(key).filter(|seen| seen.uid == uid) {
            Some(seen) => seen.at = at,
            None => drop(all.insert(key.clone(), Seen { uid: uid.to_owned(), at })),
        }
    }

    /// Takes it, so that it counts once.
    pub(crate) fn take(&self, key: &ObjectKey, uid: &str) -> Option<DateTime<Utc>> {
        self.all().remove(key).filter(|seen| seen.uid == uid).map(|seen| seen.at)
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.all().remove(key);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<ObjectKey, Seen>> {
        self.0.lock().expect("no holder of the lock panics")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_reading_of_an_object_counts_once() {
        let (seen, key) = (SeenActive::default(), ObjectKey::scaled_object("shop", "web"));
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        seen.record(&key, "u", at(10));
        seen.record(&key, "u", at(20));
        assert_eq!(seen.take(&key, "u"), Some(at(20)));
        assert_eq!(seen.take(&key, "u"), None, "it was counted");
        seen.record(&key, "u", at(30));
        assert_eq!(seen.take(&key, "v"), None, "it was another object of this name");
    }
}
