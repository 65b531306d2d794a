//! A change of the target's scale: what is to be written, and what follows from how that went.

use std::time::Duration;

use k8s_openapi::api::autoscaling::v2::MetricStatus;

use super::Outcome;
use super::draft::Draft;
use super::task::Task;
use crate::hpa::model::conditions::{ConditionUpdate, SCALED_TO_ZERO};
use crate::hpa::model::events::Event;

/// How often the controller tries to write the scale when writes conflict. After each conflict it reads the scale again, but
/// writes the replicas it has decided on.
pub const WRITE_ATTEMPTS_MAX: u32 = 5;

/// The pause between two attempts, give or take a tenth.
pub const WRITE_RETRY_PAUSE: Duration = Duration::from_millis(10);

/// A reconcile that waits for its scale to be written.
#[derive(Debug)]
pub struct Rescale {
    task: Task,
    draft: Draft,
    change: Change,
}

/// The change to write, and what the status reports with it.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) from: i32,
    pub(super) to: i32,
    pub(super) reason: String,
    pub(super) metrics: Option<Vec<MetricStatus>>,
    /// What was wrong with some of the metrics.
    pub(super) partial_error: Option<String>,
}

impl Rescale {
    pub(super) fn new(task: Task, draft: Draft, change: Change) -> Self {
        Self { task, draft, change }
    }

    /// The replicas to write into `spec.replicas` of the scale.
    pub fn replicas(&self) -> i32 {
        self.change.to
    }

    pub fn reason(&self) -> &str {
        &self.change.reason
    }

    /// Completes the reconcile. An error is that of the last attempt.
    pub fn finish(self, written: Result<(), String>) -> Outcome {
        match written {
            Ok(()) => self.succeed(),
            Err(error) => self.fail(&error),
        }
    }

    fn succeed(self) -> Outcome {
        let Self { task, mut draft, change: Change { from, to, reason, metrics, partial_error } } = self;
        draft.show(ConditionUpdate::Rescaled { to });
        draft.events.push(Event::normal("SuccessfulRescale", format!("New size: {to}; reason: {reason}")));
        if let Some(behavior) = &task.behavior {
            draft.history.store_change(from, to, behavior, draft.now);
        }
        let by_metrics_to_zero = from > 0 && to == 0 && task.bounds.min == 0 && task.zero.has_metric;
        match (task.zero.gate.is_on(), by_metrics_to_zero) {
            (true, true) => draft.show(ConditionUpdate::AtZero),
            (true, false) => draft.show(ConditionUpdate::NotAtZero),
            (false, _) => draft.forget(SCALED_TO_ZERO),
        }
        draft.rescale(from, to, metrics);
        draft.into_outcome(partial_error)
    }

    /// No scale event is stored, but a recommendation stays recorded.
    fn fail(self, error: &str) -> Outcome {
        let Self { task, mut draft, change: Change { from, to, reason, metrics, .. } } = self;
        draft.warn("FailedRescale", format!("New size: {to}; reason: {reason}; error: {error}"));
        draft.show(ConditionUpdate::RescaleFailed { error });
        draft.keep_desired(from, metrics);
        draft.into_outcome(Some(format!("failed to rescale {}: {error}", task.reference())))
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use k8s_openapi::api::autoscaling::v2::{
        HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus,
    };

    use crate::hpa::model::history::ScalingHistory;
    use crate::hpa::model::reconcile::{HpaSnapshot, Observation, ObservedScale, Selection, Step, reconcile};
    use crate::hpa::model::settings::Settings;

    #[test]
    fn only_a_successful_write_is_recorded_as_a_change() {
        let spec = HorizontalPodAutoscalerSpec {
            max_replicas: 4,
            behavior: Some(HorizontalPodAutoscalerBehavior::default()),
            ..HorizontalPodAutoscalerSpec::default()
        };
        let status = HorizontalPodAutoscalerStatus { desired_replicas: 7, ..HorizontalPodAutoscalerStatus::default() };
        let rows = [
            // result of the write, stored changes, desired replicas of the status
            ("a write that succeeds", Ok(()), 1, 4),
            ("a write that fails", Err("denied".to_owned()), 0, 7),
        ];
        for (name, answer, changes, desired) in rows {
            let scale = Ok(ObservedScale { current: 9, reported: 9, selection: Selection::Clear });
            let seen = Observation { now: DateTime::UNIX_EPOCH, scale, readings: &[], pods: &[] };
            let subject = HpaSnapshot { namespace: "shop", spec: &spec, status: &status };
            let step = reconcile(subject, &seen, ScalingHistory::default(), &Settings::default());
            let Step::Write(rescale) = step else { panic!("{name}: above the maximum") };
            let outcome = rescale.finish(answer);
            assert_eq!(outcome.history.scale_downs.len(), changes, "{name}");
            assert_eq!(outcome.status.desired_replicas, desired, "{name}");
        }
    }
}
