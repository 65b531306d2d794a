//! One pass of the controller over one autoscaler, up to the write of the scale where one is due, and after it.
//!
//! [`reconcile`] ends in a [`Step`]: either the pass is over, or the caller is to write the scale and to tell the
//! [`Rescale`] how that went. What the metrics come to is computed by neighbours of this module; here is the order of
//! things, and what each way out leaves behind.

mod compute;
mod draft;
mod rescale;
mod task;

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus};

pub use rescale::{Rescale, WRITE_ATTEMPTS_MAX, WRITE_RETRY_PAUSE};
pub use task::ReplicaSource;

use super::conditions::{ConditionUpdate, SCALED_TO_ZERO};
use super::events::Event;
use super::history::ScalingHistory;
use super::metric::MetricReading;
use super::normalise::Normalised;
use super::pods::ObservedPod;
use super::settings::Settings;
use super::status::StatusWrite;
use compute::compute;
use draft::Draft;
use rescale::Change;
use task::Task;

/// The autoscaler as it was read.
#[derive(Clone, Copy, Debug)]
pub struct HpaSnapshot<'a> {
    pub namespace: &'a str,
    pub spec: &'a HorizontalPodAutoscalerSpec,
    pub status: &'a HorizontalPodAutoscalerStatus,
}

/// What the controller looks at besides the autoscaler.
#[derive(Clone, Debug)]
pub struct Observation<'a> {
    pub now: DateTime<Utc>,
    pub scale: Result<ObservedScale, ScaleError>,
    /// What was read for each entry of `spec.metrics`, in their order. Unused unless the course is to compute.
    pub readings: &'a [MetricReading],
    /// The pods that the target's selector matches. Which of several pods an error names follows their order.
    pub pods: &'a [ObservedPod],
}

/// The scale subresource of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedScale {
    /// `spec.replicas`, which the algorithm takes for the current replicas.
    pub current: i32,
    /// `status.replicas`.
    pub reported: i32,
    pub selection: Selection,
}

/// What became of `status.selector` of the scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    Clear,
    Missing,
    Unreadable {
        error: String,
    },
    /// The selected pods, where there are any, belong to several autoscalers.
    Shared {
        selector: String,
        /// As `namespace/name`, this one included.
        autoscalers: Vec<String>,
    },
}

/// Why there is no scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScaleError {
    /// The cluster does not know the kind.
    NoMapping { error: String },
    /// The scale was not answered.
    Query { error: String },
}

/// Where a pass stands.
#[derive(Debug)]
pub enum Step {
    Done(Box<Outcome>),
    /// The scale is to be written first.
    Write(Box<Rescale>),
}

/// What a pass leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub status: HorizontalPodAutoscalerStatus,
    pub status_write: StatusWrite,
    /// In the order in which they are recorded.
    pub events: Vec<Event>,
    /// The replicas that were written, where they were.
    pub rescaled_to: Option<i32>,
    /// What the pass ends with. It may have scaled the target nevertheless.
    pub error: Option<String>,
    pub history: ScalingHistory,
    pub calculation: Calculation,
}

/// How the desired replicas came about, for whoever explains them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Calculation {
    /// No metric was looked at.
    None,
    /// The metrics did not suffice.
    Undecided { proposals: Vec<Option<i32>> },
    Decided {
        /// Of each metric, in their order.
        proposals: Vec<Option<i32>>,
        raw: i32,
        normalised: Normalised,
    },
}

impl Step {
    /// The end of the pass, provided that the write of the scale, where one is due, succeeds.
    pub fn assume_written(self) -> Outcome {
        match self {
            Self::Done(outcome) => *outcome,
            Self::Write(rescale) => rescale.finish(Ok(())),
        }
    }
}

/// One pass. A spec that did not go through the API server is completed as it would be there.
pub fn reconcile(
    subject: HpaSnapshot<'_>,
    seen: &Observation<'_>,
    history: ScalingHistory,
    settings: &Settings,
) -> Step {
    let task = Task::from_hpa(&subject, settings);
    let mut draft = Draft::new(subject.status, history, seen.now);
    let scale = match task.find_scale(&seen.scale) {
        Ok(scale) => scale,
        Err(missing) => {
            draft.warn("FailedGetScale", missing.cause.clone());
            draft.show(ConditionUpdate::ScaleNotFound { error: &missing.cause });
            return draft.close(Some(missing.error));
        }
    };
    draft.show(ConditionUpdate::ScaleFound);
    draft.history.remember_first(scale.current, seen.now);
    match task.choose_replica_source(scale.current) {
        ReplicaSource::Disabled => {
            draft.show(ConditionUpdate::Disabled);
            if !task.zero.gate.is_on() {
                draft.forget(SCALED_TO_ZERO);
            }
            draft.rebuild(scale.current, scale.current, None);
            draft.close(None)
        }
        ReplicaSource::Force { to, because } => {
            let change = Change { from: scale.current, to, reason: because.to_owned(), metrics: None, doubts: None };
            Step::Write(Box::new(Rescale::new(task, draft, change)))
        }
        ReplicaSource::Compute => compute(task, draft, scale, seen, settings),
    }
}

/// Which course a pass will take, to know beforehand whether it looks at metrics.
pub fn choose_replica_source(subject: HpaSnapshot<'_>, current: i32, settings: &Settings) -> ReplicaSource {
    Task::from_hpa(&subject, settings).choose_replica_source(current)
}
