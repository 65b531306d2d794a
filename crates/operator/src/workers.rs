//! The workers of the leader: at most one reconcile per object at a time, and the state of the objects that are not being reconciled.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use kedge_cluster::{ObjectKey, ScalableKind, instant_after};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::error;

use crate::panics::{Panicked, without_panic};
use crate::scaled_job::{JobReconcileState, JobReconciler};
use crate::scaled_object::{ReconcileState, Reconciler};
use crate::slots::{Slot, Slots};
use crate::work_queue::WorkQueue;

/// The pause of an object whose reconcile panicked.
const PANIC_PAUSE: Duration = Duration::from_secs(60);

/// The result of one reconcile: the object, its state, and when the next reconcile is due.
pub(crate) type Reconciled = (ObjectKey, ObjectState, Option<Instant>);

/// The controllers, by the kind of their objects.
#[derive(Clone)]
pub(crate) struct Reconcilers {
    pub(crate) scaled_objects: Arc<Reconciler>,
    /// Where ScaledJobs are run.
    pub(crate) scaled_jobs: Option<Arc<JobReconciler>>,
}

/// The state of one object. In boxes: every reconcile removes a state and inserts it again.
pub(crate) enum ObjectState {
    ScaledObject(Box<ReconcileState>),
    ScaledJob(Box<JobReconcileState>),
}

impl ObjectState {
    fn new(kind: ScalableKind) -> Self {
        match kind {
            ScalableKind::ScaledObject => Self::ScaledObject(Box::default()),
            ScalableKind::ScaledJob => Self::ScaledJob(Box::default()),
        }
    }

    fn is_quiet(&self) -> bool {
        match self {
            Self::ScaledObject(state) => state.is_quiet(),
            Self::ScaledJob(state) => state.is_quiet(),
        }
    }

    fn is_started(&self) -> bool {
        match self {
            Self::ScaledObject(state) => state.is_started(),
            Self::ScaledJob(state) => state.is_started(),
        }
    }

    /// When a ScaledObject was last seen active, if it is active.
    pub(crate) fn last_seen_active(&self) -> Option<DateTime<Utc>> {
        match self {
            Self::ScaledObject(state) => state.last_seen_active(),
            // No cooldown depends on it.
            Self::ScaledJob(_) => None,
        }
    }
}

impl Reconcilers {
    async fn reconcile(&self, key: &ObjectKey, state: &mut ObjectState, slot: &mut Slot) -> Option<Instant> {
        match (state, &self.scaled_jobs) {
            (ObjectState::ScaledObject(state), _) => self.scaled_objects.reconcile(key, state, slot).await,
            (ObjectState::ScaledJob(state), Some(jobs)) => jobs.reconcile(key, state, slot).await,
            (ObjectState::ScaledJob(_), None) => None,
        }
    }

    fn forget(&self, key: &ObjectKey, state: &mut ObjectState) {
        match (state, &self.scaled_jobs) {
            (ObjectState::ScaledObject(state), _) => self.scaled_objects.forget(key, state),
            (ObjectState::ScaledJob(state), Some(jobs)) => jobs.forget(key, state),
            (ObjectState::ScaledJob(_), None) => {}
        }
    }
}

/// The reconciles in progress.
#[derive(Default)]
pub(crate) struct Workers {
    pub(crate) running: JoinSet<Reconciled>,
    /// The objects that are due, and whose reconcile begins when a slot is free. New ones are among them, so they go in their order.
    waiting: VecDeque<ObjectKey>,
    busy: BTreeMap<ObjectKey, Busy>,
    /// Objects that became due during their reconcile.
    due_again: BTreeSet<ObjectKey>,
    pub(crate) states: BTreeMap<ObjectKey, ObjectState>,
}

/// An object that is not idle.
#[derive(Debug)]
enum Busy {
    WaitsForSlot,
    /// Being reconciled; with the signal that it is due again.
    Reconciling(Arc<Notify>),
}

impl Workers {
    /// Starts the reconcile of an object that is due: at once if it will probably send no request to the API server, or else when a slot is
    /// free. An object that is being reconciled is due again after that.
    pub(crate) fn add(&mut self, key: ObjectKey, slots: &Arc<Slots>, reconcilers: &Reconcilers) {
        match self.busy.get(&key) {
            None if self.states.get(&key).is_some_and(|state| state.is_quiet()) => {
                self.start(key, slots.slot(), reconcilers);
            }
            None => {
                self.busy.insert(key.clone(), Busy::WaitsForSlot);
                self.waiting.push_back(key);
            }
            Some(Busy::WaitsForSlot) => {}
            Some(Busy::Reconciling(due_again)) => {
                due_again.notify_one();
                self.due_again.insert(key);
            }
        }
    }

    /// Whether an object waits for a slot.
    pub(crate) fn needs_slot(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Starts the reconcile of the object that waits longest, in a slot that is held.
    pub(crate) fn start_waiting(&mut self, slot: Slot, reconcilers: &Reconcilers) {
        if let Some(key) = self.waiting.pop_front() {
            self.start(key, slot, reconcilers);
        }
    }

    fn start(&mut self, key: ObjectKey, mut slot: Slot, reconcilers: &Reconcilers) {
        self.busy.insert(key.clone(), Busy::Reconciling(slot.due_again()));
        let mut state = self.states.remove(&key).unwrap_or_else(|| ObjectState::new(key.kind));
        let reconcilers = reconcilers.clone();
        self.running.spawn(async move {
            let next = match without_panic(reconcilers.reconcile(&key, &mut state, &mut slot)).await {
                Ok(next) => next,
                Err(Panicked) => {
                    let (namespace, name) = (&*key.namespace, &*key.name);
                    error!(namespace, name, pause = ?PANIC_PAUSE, "a reconcile panicked: this is a defect; retrying");
                    // Half a reconcile may have left anything behind.
                    reconcilers.forget(&key, &mut state);
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
        for busy in self.busy.values() {
            if let Busy::Reconciling(due_again) = busy {
                due_again.notify_one();
            }
        }
        while let Some(done) = self.running.join_next().await {
            if let Ok((key, state, _)) = done {
                self.states.insert(key, state);
            }
        }
    }
}
