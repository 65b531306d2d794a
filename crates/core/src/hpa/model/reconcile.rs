//! One reconcile of one HPA, up to the write of the scale where one is due, and after it.
//!
//! [`reconcile`] ends in a [`Step`]: either it is done, or the caller writes the scale and passes the result to the
//! [`Rescale`]. Other modules compute the metrics; this one holds the order of the steps and the outcome of each.

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

/// The HPA as it was read.
#[derive(Clone, Copy, Debug)]
pub struct HpaSnapshot<'a> {
    pub namespace: &'a str,
    pub spec: &'a HorizontalPodAutoscalerSpec,
    pub status: &'a HorizontalPodAutoscalerStatus,
}

/// What the controller reads besides the HPA.
#[derive(Clone, Debug)]
pub struct Observation<'a> {
    pub now: DateTime<Utc>,
    pub scale: Result<ObservedScale, ScaleError>,
    /// What was read for each entry of `spec.metrics`, in their order. Unused unless the replicas are computed.
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

/// The result of parsing `status.selector` of the scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    Clear,
    Missing,
    Unreadable {
        error: String,
    },
    /// The selected pods, where there are any, belong to several HPAs.
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
    /// The scale could not be read.
    Query { error: String },
}

/// How a reconcile continues.
#[derive(Debug)]
pub enum Step {
    Done(Box<Outcome>),
    /// The scale is to be written first.
    Write(Box<Rescale>),
}

/// The outcome of a reconcile.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub status: HorizontalPodAutoscalerStatus,
    pub status_write: StatusWrite,
    /// In the order in which they are recorded.
    pub events: Vec<Event>,
    /// The replicas that were written, where they were.
    pub rescaled_to: Option<i32>,
    /// The error of the reconcile, which may have scaled the target nevertheless.
    pub error: Option<String>,
    pub history: ScalingHistory,
    pub calculation: Calculation,
}

/// How the desired replicas were computed, for explanations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Calculation {
    /// No metric was read.
    None,
    /// Too many metrics failed.
    Undecided { proposals: Vec<Option<i32>> },
    Decided {
        /// Of each metric, in their order.
        proposals: Vec<Option<i32>>,
        raw: i32,
        normalised: Normalised,
    },
}

impl Step {
    /// The outcome, provided that the write of the scale, where one is due, succeeds.
    pub fn assume_written(self) -> Outcome {
        match self {
            Self::Done(outcome) => *outcome,
            Self::Write(rescale) => rescale.finish(Ok(())),
        }
    }
}

/// One reconcile. A spec that did not go through the API server gets its defaults.
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
    draft.history.record_first(scale.current, seen.now);
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
            let change =
                Change { from: scale.current, to, reason: because.to_owned(), metrics: None, partial_error: None };
            Step::Write(Box::new(Rescale::new(task, draft, change)))
        }
        ReplicaSource::Compute => compute(task, draft, scale, seen, settings),
    }
}

/// Where the replicas of the next reconcile come from, to know beforehand whether it reads metrics.
pub fn choose_replica_source(subject: HpaSnapshot<'_>, current: i32, settings: &Settings) -> ReplicaSource {
    Task::from_hpa(&subject, settings).choose_replica_source(current)
}
