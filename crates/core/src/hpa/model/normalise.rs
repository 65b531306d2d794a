//! From a raw proposal to the desired replicas. There are two algorithms, not one with defaults: [`legacy`] where
//! `spec.behavior` is absent, [`behavior`] where it is present, be it empty.

pub mod behavior;
pub mod legacy;

use chrono::{DateTime, Utc};

/// What is to be normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NormaliseInput {
    /// The combined proposal of the metrics.
    pub raw: i32,
    pub current: i32,
    pub bounds: Bounds,
    pub now: DateTime<Utc>,
}

/// `spec.minReplicas` and `spec.maxReplicas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub min: i32,
    pub max: i32,
}

/// The desired replicas and how they came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Normalised {
    /// What the windows leave of the proposal.
    pub stabilised: i32,
    pub stability: Stability,
    /// What rates and bounds leave of that.
    pub desired: i32,
    pub limit: Limit,
}

/// Whether a window held the proposal back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    Ready,
    HeldUp,
    HeldDown,
}

/// What limited the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    WithinRange,
    UpRate,
    DownRate,
    Max,
    Min,
}
