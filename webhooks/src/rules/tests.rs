//! Every rule, with objects and neighbours built for it.

mod authentications;
mod objects;
mod parameters;

use std::collections::BTreeSet;
use std::sync::Arc;

use kedge_scalers::http::connector::Connector;
use kedge_scalers::{NoCluster, Settings};
use serde_json::{Value, json};

use super::*;
use crate::violation::Severity;

/// A trigger with nothing wrong.
pub(crate) fn cron() -> Trigger {
    serde_json::from_value(cron_json()).unwrap()
}

fn cron_json() -> Value {
    let metadata = json!({ "timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "3" });
    json!({ "type": "cron", "metadata": metadata })
}

fn prometheus_json() -> Value {
    let metadata = json!({ "serverAddress": "http://prometheus:9090", "query": "up", "threshold": "5" });
    json!({ "type": "prometheus", "metadata": metadata })
}

/// A trigger with a name, for formulas.
fn load() -> Value {
    let mut trigger = prometheus_json();
    trigger["name"] = json!("load");
    trigger
}

fn cpu_json() -> Value {
    json!({ "type": "cpu", "metricType": "Utilization", "metadata": { "value": "50" } })
}

fn registry() -> Registry {
    Registry::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster))
}

/// A ScaledObject `so` for the Deployment `web` in the namespace `n`, with a cron trigger by default.
fn object(spec: Value) -> ScaledObject {
    let mut spec_json = json!({ "scaleTargetRef": { "name": "web" }, "triggers": [cron_json()] });
    for (key, value) in spec.as_object().unwrap() {
        spec_json[key] = value.clone();
    }
    let metadata = json!({ "namespace": "n", "name": "so" });
    serde_json::from_value(json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata, "spec": spec_json,
    }))
    .unwrap()
}

fn validate(object: &ScaledObject, neighbours: &Neighbours) -> Vec<Violation> {
    scaled_object(&registry(), object, &[], neighbours, Run::Real)
}

/// The violated rules, advice aside.
fn ids(violations: &[Violation]) -> Vec<&'static str> {
    let reported = violations.iter().filter(|violation| violation.rule.severity != Severity::Advice);
    reported.map(|violation| violation.rule.id).collect()
}

#[test]
fn rules_have_unique_ids_and_a_description() {
    let ids: BTreeSet<&str> = ALL.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), ALL.len(), "ids are unique");
    for rule in ALL {
        assert!(
            rule.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
            "{}",
            rule.id
        );
        assert!(!rule.about.is_empty() && !rule.about.ends_with('.') && !rule.about.contains('\n'), "{}", rule.id);
        assert!(rule.counted_as.is_none() || rule.severity == Severity::Error, "{}", rule.id);
    }
}

#[test]
fn every_reason_that_keda_counts_belongs_to_a_rule() {
    let reasons: BTreeSet<&str> = ALL.iter().filter_map(|rule| rule.counted_as).collect();
    let kedas = [
        "hpa-name-too-long",
        "incorrect-fallback",
        "incorrect-replicas",
        "incorrect-triggers",
        "missing-requests",
        "name-too-long",
        "other-hpa",
        "other-scaled-object",
        "other-scaled-object-hpa",
        "scale-to-zero-requirements-not-met",
        "scaling-modifiers",
        "scaling-modifiers-fallback",
        "transfer-ownership-missing-hpa-name",
    ];
    assert_eq!(reasons.into_iter().collect::<Vec<_>>(), kedas);
}

#[test]
fn a_page_lists_every_rule() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/admission.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = ALL.iter().map(|rule| row(rule)).collect();
    assert_eq!(rows, expected, "docs/admission.md must have these rows:\n{}\n", expected.join("\n"));
}

/// A rule as the page lists it.
fn row(rule: &Rule) -> String {
    let severity = match rule.severity {
        Severity::Error => "denied",
        Severity::Warning => "warning",
        Severity::Advice => "`kedge lint` only",
    };
    let counted = rule.counted_as.map_or(String::new(), |reason| format!("`{reason}`"));
    format!("| `{}` | {severity} | {} | {counted} |", rule.id, rule.about)
}
