//! What is kept of an object between two reconciles. It may be lost at any time: what must survive is in the status.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_api::ScaledObject;
use kedge_cluster::{ScaleTarget, instant_after, phase};
use kedge_core::activity::ActivityHistory;
use kedge_core::conditions::FallbackState;
use kedge_core::fallback::Failures;
use kedge_core::hpa::compare::RenderedKeys;
use kedge_core::policy::{Overrides, Policy, polling_interval};
use kedge_core::status::PollFacts;
use tokio::time::Instant;

use super::write_budget::WriteBudget;
use crate::cluster_cache::{CachedObject, ReducedHpa};
use crate::scalers_cache::ObjectScalers;

/// Within this time a new process, or a new leader, polls every object.
pub(super) const FIRST_POLLS: Duration = Duration::from_secs(5);

/// The state of one object.
#[derive(Debug, Default)]
pub struct ReconcileState {
    pub(super) uid: String,
    pub(super) history: Option<ActivityHistory>,
    pub(super) schedule: PollSchedule,
    /// Consecutive reconciles that failed.
    pub(super) failures: u32,
    /// Consecutive reconciles during which another client wrote first.
    pub(super) conflicts: u32,
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

/// When the triggers of an object are polled.
#[derive(Debug, Default)]
pub(super) struct PollSchedule {
    /// `None` during a pause: then the next reconcile that may poll does.
    pub(super) next_at: Option<Instant>,
    /// When the last poll counted for the activity history: polls that fail half-way do not.
    counted_at: Option<Instant>,
    /// When the second poll is due, which puts the object at its own place in its period.
    place_at: Option<Instant>,
    /// The input of the last poll; when it changes, the triggers are polled at once.
    polled: Option<PollInput>,
}

/// What a poll depends on, apart from the sources.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PollInput {
    generation: Option<i64>,
    overrides: Overrides,
    /// The count of changes of the credentials.
    credentials: u64,
    /// The indexes of the triggers that are built.
    built: Vec<usize>,
}

impl PollInput {
    pub(super) fn new(object: &CachedObject, overrides: &Overrides, scalers: &ObjectScalers) -> Self {
        Self {
            generation: object.generation,
            overrides: overrides.clone(),
            credentials: scalers.credentials,
            built: scalers.built(),
        }
    }
}

impl ReconcileState {
    /// The state of an object that is new, or that an earlier process managed.
    pub(super) fn new(object: &ScaledObject, now: DateTime<Utc>) -> Self {
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let history = ActivityHistory::from_status(&object.status.clone().unwrap_or_default(), created_at(object, now));
        Self { schedule: PollSchedule::new(object, &uid), history: Some(history), uid, ..Self::default() }
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

impl PollSchedule {
    /// A new object is polled at once, and the objects of an earlier process soon, a few at a time: no process did meanwhile. Then each takes
    /// its own place in its period: objects that were created together are not polled together ever after, over a connection each.
    fn new(object: &ScaledObject, uid: &str) -> Self {
        let (period, now) = (polling_interval(&object.spec), Instant::now());
        let is_known = object.status.as_ref().is_some_and(|status| status.hpa_name.is_some());
        let soon = if is_known { phase(uid, period.min(FIRST_POLLS)) } else { Duration::ZERO };
        Self { next_at: Some(now + soon), place_at: Some(now + phase(uid, period)), ..Self::default() }
    }

    /// Whether a poll is due, or its input has changed.
    pub(super) fn is_due(&self, input: &PollInput) -> bool {
        let changed = self.polled.as_ref().is_some_and(|polled| polled != input);
        changed || self.next_at.is_none_or(|at| at <= Instant::now())
    }

    /// Records the start of a poll; returns how late it is.
    pub(super) fn start_poll(&mut self, interval: Duration, input: PollInput) -> Duration {
        let delay = self.next_at.map_or(Duration::ZERO, |at| at.elapsed());
        let place_at = self.place_at.take().filter(|at| *at > Instant::now());
        self.next_at = Some(place_at.unwrap_or_else(|| instant_after(interval)));
        self.polled = Some(input);
        delay
    }

    /// Records that a poll counts for the activity history; returns by how much more than the interval the last one is ago.
    pub(super) fn count_poll(&mut self, interval: Duration) -> Duration {
        let last = self.counted_at.replace(Instant::now());
        last.map_or(Duration::ZERO, |at| at.elapsed().saturating_sub(interval))
    }

    /// When a failed reconcile is retried: after a pause, but not later than the next poll.
    pub(super) fn retry_at(&self, pause: Duration) -> Instant {
        let retry_at = instant_after(pause);
        self.next_at.filter(|at| *at > Instant::now()).map_or(retry_at, |poll_at| retry_at.min(poll_at))
    }

    /// Makes the next reconcile poll, after one that did not finish.
    pub(super) fn poll_again(&mut self) {
        if self.next_at.is_some() {
            self.next_at = Some(Instant::now());
        }
    }

    /// Makes the next reconcile poll, however long it takes until then.
    pub(super) fn suspend(&mut self) {
        (self.next_at, self.counted_at) = (None, None);
    }
}

/// When the object was created. An object without a timestamp counts as new.
pub(super) fn created_at(object: &ScaledObject, now: DateTime<Utc>) -> DateTime<Utc> {
    object.metadata.creation_timestamp.as_ref().map_or(now, kedge_api::time::from_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn objects_that_are_created_together_are_polled_at_once_and_then_apart() {
        let object: ScaledObject = serde_json::from_value(serde_json::json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "web" },
            "spec": { "scaleTargetRef": { "name": "web" }, "triggers": [], "pollingInterval": 30 },
        }))
        .unwrap();
        let created_at = Instant::now();
        let overrides = Policy::from_spec(&object.spec, None).overrides;
        let input = PollInput { generation: None, overrides, credentials: 0, built: Vec::new() };
        let mut seconds = BTreeSet::new();
        for uid in 0..100 {
            let mut schedule = PollSchedule::new(&object, &uid.to_string());
            assert!(schedule.is_due(&input), "a new object is polled at once");
            schedule.start_poll(INTERVAL, input.clone());
            let second_after = schedule.next_at.unwrap() - created_at;
            assert!(second_after <= INTERVAL, "{second_after:?}");
            seconds.insert(second_after.as_secs());
            schedule.start_poll(INTERVAL, input.clone());
            assert_eq!(schedule.next_at, Some(created_at + INTERVAL), "from then on the interval is exact");
        }
        assert!(seconds.len() > 20, "they share {} of 30 seconds", seconds.len());
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_without_polls_is_what_exceeds_the_interval() {
        let mut schedule = PollSchedule::default();
        assert_eq!(schedule.count_poll(INTERVAL), Duration::ZERO, "the first");
        for (waited, expected) in [(30, 0), (100, 70), (30, 0)] {
            tokio::time::advance(Duration::from_secs(waited)).await;
            assert_eq!(schedule.count_poll(INTERVAL), Duration::from_secs(expected), "after {waited} s");
        }
        schedule.suspend();
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(schedule.count_poll(INTERVAL), Duration::ZERO, "a pause is no delay");
    }
}
