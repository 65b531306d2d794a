//! What is kept of a ScaledJob between two reconciles. It may be lost at any time.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use kedge_cluster::stored::Unreadable;
use kedge_core::policy::polling_interval;
use tokio::time::Instant;

use crate::job_cache::LazyScaledJob;
use crate::poll_schedule::PollSchedule;
use crate::retries::Retries;
use crate::write_budget::WriteBudget;

/// The state of one object.
#[derive(Debug, Default)]
pub struct JobReconcileState {
    pub(super) uid: String,
    pub(super) schedule: PollSchedule,
    pub(super) retries: Retries,
    pub(super) status_writes: WriteBudget,
    /// When a write that was postponed is possible.
    pub(super) postponed_until: Option<Instant>,
    /// When a poll last found the object active.
    pub(super) last_active_at: Option<DateTime<Utc>>,
    /// The generation and the sequence numbers of Jobs that could not be created, or were, although no answer came.
    failed_sequences: (i64, BTreeSet<u64>),
    /// The metrics that failed at the last poll, so that each failure is published once.
    pub(super) failing_metrics: BTreeSet<String>,
    /// Whether this process has built scalers of the object.
    pub(super) has_built_scalers: bool,
    /// Why the object cannot be read, once this was reported.
    pub(super) unreadable: Option<String>,
    /// Whether the last reconcile wrote nothing.
    pub(super) is_quiet: bool,
}

impl JobReconcileState {
    /// The state of an object that is new, or that an earlier process managed.
    pub(super) fn new(object: &LazyScaledJob) -> Self {
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let is_known = object.status.as_ref().is_some_and(|status| status.triggers_types.is_some());
        let schedule = PollSchedule::new(&uid, polling_interval(object.spec.polling_interval), is_known);
        let last_active = object.status.as_ref().and_then(|status| status.last_active_time.as_ref());
        Self { schedule, uid, last_active_at: last_active.map(kedge_api::time::from_time), ..Self::default() }
    }

    /// The sequence numbers of Jobs of a generation whose creation failed.
    pub(super) fn failed_sequences(&mut self, generation: i64) -> &mut BTreeSet<u64> {
        if self.failed_sequences.0 != generation {
            self.failed_sequences = (generation, BTreeSet::new());
        }
        &mut self.failed_sequences.1
    }

    /// Notes that the object cannot be read, and that this was reported.
    pub(super) fn mark_unreadable(&mut self, object: &Unreadable) {
        self.uid = object.metadata.uid.clone().unwrap_or_default();
        self.unreadable = Some(object.error.clone());
    }

    /// Whether it belongs to an object.
    pub(crate) fn is_started(&self) -> bool {
        !self.uid.is_empty()
    }

    /// Whether a reconcile will probably write nothing: the last one did not.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet
    }
}
