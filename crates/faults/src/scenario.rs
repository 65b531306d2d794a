//! What users do in a run, step by step, as values. Each scenario ends in a state that does not depend on timing.

mod objects;
mod stories;

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

pub use stories::all;

/// The namespace in which everything happens.
pub const NAMESPACE: &str = "shop";

/// The target, and the object that scales it.
pub const NAME: &str = "web";

/// One scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub name: &'static str,
    /// How many replicas of the operator there are; with more than one they elect a leader.
    pub operators: u32,
    /// What time it is when it begins.
    pub begins_at: DateTime<Utc>,
    pub steps: Vec<Step>,
    /// How long after the last step nothing is judged yet: what happens then happens by itself.
    pub waits: Duration,
    /// How long after the last step everything is as it stays, if nothing goes wrong.
    pub settles: Duration,
    pub expects: Expectations,
}

/// What the laws need to know.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expectations {
    /// The cooldown that must pass between the last activity and the step to zero; where it is none, such steps are not judged.
    pub cooldown: Option<Duration>,
    /// Whether failing sources may make the target smaller: there is a fallback, or something else that says so.
    pub may_shrink_blindly: bool,
}

/// What a user does at some time.
#[derive(Clone, Debug)]
pub struct Step {
    pub at: Duration,
    pub act: Act,
}

#[derive(Clone, Debug)]
pub enum Act {
    /// Creates an object, or merges it over what is there.
    Apply(Value),
    /// Sets annotations of the ScaledObject; null takes one away.
    Annotate(Value),
    /// Sets the replicas of the target by hand.
    Scale(i64),
    /// Deletes an object: its resource and its name.
    Delete(&'static str, &'static str),
    /// From now on the answer to a question.
    Serve(&'static str, f64),
    /// From now on the token that a question needs, if any.
    Require(&'static str, Option<&'static str>),
    /// The external scaler says that there is work.
    Push,
    /// One right after the other.
    Both(Box<Act>, Box<Act>),
}
