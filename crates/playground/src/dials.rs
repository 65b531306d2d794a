//! The values and the health of sources that are stood in for. A dial belongs to a question: two triggers that ask the same server the
//! same thing share it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use kedge_core::quantity::Quantity;
use kedge_core::trigger_class::TriggerClass;
use kedge_dashboard::Health;
use kedge_scalers::registry;
use serde_json::Value;
use tokio::sync::watch;

/// What a trigger asks, as one of its dials is named.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub id: String,
    pub stand_in: StandIn,
    /// The name of the trigger, or its type.
    pub label: String,
    /// The end of the scale: what needs a little more than the maximum of replicas. In targets, for the number of a trigger.
    pub max: f64,
}

/// What a dial stands in for, and when.
#[derive(Clone, Debug, PartialEq)]
pub enum StandIn {
    /// The usage of pods: always, because they run nothing.
    Usage,
    /// A server, by its `host:port`, while it cannot be reached.
    Server(String),
    /// The number that a trigger reads, while its source cannot be reached. No stand-in speaks the protocol of the source.
    Number,
}

/// How a source answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Setting {
    pub value: f64,
    pub health: Health,
    /// Whether a user has turned it: then no scenario does.
    pub is_turned: bool,
}

/// All dials.
#[derive(Debug)]
pub struct Dials {
    settings: Mutex<BTreeMap<String, Setting>>,
    changed: watch::Sender<()>,
}

impl Default for Dials {
    fn default() -> Self {
        Self { settings: Mutex::default(), changed: watch::Sender::new(()) }
    }
}

impl Dials {
    pub fn get(&self, id: &str) -> Setting {
        self.lock().get(id).copied().unwrap_or_default()
    }

    /// Turns a dial as a user does.
    pub fn turn(&self, id: &str, value: f64) {
        self.change(id, |setting| (setting.value, setting.is_turned) = (value, true));
    }

    pub fn set_health(&self, id: &str, health: Health) {
        self.change(id, |setting| (setting.health, setting.is_turned) = (health, true));
    }

    /// Turns a dial as a scenario does: not after a user has.
    pub(crate) fn follow(&self, id: &str, value: f64, health: Health) {
        let setting = self.get(id);
        if !setting.is_turned && (setting.value, setting.health) != (value, health) {
            self.change(id, |setting| (setting.value, setting.health) = (value, health));
        }
    }

    /// Signals every change.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Setting)) {
        change(self.lock().entry(id.to_owned()).or_default());
        self.changed.send_replace(());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Setting>> {
        self.settings.lock().expect("no holder panics")
    }
}

/// The questions that the triggers of a ScaledObject ask, where stand-ins understand them.
pub fn questions(object: &Value) -> Vec<Question> {
    let triggers = object["spec"]["triggers"].as_array().into_iter().flatten().enumerate();
    triggers.filter_map(|(index, trigger)| question(object, index, trigger)).collect()
}

/// Whether a dial gives the number of triggers of this type: their sources speak a protocol that no stand-in speaks.
pub(crate) fn has_number_dial(trigger_type: &str) -> bool {
    let speaks_here = matches!(trigger_type, "prometheus" | "metrics-api" | "external" | "external-push");
    !speaks_here && registry::class_of(trigger_type) == Some(TriggerClass::Source)
}

fn question(object: &Value, index: usize, trigger: &Value) -> Option<Question> {
    let metadata = &trigger["metadata"];
    let text = |key: &str| metadata[key].as_str();
    let label = trigger["name"].as_str().or(trigger["type"].as_str())?.to_owned();
    let owner = || Some((object["metadata"]["namespace"].as_str()?, object["metadata"]["name"].as_str()?));
    let replicas = object["spec"]["maxReplicaCount"].as_f64().unwrap_or(100.0).min(50.0);
    let (id, authority, target) = match trigger["type"].as_str()? {
        "cpu" | "memory" => {
            let usage = UsageTrigger::read(object, trigger)?;
            return Some(Question {
                id: usage.id,
                stand_in: StandIn::Usage,
                label: usage.label,
                max: usage.target * (replicas + 2.0),
            });
        }
        "prometheus" => {
            let authority = authority_of(text("serverAddress")?)?;
            (query_id(&authority, text("query")?), authority, text("threshold"))
        }
        "metrics-api" => {
            let url: http::Uri = text("url")?.parse().ok()?;
            let authority = authority_of(text("url")?)?;
            (path_id(&authority, url.path()), authority, text("targetValue"))
        }
        "external" | "external-push" => {
            let authority = text("scalerAddress")?.to_owned();
            let (namespace, name) = owner()?;
            (scaler_id(namespace, name), authority, scaler_target(|key| text(key)))
        }
        other if has_number_dial(other) => {
            let (namespace, name) = owner()?;
            let id = number_id(other, index, namespace, name);
            return Some(Question { id, stand_in: StandIn::Number, label, max: replicas + 2.0 });
        }
        _ => return None,
    };
    let target: f64 = target.and_then(|target| target.parse().ok()).unwrap_or(SCALER_TARGET);
    Some(Question { id, stand_in: StandIn::Server(authority), label, max: target * (replicas + 2.0) })
}

/// A cpu or memory trigger: its dial is what all pods of the target use together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UsageTrigger {
    pub(crate) id: String,
    label: String,
    /// For each pod, in units of the dial.
    target: f64,
    pub(crate) unit: UsageUnit,
    /// The container whose usage counts, if it is only one.
    pub(crate) container: Option<String>,
}

/// What the number of such a dial means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsageUnit {
    /// Percent of the request of one pod.
    Percent,
    Cores,
    Mebibytes,
}

impl UsageTrigger {
    pub(crate) fn read(object: &Value, trigger: &Value) -> Option<Self> {
        let (resource, metadata) = (trigger["type"].as_str()?, &trigger["metadata"]);
        let metric_type = trigger["metricType"].as_str().or(metadata["type"].as_str()).unwrap_or("Utilization");
        let unit = match (metric_type, resource) {
            ("Utilization", _) => UsageUnit::Percent,
            (_, "cpu") => UsageUnit::Cores,
            _ => UsageUnit::Mebibytes,
        };
        let value = Quantity::parse(metadata["value"].as_str()?).ok()?.milli_value() as f64 / 1000.0;
        let target = if unit == UsageUnit::Mebibytes { value / MEBIBYTE } else { value };
        let container = metadata["containerName"].as_str().map(str::to_owned);
        let unit_name = match unit {
            UsageUnit::Percent => "% of a pod's request",
            UsageUnit::Cores => "cores",
            UsageUnit::Mebibytes => "Mi",
        };
        let of = container.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
        let name = trigger["name"].as_str().unwrap_or(resource);
        let (namespace, object) = (object["metadata"]["namespace"].as_str()?, object["metadata"]["name"].as_str()?);
        let id = format!("{resource}{of} of {namespace}/{object}");
        Some(Self { id, label: format!("{name}{of}, {unit_name}"), target, unit, container })
    }
}

pub(crate) const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// The target of an external scaler whose trigger names none.
pub(crate) const SCALER_TARGET: f64 = 10.0;

/// The parameter of a trigger for an external scaler that looks like its target.
pub(crate) fn scaler_target<'a>(parameter: impl Fn(&str) -> Option<&'a str>) -> Option<&'a str> {
    ["targetValue", "targetLength", "threshold", "target"].into_iter().find_map(parameter)
}

pub(crate) fn query_id(authority: &str, query: &str) -> String {
    format!("{authority} {query}")
}

pub(crate) fn path_id(authority: &str, path: &str) -> String {
    format!("{authority}{path}")
}

pub(crate) fn scaler_id(namespace: &str, name: &str) -> String {
    format!("external scaler of {namespace}/{name}")
}

/// One trigger of an object: what it asks is known to its scaler alone.
pub(crate) fn number_id(trigger_type: &str, index: usize, namespace: &str, name: &str) -> String {
    format!("{trigger_type} of {namespace}/{name}, trigger {index}")
}

/// Host and port of a URL.
pub(crate) fn authority_of(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    let default = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    Some(format!("{}:{}", uri.host()?, uri.port_u16().unwrap_or(default)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_trigger_that_can_be_stood_in_for_has_a_dial() {
        let object = json!({
            "metadata": { "namespace": "shop", "name": "web" },
            "spec": { "maxReplicaCount": 8, "triggers": [
                { "type": "prometheus", "name": "orders", "metadata": { "serverAddress": "http://prom:9090/x", "query": "sum(a)", "threshold": "20" } },
                { "type": "metrics-api", "metadata": { "url": "http://api/v1/load?x=1", "valueLocation": "a.b", "targetValue": "5" } },
                { "type": "external", "metadata": { "scalerAddress": "scaler:9090" } },
                { "type": "cron", "metadata": {} },
                { "type": "cpu", "metricType": "Utilization", "metadata": { "value": "60" } },
                { "type": "memory", "metricType": "AverageValue", "metadata": { "value": "100Mi", "containerName": "app" } },
                { "type": "prometheus", "metadata": { "serverAddress": "no url", "query": "x" } },
                { "type": "redis", "name": "jobs", "metadata": { "address": "redis:6379", "listName": "jobs" } },
                { "type": "kubernetes-workload", "metadata": {} },
                { "type": "no-such-type", "metadata": {} },
            ] },
        });
        let found: Vec<(String, String, f64)> =
            questions(&object).into_iter().map(|one| (one.id, one.label, one.max)).collect();
        let expected = [
            ("prom:9090 sum(a)", "orders", 200.0),
            ("api:80/v1/load", "metrics-api", 50.0),
            ("external scaler of shop/web", "external", 100.0),
            ("cpu of shop/web", "cpu, % of a pod's request", 600.0),
            ("memory of app of shop/web", "memory of app, Mi", 1000.0),
            ("redis of shop/web, trigger 7", "jobs", 10.0),
        ];
        assert_eq!(found, expected.map(|(id, label, max)| (id.to_owned(), label.to_owned(), max)));
    }

    #[test]
    fn a_scenario_leaves_alone_what_a_user_has_turned() {
        let dials = Dials::default();
        dials.follow("a", 3.0, Health::Works);
        assert_eq!(dials.get("a").value, 3.0);
        dials.turn("a", 7.0);
        dials.follow("a", 4.0, Health::Broken);
        assert_eq!(dials.get("a"), Setting { value: 7.0, health: Health::Works, is_turned: true });
    }
}
