//! The outcome of a reconcile while it runs.

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscalerStatus, MetricStatus};

use super::{Calculation, Outcome, Step};
use crate::hpa::model::conditions::{ConditionUpdate, show};
use crate::hpa::model::events::Event;
use crate::hpa::model::history::ScalingHistory;
use crate::hpa::model::status::{StatusReplicas, compare, rebuild};

#[derive(Debug)]
pub(super) struct Draft {
    old: HorizontalPodAutoscalerStatus,
    status: HorizontalPodAutoscalerStatus,
    pub(super) events: Vec<Event>,
    pub(super) history: ScalingHistory,
    pub(super) calculation: Calculation,
    pub(super) now: DateTime<Utc>,
    rescaled_to: Option<i32>,
}

impl Draft {
    pub(super) fn new(old: &HorizontalPodAutoscalerStatus, history: ScalingHistory, now: DateTime<Utc>) -> Self {
        let (old, status) = (old.clone(), old.clone());
        Self { old, status, events: Vec::new(), history, calculation: Calculation::None, now, rescaled_to: None }
    }

    pub(super) fn show(&mut self, finding: ConditionUpdate<'_>) {
        show(self.status.conditions.get_or_insert_default(), finding, self.now);
    }

    /// Removes a condition.
    pub(super) fn forget(&mut self, condition: &str) {
        self.status.conditions.get_or_insert_default().retain(|known| known.type_ != condition);
    }

    pub(super) fn warn(&mut self, reason: &'static str, message: String) {
        self.events.push(Event::warning(reason, message));
    }

    /// The replicas and metrics of a reconcile that completed.
    pub(super) fn rebuild(&mut self, current: i32, desired: i32, metrics: Option<Vec<MetricStatus>>) {
        self.status = rebuild(&self.status, StatusReplicas { current, desired, rescaled_at: None }, metrics);
    }

    /// The replicas and metrics of a reconcile that did not complete: the desired replicas stay.
    pub(super) fn keep_desired(&mut self, current: i32, metrics: Option<Vec<MetricStatus>>) {
        self.rebuild(current, self.status.desired_replicas, metrics);
    }

    /// The replicas and metrics of a reconcile that wrote the scale.
    pub(super) fn rescale(&mut self, current: i32, desired: i32, metrics: Option<Vec<MetricStatus>>) {
        self.status = rebuild(&self.status, StatusReplicas { current, desired, rescaled_at: Some(self.now) }, metrics);
        self.rescaled_to = Some(desired);
    }

    pub(super) fn close(self, error: Option<String>) -> Step {
        Step::Done(Box::new(self.into_outcome(error)))
    }

    pub(super) fn into_outcome(self, error: Option<String>) -> Outcome {
        let Self { old, status, events, history, calculation, rescaled_to, .. } = self;
        Outcome { status_write: compare(&old, &status), status, events, rescaled_to, error, history, calculation }
    }
}
