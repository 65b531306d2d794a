//! The workers of the leader: at most one reconcile per object at a time, and the state of the objects that are not being reconciled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kedge_cluster::{ObjectKey, instant_after};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::error;

use crate::panics::{Panicked, without_panic};
use crate::scaled_object::{ReconcileState, Reconciler};
use crate::slots::{Slot, Slots};
use crate::work_queue::WorkQueue;

/// The pause of an object whose reconcile panicked.
const PANIC_PAUSE: Duration = Duration::from_secs(60);

/// The result of one reconcile: the object, its state, and when the next reconcile is due.
pub(crate) type Reconciled = (ObjectKey, Box<ReconcileState>, Option<Instant>);

/// The reconciles in progress.
#[derive(Default)]
pub(crate) struct Workers {
    pub(crate) running: JoinSet<Reconciled>,
    /// The objects that are being reconciled, each with the signal that it is due again.
    busy: BTreeMap<ObjectKey, Arc<Notify>>,
    /// Objects that became due during their reconcile.
    due_again: BTreeSet<ObjectKey>,
    /// In boxes: every reconcile removes a state and inserts it again.
    pub(crate) states: BTreeMap<ObjectKey, Box<ReconcileState>>,
}

impl Workers {
    /// Notes that an object is due again, if it is being reconciled; otherwise returns it.
    pub(crate) fn take_idle(&mut self, key: ObjectKey) -> Option<ObjectKey> {
        let Some(due_again) = self.busy.get(&key) else { return Some(key) };
        due_again.notify_one();
        self.due_again.insert(key);
        None
    }

    /// Starts a reconcile of an object that is not being reconciled.
    pub(crate) fn start(&mut self, key: ObjectKey, mut slot: Slot, reconciler: &Arc<Reconciler>) {
        self.busy.insert(key.clone(), slot.due_again());
        let mut state = self.states.remove(&key).unwrap_or_default();
        let reconciler = reconciler.clone();
        self.running.spawn(async move {
            let next = match without_panic(reconciler.reconcile(&key, &mut state, &mut slot)).await {
                Ok(next) => next,
                Err(Panicked) => {
                    let (namespace, name) = (&*key.namespace, &*key.name);
                    error!(namespace, name, pause = ?PANIC_PAUSE, "a reconcile panicked: this is a defect; retrying");
                    // Half a reconcile may have left anything behind.
                    reconciler.forget(&key, &mut state);
                    Some(instant_after(PANIC_PAUSE))
                }
            };
            (key, state, next)
        });
    }

    /// Takes the result of a reconcile, and enqueues the next.
    pub(crate) fn finish(&mut self, (key, state, next): Reconciled, queue: &WorkQueue<ObjectKey>) {
        self.busy.remove(&key);
        if self.due_again.remove(&key) {
            queue.add_now(key.clone());
        }
        if let Some(next) = next {
            queue.add(key.clone(), next);
        }
        if state.is_started() {
            self.states.insert(key, state);
        }
    }

    /// Waits for the reconciles in progress, and keeps their states. Sources are not waited for.
    pub(crate) async fn drain(&mut self, slots: &Slots) {
        slots.stop();
        self.busy.values().for_each(|due_again| due_again.notify_one());
        while let Some(done) = self.running.join_next().await {
            if let Ok((key, state, _)) = done {
                self.states.insert(key, state);
            }
        }
    }
}
