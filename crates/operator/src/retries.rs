//! When a reconcile that did not finish is retried.

use std::fmt::Display;
use std::time::Duration;

use kedge_cluster::{Backoff, ObjectKey, instant_after};
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::poll_schedule::PollSchedule;

/// The pauses before a failed reconcile is retried.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// The pause before an object with a problem that no watch event may end is reconciled again.
pub(crate) const PROBLEM_RECHECK: Duration = Duration::from_secs(30);

/// The pauses after another client wrote first.
const CONFLICT_BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(60));

/// The consecutive reconciles of an object that did not finish.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Retries {
    pub(crate) failures: u32,
    /// During which another client wrote first.
    conflicts: u32,
}

impl Retries {
    /// Notes that a reconcile finished.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Counts a conflict; returns when the object is reconciled again.
    pub(crate) fn after_conflict(&mut self, key: &ObjectKey, error: &impl Display) -> Instant {
        debug!(namespace = %key.namespace, name = %key.name, error = %error, "conflict; reconciling again");
        self.conflicts += 1;
        instant_after(CONFLICT_BACKOFF.pause(self.conflicts))
    }

    /// Counts a failure; returns when the reconcile is retried.
    pub(crate) fn after_failure(&mut self, key: &ObjectKey, error: &impl Display, schedule: &PollSchedule) -> Instant {
        self.failures += 1;
        let pause = BACKOFF.pause(self.failures);
        warn!(namespace = %key.namespace, name = %key.name, error = %error, ?pause, "reconcile failed; retrying");
        schedule.retry_at(pause)
    }
}
