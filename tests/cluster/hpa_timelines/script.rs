//! A timeline: a Deployment, an HPA for it, and steps. The metric queries of the controller advance it.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Value, json};

/// The controller's setting for HPAs without a window of their own.
pub(super) const DOWNSCALE_WINDOW: TimeDelta = TimeDelta::seconds(4);

/// The period of the policies that the API server fills in.
const DEFAULT_PERIOD: TimeDelta = TimeDelta::seconds(15);

pub(super) const NAMESPACE: &str = "timelines";

/// The label that names the owner of a metric.
const OWNER_LABEL: &str = "scaledobject.keda.sh/name";

/// One Deployment with one HPA, both of this name.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    pub(super) name: &'static str,
    /// The initial replicas of the Deployment.
    pub(super) replicas: i32,
    /// The spec of the HPA, without its target.
    pub(super) spec: Value,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// The response to each metric in one sync.
    Respond(Vec<(&'static str, MetricResponse)>),
    Do(Action),
    /// Nothing happens for a while.
    Pause(Duration),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MetricResponse {
    Series(Vec<String>),
    Refusal(&'static str),
}

/// An action on the objects.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Merges this into the HPA's spec; a list replaces a list.
    Change(Value),
    /// Scales the Deployment.
    Scale(i32),
    /// Deletes the HPA.
    Delete,
    /// Creates it as it was at first.
    Create,
}

/// A timeline with one metric, `load`.
pub(super) fn timeline(name: &'static str, replicas: i32, spec: Value) -> Timeline {
    Timeline { name, replicas, spec, steps: Vec::new() }
}

impl Timeline {
    /// Responds with these values of `load`, one for each sync.
    pub(super) fn load<T: ToString>(mut self, values: impl IntoIterator<Item = T>) -> Self {
        let step = |value: T| Step::Respond(vec![("load", MetricResponse::Series(vec![value.to_string()]))]);
        self.steps.extend(values.into_iter().map(step));
        self
    }

    /// Responds with nearly the same `load` for some syncs. The values differ by a little more than a thousandth per
    /// replica, so that every sync writes the status and the record shows when it was over.
    pub(super) fn hold(self, value: i64, syncs: i64) -> Self {
        let less = |sync: i64| if value > 0 { format!("{}m", value * 1000 - 20 * sync) } else { value.to_string() };
        self.load((0..syncs).map(less))
    }

    /// Responds to these metrics, for one sync.
    pub(super) fn answer<const N: usize>(mut self, answers: [(&'static str, MetricResponse); N]) -> Self {
        self.steps.push(Step::Respond(answers.to_vec()));
        self
    }

    pub(super) fn then(mut self, action: Action) -> Self {
        self.steps.push(Step::Do(action));
        self
    }

    pub(super) fn pause(mut self, seconds: u64) -> Self {
        self.steps.push(Step::Pause(Duration::from_secs(seconds)));
        self
    }

    /// All windows and periods that matter to the controller in this timeline.
    pub(super) fn lengths(&self) -> BTreeSet<TimeDelta> {
        let mut lengths = BTreeSet::from([DOWNSCALE_WINDOW, DEFAULT_PERIOD]);
        collect_lengths(&self.spec, &mut lengths);
        for step in &self.steps {
            if let Step::Do(Action::Change(spec)) = step {
                collect_lengths(spec, &mut lengths);
            }
        }
        lengths
    }

    pub(super) fn deployment(&self) -> Value {
        let labels = json!({ "app": self.name });
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": self.name, "namespace": NAMESPACE },
            "spec": {
                "replicas": self.replicas, "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "containers": [{ "name": "main", "image": "main" }] },
                },
            },
        })
    }

    pub(super) fn hpa(&self) -> Value {
        let mut spec = with_owner(self.spec.clone(), self.name);
        spec["scaleTargetRef"] = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": self.name });
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": { "name": self.name, "namespace": NAMESPACE }, "spec": spec,
        })
    }
}

fn collect_lengths(value: &Value, lengths: &mut BTreeSet<TimeDelta>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let is_length = matches!(key.as_str(), "stabilizationWindowSeconds" | "periodSeconds");
        lengths.extend(value.as_i64().filter(|_| is_length).map(TimeDelta::seconds));
        collect_lengths(value, lengths);
        value.as_array().into_iter().flatten().for_each(|item| collect_lengths(item, lengths));
    }
}

/// A spec, or a part of one, whose metrics have the label of their owner.
pub(super) fn with_owner(mut spec: Value, name: &str) -> Value {
    for metric in spec["metrics"].as_array_mut().into_iter().flatten() {
        metric["external"]["metric"]["selector"] = json!({ "matchLabels": { OWNER_LABEL: name } });
    }
    if spec["metrics"].is_null() {
        spec.as_object_mut().expect("a spec is an object").remove("metrics");
    }
    spec
}

/// An External metric with a target per replica.
pub(super) fn average(metric: &str, target: &str) -> Value {
    external(metric, json!({ "type": "AverageValue", "averageValue": target }))
}

/// An External metric with a target for all replicas together.
pub(super) fn value(metric: &str, target: &str) -> Value {
    external(metric, json!({ "type": "Value", "value": target }))
}

fn external(metric: &str, target: Value) -> Value {
    json!({ "type": "External", "external": { "metric": { "name": metric }, "target": target } })
}

pub(super) fn series<const N: usize>(values: [&str; N]) -> MetricResponse {
    MetricResponse::Series(values.map(str::to_owned).to_vec())
}

pub(super) fn amount(value: impl ToString) -> MetricResponse {
    MetricResponse::Series(vec![value.to_string()])
}

pub(super) fn refusal() -> MetricResponse {
    MetricResponse::Refusal("the source is away")
}
