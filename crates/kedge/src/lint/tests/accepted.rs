//! Manifests that KEDA accepts have no errors, except where Kedge is stricter: each such file is listed with the rule.

use std::collections::BTreeSet;

use kedge_webhooks::violation::Severity;
use serde_json::{Value, json};

use super::{lint, workspace, yaml_files};

/// The violated rules of severity error.
fn errors(bytes: &[u8]) -> BTreeSet<&'static str> {
    let report = lint(bytes);
    report
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.rule.severity == Severity::Error)
        .map(|diagnostic| diagnostic.rule.id)
        .collect()
}

/// Compares the violations with a list of files and rules.
fn compare(found: impl Iterator<Item = (String, BTreeSet<&'static str>)>, listed: &[(&str, &str)]) {
    let found: BTreeSet<(String, &str)> =
        found.flat_map(|(name, rules)| rules.into_iter().map(move |rule| (name.clone(), rule))).collect();
    let listed: BTreeSet<(String, &str)> = listed.iter().map(|(name, rule)| ((*name).to_owned(), *rule)).collect();
    let more: Vec<_> = found.difference(&listed).collect();
    let less: Vec<_> = listed.difference(&found).collect();
    assert!(more.is_empty() && less.is_empty(), "not listed: {more:#?}\nlisted in vain: {less:#?}");
}

/// The API server takes these. Fields that it drops are refused by kubectl, and a ScaledJob without a spec is of no use.
const STRICTER_THAN_THE_API_SERVER: &[(&str, &str)] = &[
    ("clustertriggerauthentication-unknown-and-null-fields-are-pruned", "unknown-field"),
    ("scaledjob-null-spec-is-pruned", "schema"),
    ("scaledjob-trigger-metric-type-is-pruned", "unknown-field"),
    ("scaledjob-unknown-fields-are-pruned", "unknown-field"),
    ("scaledjob-unknown-pod-fields-are-pruned", "unknown-field"),
    ("scaledjob-volume-claim-template-metadata-is-pruned", "unknown-field"),
    ("scaledjob-without-spec", "schema"),
    ("scaledobject-unknown-nested-fields-are-pruned", "unknown-field"),
    ("scaledobject-unknown-object-metadata-is-dropped", "unknown-field"),
    ("scaledobject-unknown-root-fields-are-pruned", "unknown-field"),
    ("scaledobject-unknown-spec-fields-are-pruned", "unknown-field"),
    ("scaledobject-unknown-trigger-fields-are-pruned", "unknown-field"),
    ("triggerauthentication-unknown-fields-are-pruned", "unknown-field"),
];

/// These files are about the API server alone: many could not work, and the rules of admission say so.
#[test]
fn what_the_api_server_accepts_has_a_sound_shape_unless_listed() {
    let files = yaml_files("tests/manifests/accepted");
    assert!(files.len() > 100, "{}", files.len());
    let of_shape = |bytes: &[u8]| {
        let mut rules = errors(bytes);
        rules.retain(|rule| !kedge_webhooks::rules::ALL.iter().any(|known| known.id == *rule));
        rules
    };
    compare(files.into_iter().map(|(name, bytes)| (name, of_shape(&bytes))), STRICTER_THAN_THE_API_SERVER);
}

#[test]
fn samples_and_examples_have_no_errors() {
    let samples = yaml_files("config/samples");
    assert!(!samples.is_empty());
    compare(samples.into_iter().map(|(name, bytes)| (name, errors(&bytes))), &[]);
    let blocks = blocks();
    assert!(blocks.len() > 5, "{}", blocks.len());
    compare(blocks.into_iter().map(|(name, text)| (name, errors(text.as_bytes()))), &[]);
}

/// The whole objects that pages for users show.
fn blocks() -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    for folder in ["docs", "docs/scalers"] {
        for entry in std::fs::read_dir(workspace(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let page = std::fs::read_to_string(&path).unwrap();
            let whole = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
            let whole = whole.filter(|block| block.lines().any(|line| line.starts_with("apiVersion: keda.sh/")));
            blocks.extend(whole.map(|block| (path.display().to_string(), block.to_owned())));
        }
    }
    blocks
}

/// Violations that are stored where no webhook is called, and that KEDA's operator reports later, or accepts.
const STRICTER_THAN_THE_OPERATOR: &[(&str, &str)] = &[
    ("cpu-old-style-type", "missing-resource-request"),
    ("cpu-old-style-type", "invalid-trigger"),
    ("cron-wrong-timezone", "invalid-trigger"),
    ("hpa-of-somebody-else-is-adopted", "conflicting-hpa"),
    ("invalid-cached-cron", "unsupported-cached-metrics"),
    ("invalid-missing-threshold", "invalid-trigger"),
    ("invalid-second-trigger", "invalid-trigger"),
    ("invalid-then-corrected", "invalid-trigger"),
    ("metadata-from-environment-not-everywhere", "invalid-trigger"),
    ("metrics-api-without-target-value", "invalid-trigger"),
    ("modifiers-unknown-name", "invalid-formula"),
    ("modifiers-with-cpu", "missing-resource-request"),
    ("resource-and-external-order", "missing-resource-request"),
];

#[test]
fn what_was_played_with_keda_is_no_error_unless_listed() {
    let stories = yaml_files("tests/parity/keda/cases");
    assert!(stories.len() > 70, "{}", stories.len());
    let mut found = Vec::new();
    for (name, bytes) in stories {
        let story = read(&bytes);
        for object in story["steps"].as_array().unwrap().iter().flat_map(|step| entries(&step["apply"])) {
            let beside = entries(&story["objects"]).chain([object]);
            found.push((name.clone(), errors(stream(beside).as_bytes())));
        }
    }
    assert!(found.len() > 70, "{}", found.len());
    compare(found.into_iter(), STRICTER_THAN_THE_OPERATOR);
}

#[test]
fn what_the_webhooks_of_keda_admit_is_no_error_but_for_its_triggers() {
    let mut admitted = 0;
    for (name, bytes) in yaml_files("tests/parity/keda/admission") {
        let (case, golden) = (read(&bytes), golden(&name));
        for (position, request) in case["requests"].as_array().unwrap().iter().enumerate() {
            let answer = &golden[format!("request {}", position + 1)];
            let is_dry = request["dryRun"] == true;
            if answer["allowed"] != true || request["create"].is_null() || is_dry || position > 0 {
                continue;
            }
            let created = entries(&request["create"]);
            let mut errors = errors(stream(entries(&case["objects"]).chain(created)).as_bytes());
            // Many of these cases have triggers without parameters, which KEDA's webhooks do not validate.
            errors.remove("invalid-trigger");
            assert!(errors.is_empty(), "{name}: {errors:?}");
            admitted += 1;
        }
    }
    assert!(admitted > 5, "{admitted}");
}

fn golden(name: &str) -> Value {
    let path = workspace("tests/parity/keda/golden/admission").join(name).with_extension("json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn read(bytes: &[u8]) -> Value {
    // `n` is a letter here.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_slice_with_options(bytes, options).unwrap()
}

fn entries(list: &Value) -> impl Iterator<Item = Value> {
    let entries = if list.is_array() { list.as_array().cloned().unwrap_or_default() } else { vec![list.clone()] };
    entries.into_iter().filter(|entry| !entry.is_null()).map(|entry| spelled_out(&entry))
}

/// An object of a story, whose short forms say only what matters.
fn spelled_out(entry: &Value) -> Value {
    for (short, kind) in [("deployment", "Deployment"), ("statefulset", "StatefulSet")] {
        if let Some(given) = entry.get(short) {
            return workload(kind, given);
        }
    }
    entry.get("so").map_or_else(|| entry.clone(), scaled_object)
}

fn workload(kind: &str, given: &Value) -> Value {
    let container =
        |name: &Value, resources: &Value| json!({ "name": name, "image": "example/app", "resources": resources });
    let mut containers = vec![container(&"main".into(), &given["resources"])];
    containers.extend(given["sidecars"].as_array().into_iter().flatten().map(|name| container(name, &Value::Null)));
    let template = json!({ "spec": { "containers": containers } });
    json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": given["name"] }, "spec": { "template": template } })
}

fn scaled_object(given: &Value) -> Value {
    let (mut metadata, mut spec) = (json!({ "name": "so" }), json!({ "scaleTargetRef": { "name": "web" } }));
    for (key, value) in given.as_object().unwrap() {
        match key.as_str() {
            "name" => metadata["name"] = value.clone(),
            "metadata" => value.as_object().unwrap().iter().for_each(|(key, value)| metadata[key] = value.clone()),
            _ => spec[key] = value.clone(),
        }
    }
    json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata, "spec": spec })
}

/// Objects as a file has them, with addresses in position of what a story fills in.
fn stream(objects: impl Iterator<Item = Value>) -> String {
    let texts: Vec<String> = objects.map(|object| object.to_string()).collect();
    let positions = [("${HTTP}", "http://127.0.0.1:80"), ("${GRPC}", "127.0.0.1:80"), ("${NS}", "story")];
    positions.iter().fold(texts.join("\n---\n"), |text, (position, meaning)| text.replace(position, meaning))
}
