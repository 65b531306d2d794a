//! A ScaledObject in virtual time: what Kedge and the HPA controller do with it under a given load.
//!
//! [`simulate`] runs Kedge's polls and the HPA controller's reconciles in the order of time, with the functions that decide
//! in a cluster, and reports every change. The load is open: it does not shrink when there are more pods. The caller
//! provides the load and prints the run.
//!
//! | module | what it holds |
//! |---|---|
//! | `load` | the readings of the sources at an instant |
//! | `event` | the events of a run |
//! | `summary` | the totals of a run |
//! | `run` | the run itself: the schedule and Kedge's polls |
//! | `autoscaler` | the HPA controller's reconciles |
//! | `sources` | failures, fallbacks and cached readings |
//! | `pods` | the pods of the target |

mod autoscaler;
mod event;
mod load;
mod pods;
mod run;
mod sources;
mod summary;

use chrono::{DateTime, TimeDelta, Utc};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerSpec;
use kedge_api::ScaledObject;
use kedge_api::scaled_object::ScaledObjectSpec;

pub use event::{Change, HpaCondition, ScaledBy, SimulationEvent, SourceState};
pub use load::{Load, MetricValue, Reading};
pub use summary::Summary;

use crate::policy::{Pause, Policy, polling_interval};
use run::Run;

/// The time between two reconciles of the HPA controller: 15 s and a little for the reconcile itself. Reconciles exactly
/// 15 s apart would fall on the edges of windows and periods, which never happens in a cluster.
pub const SYNC_PERIOD_DEFAULT: TimeDelta = TimeDelta::milliseconds(15_010);

/// The input of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub object: &'a ScaledObject,
    /// The HPA that was rendered for the object.
    pub hpa: &'a HorizontalPodAutoscalerSpec,
    /// When the object is created; Kedge polls for the first time.
    pub start_at: DateTime<Utc>,
    pub length: TimeDelta,
    /// The replicas that the target has at the start, all of them ready.
    pub replicas: i32,
    pub timing: Timing,
}

/// The intervals of a run. Those below a second count as a second, so that every run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Between two polls.
    pub polling_interval: TimeDelta,
    /// Between two reconciles of the HPA controller; the first comes one period after the start.
    pub sync_period: TimeDelta,
    /// From the creation of a pod until it is ready.
    pub pod_start_up: TimeDelta,
}

impl Timing {
    /// The timing of an object whose pods take this long to start.
    pub fn from_spec(spec: &ScaledObjectSpec, pod_start_up: TimeDelta) -> Self {
        let polling_interval = TimeDelta::from_std(polling_interval(spec.polling_interval)).unwrap_or(TimeDelta::MAX);
        Self { polling_interval, sync_period: SYNC_PERIOD_DEFAULT, pod_start_up }
    }
}

/// The replicas of a target that has long been inactive: the minimum or idle count, or where it is paused.
pub fn initial_replicas(policy: &Policy) -> i32 {
    match policy.overrides.pause {
        Pause::At(replicas) => replicas,
        _ => policy.floor(),
    }
}

/// Runs the simulation and returns its events in the order of time.
pub fn simulate(plan: &Plan<'_>, load: &dyn Load) -> Vec<SimulationEvent> {
    Run::new(plan, load).finish()
}

#[cfg(test)]
mod tests;
