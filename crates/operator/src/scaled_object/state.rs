//! What is kept of an object between two reconciles. It may be lost at any time: what must survive is in the status.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_api::ScaledObject;
use kedge_cluster::ScaleTarget;
use kedge_core::activity::ActivityHistory;
use kedge_core::conditions::FallbackState;
use kedge_core::fallback::Failures;
use kedge_core::hpa::compare::RenderedKeys;
use kedge_core::policy::{Policy, polling_interval};
use kedge_core::status::PollFacts;
use tokio::time::Instant;

use crate::cluster_cache::{CachedObject, ReducedHpa};
use crate::poll_schedule::PollSchedule;
use crate::retries::Retries;
use crate::scalers_cache::ObjectScalers;
use crate::write_budget::WriteBudget;

/// The state of one object.
#[derive(Debug, Default)]
pub struct ReconcileState {
    pub(super) uid: String,
    pub(super) history: Option<ActivityHistory>,
    pub(super) schedule: PollSchedule,
    pub(super) retries: Retries,
    pub(super) hpa_writes: WriteBudget,
    pub(super) status_writes: WriteBudget,
    /// When a write that was postponed is possible.
    pub(super) postponed_until: Option<Instant>,
    pub(super) rendered_keys: RenderedKeys,
    /// The HPA that was last ensured: nothing is rendered or compared while it, and what it derives from, is the same.
    pub(super) ensured_hpa: Option<EnsuredHpa>,
    /// The metrics that failed at the last poll, so that each failure is published once.
    pub(super) failing_metrics: BTreeSet<String>,
    /// Why the object cannot be read, once this was reported.
    pub(super) unreadable: Option<String>,
    /// Whether this process has built scalers of the object.
    pub(super) has_built_scalers: bool,
}

/// An HPA that is as it must be, and what it derives from.
#[derive(Debug)]
pub(super) struct EnsuredHpa {
    pub(super) object: Arc<CachedObject>,
    pub(super) policy: Policy,
    pub(super) target: ScaleTarget,
    pub(super) scalers: Arc<ObjectScalers>,
    pub(super) hpa: Arc<ReducedHpa>,
    /// What was last reported, once that changed nothing in the status.
    pub(super) reported: Option<Reported>,
}

/// What a report depends on, apart from the object, its scalers and its HPA.
#[derive(Debug)]
pub(super) struct Reported {
    pub(super) poll: Option<PollFacts>,
    pub(super) fallback: FallbackState,
    /// The failures of each metric.
    pub(super) failures: Vec<Failures>,
}

impl ReconcileState {
    /// The state of an object that is new, or that an earlier process managed.
    pub(super) fn new(object: &ScaledObject, now: DateTime<Utc>) -> Self {
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let is_known = object.status.as_ref().is_some_and(|status| status.hpa_name.is_some());
        let history = ActivityHistory::from_status(&object.status.clone().unwrap_or_default(), created_at(object, now));
        Self {
            schedule: PollSchedule::new(&uid, polling_interval(object.spec.polling_interval), is_known),
            history: Some(history),
            uid,
            ..Self::default()
        }
    }

    /// Notes that the object cannot be read, and that this was reported.
    pub(super) fn mark_unreadable(&mut self, metadata: &ObjectMeta, error: String) {
        (self.uid, self.unreadable) = (metadata.uid.clone().unwrap_or_default(), Some(error));
    }

    /// Notes that a write has to wait.
    pub(super) fn postpone(&mut self, until: Instant) {
        self.postponed_until = Some(self.postponed_until.map_or(until, |earlier| earlier.min(until)));
    }

    /// Whether it belongs to an object.
    pub(crate) fn is_started(&self) -> bool {
        !self.uid.is_empty()
    }

    /// Whether a reconcile will probably write nothing: the last one did not.
    pub(crate) fn is_quiet(&self) -> bool {
        self.ensured_hpa.as_ref().is_some_and(|ensured| ensured.reported.is_some())
    }

    /// When the object was last seen active, if it is active.
    pub(crate) fn last_seen_active(&self) -> Option<DateTime<Utc>> {
        match self.history {
            Some(ActivityHistory::Active { last_seen_at }) => last_seen_at,
            _ => None,
        }
    }
}

/// When the object was created. An object without a timestamp counts as new.
pub(super) fn created_at(object: &ScaledObject, now: DateTime<Utc>) -> DateTime<Utc> {
    object.metadata.creation_timestamp.as_ref().map_or(now, kedge_api::time::from_time)
}
