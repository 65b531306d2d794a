//! Whether this replica leads or is a standby, and which objects the leader has reconciled.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use kedge_cluster::ObjectKey;

/// The leadership of this replica.
#[derive(Debug, Default)]
pub struct Leadership {
    leads: AtomicBool,
    /// How often this replica became the leader or a standby.
    term: AtomicU64,
    /// The identity of the leader, as the Lease had it last.
    leader: Mutex<Option<String>>,
    /// The objects that this leader has reconciled.
    reconciled: Mutex<BTreeSet<ObjectKey>>,
}

impl Leadership {
    pub fn leads(&self) -> bool {
        self.leads.load(Ordering::Acquire)
    }

    /// The identity of the leader, as the Lease had it last.
    pub(crate) fn leader(&self) -> Option<String> {
        self.leader.lock().expect("no holder of the lock panics").clone()
    }

    pub(crate) fn note_leader(&self, identity: Option<&str>) {
        let mut leader = self.leader.lock().expect("no holder of the lock panics");
        if leader.as_deref() != identity {
            *leader = identity.map(str::to_owned);
        }
    }

    /// The number of its present term. What was built in another term may lack what only a leader has.
    pub(crate) fn term(&self) -> u64 {
        self.term.load(Ordering::Acquire)
    }

    /// Whether this replica leads and has reconciled the object. Until then it knows no more of the object than a standby.
    pub(crate) fn has_reconciled(&self, key: &ObjectKey) -> bool {
        self.leads() && self.reconciled().contains(key)
    }

    pub(crate) fn become_leader(&self) {
        self.reconciled().clear();
        self.leads.store(true, Ordering::Release);
        self.term.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn become_standby(&self) {
        self.leads.store(false, Ordering::Release);
        self.term.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn record_reconciled(&self, key: &ObjectKey) {
        let mut reconciled = self.reconciled();
        if !reconciled.contains(key) {
            reconciled.insert(key.clone());
        }
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.reconciled().remove(key);
    }

    fn reconciled(&self) -> MutexGuard<'_, BTreeSet<ObjectKey>> {
        self.reconciled.lock().expect("no holder of the lock panics")
    }
}
