//! A case as it is written, and its short forms spelled out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kedge_tests::files;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::sources::Source;

/// One case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// The name of its file.
    #[serde(skip)]
    pub(crate) name: String,
    /// What KEDA did: a capture for each step, by the name of the step. Empty before the case is recorded.
    #[serde(skip)]
    pub(crate) golden: BTreeMap<String, Value>,
    /// One sentence for the reader.
    #[serde(rename = "about")]
    _about: String,
    #[serde(default)]
    pub(crate) sources: BTreeMap<String, Source>,
    /// The objects that exist before the first step.
    #[serde(default)]
    pub(crate) objects: Vec<Entry>,
    /// Queries to the metrics API that no HPA sends.
    #[serde(rename = "ask", default)]
    pub(crate) queries: Vec<MetricQuery>,
    /// Texts that may be worded otherwise.
    #[serde(default)]
    pub(crate) free: Free,
    /// The operator's own metrics about the namespace are captured too.
    #[serde(default)]
    pub(crate) telemetry: bool,
    /// The targets may be Widgets.
    #[serde(default)]
    pub(crate) widgets: bool,
    pub(crate) steps: Vec<Step>,
}

/// One step: actions, and the expectations after them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) sources: BTreeMap<String, Source>,
    pub(crate) apply: Vec<Entry>,
    /// Annotations for the ScaledObject `so`.
    pub(crate) annotate: Option<Value>,
    pub(crate) patch: Vec<Patch>,
    pub(crate) delete: Vec<Named>,
    /// Seconds to let pass after all that.
    pub(crate) hold: u64,
    /// Capture how often each source was asked from the beginning of the step to the end of the hold.
    pub(crate) counted: bool,
    pub(crate) until: BTreeMap<String, Value>,
    /// Seconds without a change before the capture.
    pub(crate) settle: Option<u64>,
}

/// An object: a short form, or a manifest.
#[derive(Debug, Deserialize)]
pub(crate) struct Entry(Value);

/// A merge patch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Patch {
    #[serde(default = "scaled_object_kind")]
    pub(crate) kind: String,
    #[serde(default = "scaled_object_name")]
    pub(crate) name: String,
    pub(crate) body: Value,
}

/// An object by its name; the ScaledObject `so` unless another is named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    #[serde(default = "scaled_object_kind")]
    pub(crate) kind: String,
    #[serde(default = "scaled_object_name")]
    pub(crate) name: String,
}

/// A query to the metrics API.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MetricQuery {
    pub(crate) metric: String,
}

/// Texts that come from a language or a library, and may differ.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Free {
    /// Types of conditions whose message is free.
    pub(crate) conditions: Vec<String>,
    /// Reasons of events whose note is free.
    pub(crate) events: Vec<String>,
    #[serde(rename = "why")]
    _why: String,
}

impl Case {
    /// All cases, by name, with what KEDA did in each.
    pub(crate) fn read_all() -> Vec<Self> {
        let paths = files::list(&files::workspace().join("tests/parity/keda/cases"), "yaml");
        paths.iter().map(|path| Self::load(path)).collect()
    }

    fn load(path: &Path) -> Self {
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a file with a name").to_owned();
        // `n` is a letter here.
        let options = serde_saphyr::options! { strict_booleans: true };
        let mut case: Self = serde_saphyr::from_str_with_options(&files::read(path), options)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        case.name = name;
        let golden = case.golden_file();
        if golden.exists() {
            case.golden = serde_json::from_str(&files::read(&golden))
                .unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
        }
        case
    }

    /// Where its recording is.
    pub(crate) fn golden_file(&self) -> PathBuf {
        files::workspace().join("tests/parity/keda/golden").join(&self.name).with_extension("json")
    }
}

impl Entry {
    /// The full manifest in a case.
    pub(crate) fn spelled_out(&self) -> Value {
        // Short, so that a case takes less than minutes.
        self.with_defaults(json!({ "pollingInterval": 2, "cooldownPeriod": 4 }))
    }

    /// The full manifest, with these defaults in a ScaledObject.
    pub(crate) fn with_defaults(&self, defaults: Value) -> Value {
        let Value::Object(entry) = &self.0 else { return self.0.clone() };
        if let Some(short) = entry.get("deployment") {
            workload("Deployment", short)
        } else if let Some(short) = entry.get("statefulset") {
            workload("StatefulSet", short)
        } else if let Some(short) = entry.get("so") {
            scaled_object(short, defaults)
        } else {
            self.0.clone()
        }
    }

    /// How many pods it has at first.
    pub(crate) fn pods(&self) -> u64 {
        match self.spelled_out() {
            object if object["spec"]["template"].is_object() => object["spec"]["replicas"].as_u64().unwrap_or(1),
            _ => 0,
        }
    }
}

/// One container `main`, one replica, labels by its name; `replicas`, `podLabels` and what a container may have are taken over.
fn workload(kind: &str, short: &Value) -> Value {
    let name = &short["name"];
    let mut labels = json!({ "app": name });
    merge(&mut labels, &short["podLabels"]);
    let mut container = json!({ "name": "main", "image": "example/app" });
    for key in ["env", "envFrom", "resources"] {
        if let Some(value) = short.get(key) {
            container[key] = value.clone();
        }
    }
    let sidecars = short["sidecars"].as_array().into_iter().flatten();
    let mut containers = vec![container];
    containers.extend(sidecars.map(|name| json!({ "name": name, "image": "example/app" })));
    let mut spec = json!({
        "replicas": short.get("replicas").cloned().unwrap_or(json!(1)),
        "selector": { "matchLabels": { "app": name } },
        "template": { "metadata": { "labels": labels }, "spec": { "containers": containers } },
    });
    if kind == "StatefulSet" {
        spec["serviceName"] = name.clone();
    }
    json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name }, "spec": spec })
}

/// A ScaledObject `so` for the Deployment `web`; null removes a default.
fn scaled_object(short: &Value, mut spec: Value) -> Value {
    spec["scaleTargetRef"] = json!({ "name": "web" });
    let mut metadata = json!({ "name": "so" });
    for (key, value) in short.as_object().into_iter().flatten() {
        match key.as_str() {
            "name" => metadata["name"] = value.clone(),
            "metadata" => merge(&mut metadata, value),
            _ => spec[key] = value.clone(),
        }
    }
    if let Value::Object(spec) = &mut spec {
        spec.retain(|_, value| !value.is_null());
    }
    json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata, "spec": spec })
}

/// Adds the fields of one object to another.
fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}

/// A value whose texts have all placeholders filled in.
pub(crate) fn filled(value: &Value, places: &[(&str, &str)]) -> Value {
    match value {
        Value::String(text) => {
            places.iter().fold(text.clone(), |text, (placeholder, meaning)| text.replace(placeholder, meaning)).into()
        }
        Value::Array(items) => items.iter().map(|item| filled(item, places)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), filled(value, places)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn scaled_object_kind() -> String {
    "ScaledObject".into()
}

fn scaled_object_name() -> String {
    "so".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled_out(entry: Value) -> Value {
        Entry(entry).spelled_out()
    }

    #[test]
    fn every_case_can_be_read_and_has_a_capture_of_each_step() {
        let cases = Case::read_all();
        assert_eq!(cases.len(), 85);
        for case in cases {
            let steps: std::collections::BTreeSet<_> = case.steps.iter().map(|step| &step.name).collect();
            let remedy = "record it with `cargo xtask peer record`";
            assert_eq!(steps, case.golden.keys().collect(), "{}: {remedy}", case.name);
        }
    }

    #[test]
    fn a_deployment_has_one_replica_by_default() {
        let rows = [
            ("no number", json!({ "name": "web" }), json!(1)),
            ("a number", json!({ "name": "web", "replicas": 3 }), json!(3)),
            ("left to the API server", json!({ "name": "web", "replicas": null }), Value::Null),
        ];
        for (name, short, expected) in rows {
            assert_eq!(spelled_out(json!({ "deployment": short }))["spec"]["replicas"], expected, "{name}");
        }
    }

    #[test]
    fn a_workload_has_the_given_labels_and_environment() {
        let made = spelled_out(json!({ "statefulset": { "name": "web", "podLabels": { "role": "load" }, "env": [] } }));
        assert_eq!(made["kind"], "StatefulSet");
        assert_eq!(made["spec"]["serviceName"], "web");
        assert_eq!(made["spec"]["template"]["metadata"]["labels"], json!({ "app": "web", "role": "load" }));
        assert_eq!(made["spec"]["template"]["spec"]["containers"][0]["env"], json!([]));
    }

    #[test]
    fn a_scaled_object_has_defaults_that_null_removes() {
        let made = spelled_out(
            json!({ "so": { "cooldownPeriod": null, "pollingInterval": 40, "metadata": { "labels": {} } } }),
        );
        assert_eq!(made["metadata"], json!({ "name": "so", "labels": {} }));
        assert_eq!(made["spec"], json!({ "scaleTargetRef": { "name": "web" }, "pollingInterval": 40 }));
        assert_eq!(spelled_out(json!({ "so": { "name": "other" } }))["metadata"]["name"], "other");
    }

    #[test]
    fn a_manifest_is_unchanged() {
        let manifest = json!({ "kind": "Secret", "metadata": { "name": "creds" } });
        assert_eq!(spelled_out(manifest.clone()), manifest);
        assert_eq!(Entry(manifest).pods(), 0);
    }

    #[test]
    fn placeholders_are_filled_in_at_any_depth() {
        let value = json!({ "a": ["${HTTP}/p/${NS}/x", 1], "b": { "c": "${NS}" } });
        let places = [("${NS}", "case"), ("${HTTP}", "http://127.0.0.1:1")];
        assert_eq!(filled(&value, &places), json!({ "a": ["http://127.0.0.1:1/p/case/x", 1], "b": { "c": "case" } }));
    }
}
