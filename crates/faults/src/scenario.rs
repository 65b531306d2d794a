//! Scenarios: what users do in a run, step by step, as values. Each scenario ends in a state that does not depend on timing.

mod catalog;
mod objects;

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

pub use catalog::all;

/// The namespace of all objects.
pub const NAMESPACE: &str = "shop";

/// The namespace of the operator's own objects.
pub const OPERATOR_NAMESPACE: &str = "keda";

/// The name of the target, and of the ScaledObject.
pub const NAME: &str = "web";

/// The query that never gets a response.
pub const HUNG_QUERY: &str = "hung";

/// The query whose response is slow, and how long it takes after the value was read.
pub const SLOW_QUERY: &str = "mail";
pub const SLOW_FOR: Duration = Duration::from_millis(700);

/// A part of every secret of a scenario, and of nothing else.
pub const CANARY: &str = "canary-";

/// One scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub name: &'static str,
    /// The replicas of the operator; more than one elect a leader.
    pub operators: u32,
    /// The wall time at its start.
    pub begins_at: DateTime<Utc>,
    pub steps: Vec<Step>,
    /// How long after the last step the state still changes without a cause from outside.
    pub waits: Duration,
    /// How long after the last step the state is final, without faults.
    pub settles: Duration,
    pub expects: Expectations,
    /// How many objects a page of a list has, where that is fewer than the operator asks for.
    pub page_size: Option<u32>,
    /// Whether the operator also rotates its certificates.
    pub rotates_certificates: bool,
    /// The query with the messages for the Jobs of a ScaledJob, where the operator runs those.
    pub drained: Option<&'static str>,
}

/// What the invariants depend on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expectations {
    /// The cooldown that must pass between the last activity and the step to zero; where it is none, such steps are not checked.
    pub cooldown: Option<Duration>,
    /// A query and its polling interval; where it is none, the polls are not checked.
    pub polled_every: Option<(&'static str, Duration)>,
}

/// What a user does at a point in time.
#[derive(Clone, Debug)]
pub struct Step {
    pub at: Duration,
    pub action: Action,
}

#[derive(Clone, Debug)]
pub enum Action {
    /// Creates an object, or merges it over what is there.
    Apply(Value),
    /// Sets annotations of the ScaledObject; null removes one.
    Annotate(Value),
    /// Changes the object's HPA, as another client.
    PatchHpa(Value),
    /// Sets the replicas of the target by hand.
    Scale(i64),
    /// Deletes an object: its resource and its name.
    Delete(&'static str, &'static str),
    /// Sets the value that a query returns.
    SetValue(&'static str, f64),
    /// Adds messages to those that a query counts.
    AddMessages(&'static str, u32),
    /// Sets the token that a query requires, or none.
    RequireToken(&'static str, Option<&'static str>),
    /// Changes the metrics of the external scaler.
    SetMetrics(&'static [&'static str]),
    /// Stores a token in Vault.
    SetVaultToken(&'static str),
    /// Lets the external scaler push whether it is active.
    Push(bool),
    /// Lets all connections to the external scaler go silent, in both directions and without an end.
    FreezeConnections,
    /// Performs one right after the other.
    Both(Box<Action>, Box<Action>),
}
