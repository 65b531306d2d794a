//! The events of a run.

use chrono::{DateTime, TimeDelta, Utc};

use crate::activity::Activity;
use crate::decide::{Cause, Hold};
use crate::hpa::model::metric::MetricReading;
use crate::hpa::model::reconcile::Calculation;

/// A change at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationEvent {
    pub at: DateTime<Utc>,
    /// `spec.replicas` of the target afterwards.
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
    /// Whether any trigger is active. The first poll always reports it.
    Activity(Activity),
    /// Why Kedge keeps the replicas.
    Hold(Hold),
    /// The state of a trigger's source. At the start all are healthy.
    Source { trigger: usize, state: SourceState },
    /// A condition of the HPA: its status or its reason.
    Condition { condition: HpaCondition, is_true: bool, reason: String, message: String },
    /// The first pod became ready, and how long an active trigger had waited for it.
    Ready { waited: Option<TimeDelta> },
}

/// What changed the replicas, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScaledBy {
    Kedge(Cause),
    Hpa {
        /// The controller's reason; empty where a bound, a window or a rate is the only one.
        reason: String,
        /// The reading of each of its metrics.
        readings: Vec<MetricReading>,
        /// What each metric proposed, and the result.
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
    /// It has failed more often than the threshold: the fallback is used.
    InFallback {
        replicas: i32,
    },
}

/// The conditions of the HPA that explain why it does not follow its metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HpaCondition {
    ScalingActive,
    ScalingLimited,
}
