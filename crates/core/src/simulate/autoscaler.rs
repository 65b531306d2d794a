//! The HPA controller's side of a run: its reconciles of one HPA, and the history between them.

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus};

use super::event::{Change, HpaCondition, ScaledBy};
use super::pods::Pods;
use crate::hpa::model::conditions::{SCALING_ACTIVE, SCALING_LIMITED};
use crate::hpa::model::history::ScalingHistory;
use crate::hpa::model::metric::MetricReading;
use crate::hpa::model::reconcile::{
    HpaSnapshot, Observation, ObservedScale, ReplicaSource, Selection, Step, choose_replica_source, reconcile,
};
use crate::hpa::model::settings::Settings;

#[derive(Debug)]
pub(super) struct Autoscaler<'a> {
    namespace: &'a str,
    spec: &'a HorizontalPodAutoscalerSpec,
    status: HorizontalPodAutoscalerStatus,
    history: ScalingHistory,
    settings: Settings,
}

/// The result of a reconcile.
#[derive(Debug)]
pub(super) struct Reconciled {
    /// The replicas that it wrote, and why.
    pub(super) rescaled: Option<(i32, ScaledBy)>,
    /// Conditions that changed.
    pub(super) changes: Vec<Change>,
}

impl<'a> Autoscaler<'a> {
    pub(super) fn new(namespace: &'a str, spec: &'a HorizontalPodAutoscalerSpec) -> Self {
        Self {
            namespace,
            spec,
            status: HorizontalPodAutoscalerStatus::default(),
            history: ScalingHistory::default(),
            settings: Settings::default(),
        }
    }

    /// Whether a reconcile would read metrics.
    pub(super) fn reads_metrics(&self, current: i32) -> bool {
        choose_replica_source(self.subject(), current, &self.settings) == ReplicaSource::Compute
    }

    pub(super) fn reconcile(&mut self, readings: &[MetricReading], pods: &Pods, now: DateTime<Utc>) -> Reconciled {
        let current = pods.current();
        let scale = Ok(ObservedScale { current, reported: current, selection: Selection::Clear });
        let seen = Observation { now, scale, readings, pods: &pods.observe(now) };
        let history = std::mem::take(&mut self.history);
        let step = reconcile(self.subject(), &seen, history, &self.settings);
        let reason = match &step {
            Step::Write(rescale) => rescale.reason().to_owned(),
            Step::Done(_) => String::new(),
        };
        let outcome = step.assume_written();
        let changes = changed_conditions(&self.status, &outcome.status);
        self.history = outcome.history;
        self.status = outcome.status;
        let by = |calculation| ScaledBy::Hpa { reason, readings: readings.to_vec(), calculation };
        let rescaled = outcome.rescaled_to.map(|to| (to, by(outcome.calculation)));
        Reconciled { rescaled, changes }
    }

    fn subject(&self) -> HpaSnapshot<'_> {
        HpaSnapshot { namespace: self.namespace, spec: self.spec, status: &self.status }
    }
}

fn changed_conditions(old: &HorizontalPodAutoscalerStatus, new: &HorizontalPodAutoscalerStatus) -> Vec<Change> {
    let watched =
        [(SCALING_ACTIVE, HpaCondition::ScalingActive), (SCALING_LIMITED, HpaCondition::ScalingLimited)].into_iter();
    let find = |status: &HorizontalPodAutoscalerStatus, name: &str| {
        status.conditions.iter().flatten().find(|known| known.type_ == name).cloned()
    };
    let changed = |(name, condition): (&str, HpaCondition)| {
        let after = find(new, name)?;
        let before = find(old, name);
        let same = before.is_some_and(|before| before.status == after.status && before.reason == after.reason);
        (!same).then(|| Change::Condition {
            condition,
            is_true: after.status == "True",
            reason: after.reason.unwrap_or_default(),
            message: after.message.unwrap_or_default(),
        })
    };
    watched.filter_map(changed).collect()
}
