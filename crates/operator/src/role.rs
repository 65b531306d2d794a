//! What this replica is: the one that leads, or one that stands by; and which objects a leader has come to.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use kedge_cluster::ObjectKey;

/// What this replica is.
#[derive(Debug, Default)]
pub struct Role {
    leads: AtomicBool,
    /// The objects that this leader has made a pass over.
    known: Mutex<BTreeSet<ObjectKey>>,
}

impl Role {
    pub fn leads(&self) -> bool {
        self.leads.load(Ordering::Acquire)
    }

    /// Whether it leads and has made a pass over this object. Until then it knows no more of it than one that stands by.
    pub(crate) fn has_come_to(&self, key: &ObjectKey) -> bool {
        self.leads() && self.known().contains(key)
    }

    pub(crate) fn begin_to_lead(&self) {
        self.known().clear();
        self.leads.store(true, Ordering::Release);
    }

    pub(crate) fn stand_by(&self) {
        self.leads.store(false, Ordering::Release);
    }

    /// A pass over the object was made.
    pub(crate) fn come_to(&self, key: &ObjectKey) {
        self.known().insert(key.clone());
    }

    /// The object is gone.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.known().remove(key);
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<ObjectKey>> {
        self.known.lock().expect("nobody panics holding it")
    }
}
