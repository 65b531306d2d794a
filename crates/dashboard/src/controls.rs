//! What can be changed from the page, in a playground: the load of sources, their health, and pauses. A dashboard of a cluster has none.

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// How a source behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Health {
    #[default]
    Works,
    /// It answers with an error.
    Broken,
    /// It never answers.
    Hangs,
}

/// A source whose value can be set.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dial {
    /// Names it in an action.
    pub id: String,
    /// The name of the trigger, or its type.
    pub label: String,
    pub value: f64,
    /// The end of the scale.
    pub max: f64,
    pub health: Health,
    /// Whether a scenario turns it.
    pub is_automatic: bool,
}

/// A change that the page asks for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase", deny_unknown_fields)]
pub enum Action {
    SetValue { dial: String, value: f64 },
    SetHealth { dial: String, health: Health },
    Pause,
    Resume,
    ForceActivation { is_forced: bool },
    SetSpeed { speed: f64 },
}

/// Applies changes.
pub trait Controls: Send + Sync + 'static {
    /// The dials of an object's sources.
    fn dials(&self, namespace: &str, name: &str) -> Vec<Dial>;

    /// How many times faster than the clock of the machine time passes.
    fn speed(&self) -> f64;

    /// Applies a change. The error says what is wrong with it.
    fn apply<'a>(&'a self, namespace: &'a str, name: &'a str, action: Action) -> BoxFuture<'a, Result<(), String>>;
}
