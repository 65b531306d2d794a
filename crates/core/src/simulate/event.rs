//! What can happen in a run.

use chrono::{DateTime, TimeDelta, Utc};

use crate::activity::Activity;
use crate::decide::{Cause, Hold};
use crate::hpa::model::metric::MetricReading;
use crate::hpa::model::reconcile::Calculation;

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationEvent {
    pub at: DateTime<Utc>,
    /// The replicas that the target asks for afterwards.
    pub current: i32,
    /// How many of them are ready.
    pub ready: i32,
    pub what: Change,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The replicas of the target.
    Replicas { from: i32, to: i32, by: ScaledBy },
    /// Whether there is work, as Kedge sees it. The first poll always says so.
    Activity(Activity),
    /// Why Kedge leaves the replicas as they are.
    Hold(Hold),
    /// The source of a trigger. At the start all are taken to answer.
    Source { trigger: usize, state: SourceState },
    /// A condition of the HPA: its status or its reason.
    Condition { condition: HpaCondition, is_true: bool, reason: String, message: String },
    /// The first pod that is ready where none was, and how long work had been waiting for it.
    Ready { waited: Option<TimeDelta> },
}

/// Who changed the replicas, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScaledBy {
    Kedge(Cause),
    Hpa {
        /// In the controller's words; empty where a bound, a window or a rate is the only reason.
        reason: String,
        /// What it was readings of each of its metrics.
        readings: Vec<MetricReading>,
        /// What each of them proposed, and what became of that.
        calculation: Calculation,
    },
}

/// How a source behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceState {
    Healthy,
    Failing {
        error: String,
    },
    /// It has failed for so long that its fallback counts instead.
    InFallback {
        replicas: i32,
    },
}

/// The conditions of the HPA that tell why it does not follow its metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HpaCondition {
    ScalingActive,
    ScalingLimited,
}
