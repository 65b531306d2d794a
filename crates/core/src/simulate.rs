//! A ScaledObject in virtual time: what Kedge and the HPA controller would do with it under a given load.
//!
//! [`simulate`] goes from poll to poll and from pass to pass of the HPA controller in the order of time, with the same
//! functions that decide in a cluster, and tells every change. The load is open: it does not shrink because there are
//! more pods. Where a load comes from, and how a run is shown, is left to the caller.
//!
//! | module | what it holds |
//! |---|---|
//! | `load` | what the sources say at an instant |
//! | `event` | what can happen |
//! | `summary` | what a run comes to |
//! | `run` | the run itself: the order of time, and Kedge's polls |
//! | `autoscaler` | the HPA controller's passes |
//! | `sources` | failures, fallbacks and cached answers between the sources and who asks them |
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

use crate::policy::{POLLING_SECONDS_DEFAULT, Pause, Policy};
use run::Run;

/// The distance of two passes of the HPA controller: 15 s and a little for the pass itself. Passes exactly 15 s apart
/// would fall on the edges of windows and periods, where those of a cluster never are.
pub const SYNC_PERIOD_DEFAULT: TimeDelta = TimeDelta::milliseconds(15_010);

/// What is simulated.
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

/// How fast things go. Intervals below a second count as a second, so that every run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Between two polls.
    pub polling_interval: TimeDelta,
    /// Between two passes of the HPA controller; the first comes one such period after the start.
    pub sync_period: TimeDelta,
    /// From the creation of a pod until it is ready.
    pub pod_start_up: TimeDelta,
}

impl Timing {
    /// The timing of an object whose pods take this long to start.
    pub fn from_spec(spec: &ScaledObjectSpec, pod_start_up: TimeDelta) -> Self {
        let polling = spec.polling_interval.unwrap_or(POLLING_SECONDS_DEFAULT);
        Self { polling_interval: TimeDelta::seconds(polling.into()), sync_period: SYNC_PERIOD_DEFAULT, pod_start_up }
    }
}

/// The replicas of a target that has had nothing to do for long: where it rests, or where it is paused.
pub fn initial_replicas(policy: &Policy) -> i32 {
    match policy.overrides.pause {
        Pause::At(replicas) => replicas,
        _ => policy.floor(),
    }
}

/// Everything that happens, in the order of time.
pub fn simulate(plan: &Plan<'_>, load: &dyn Load) -> Vec<SimulationEvent> {
    Run::new(plan, load).finish()
}

#[cfg(test)]
mod tests;
