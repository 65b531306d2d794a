//! What the page shows, as it is sent: times are milliseconds since 1970.

use serde::Serialize;

/// What an object does at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ObjectState {
    /// A trigger is active.
    Active,
    /// Every source answered, and no trigger is active.
    Inactive,
    /// A source fails, and no other trigger is active.
    Unknown,
    /// A fallback takes the place of a source that fails.
    Fallback,
    /// An annotation pauses the object.
    Paused,
    /// It was not polled yet.
    Waiting,
}

/// A replica that stands by polls nothing, and has nothing to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standby {
    /// The name of the replica that leads, where one does.
    pub leader: Option<String>,
}

/// One object in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectSummary {
    pub namespace: String,
    pub name: String,
    /// Kind and name.
    pub target: String,
    pub min: i32,
    pub max: i32,
    pub idle: Option<i32>,
    /// The desired replicas of the target; `None` where they are not known.
    pub replicas: Option<i32>,
    /// The ready ones, where they are known.
    pub ready_replicas: Option<i32>,
    pub state: ObjectState,
    /// Whether the HPA controller waits for a stabilization window.
    pub is_stabilized: bool,
    /// Whether an annotation activates the target.
    pub is_forced: bool,
    /// Why the object does not work, if it does not.
    pub problem: Option<String>,
    pub metrics: Vec<MetricView>,
    /// The newest entry of the log.
    pub latest: Option<Step>,
    /// The replicas at the last polls, oldest first.
    pub recent: Vec<Option<i32>>,
}

/// One metric and its newest reading.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricView {
    pub name: String,
    /// The name of the trigger, or its type.
    pub label: String,
    pub target: f64,
    /// Whether the target is for each replica.
    pub is_per_replica: bool,
    pub value: Option<f64>,
    pub error: Option<String>,
    pub read_at: Option<i64>,
}

/// One object with its history.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectDetail {
    #[serde(flatten)]
    pub summary: ObjectSummary,
    pub samples: Samples,
    /// The log, newest first.
    pub steps: Vec<Step>,
    pub timers: Vec<Timer>,
}

/// The readings over time, one column each.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Samples {
    pub at: Vec<i64>,
    pub replicas: Vec<Option<i32>>,
    pub ready: Vec<Option<i32>>,
    pub states: Vec<ObjectState>,
    /// A column for each metric, in the order of the metrics.
    pub values: Vec<Vec<Option<f64>>>,
}

/// Something that changed, who changed it, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Higher than that of every earlier step.
    pub id: u64,
    pub at: i64,
    pub by: Actor,
    /// The replicas before and after, where they changed.
    pub change: Option<(i32, i32)>,
    /// The name of the decision.
    pub name: String,
    pub reason: String,
}

/// An entry of a log, with the object that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedStep {
    pub namespace: String,
    pub name: String,
    pub step: Step,
}

/// Who changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Actor {
    Kedge,
    #[serde(rename = "HPA")]
    Hpa,
    #[serde(rename = "source")]
    Source,
    /// A user, or another controller.
    #[serde(rename = "other")]
    Other,
}

impl Actor {
    /// The name that people read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kedge => "Kedge",
            Self::Hpa => "HPA",
            Self::Source => "source",
            Self::Other => "other",
        }
    }
}

/// Something that happens by itself at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timer {
    pub name: String,
    pub ends_at: i64,
}
