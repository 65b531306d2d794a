//! Workloads: how they are updated, and jobs.

use serde_json::{Value, json};

use super::{Fields, has, list, object, set, text};

pub(super) fn deployment_strategy(strategy: &mut Fields) {
    rolling_update(strategy, [("maxSurge", json!("25%")), ("maxUnavailable", json!("25%"))]);
}

pub(super) fn daemon_set_strategy(strategy: &mut Fields) {
    rolling_update(strategy, [("maxSurge", json!(0)), ("maxUnavailable", json!(1))]);
}

fn rolling_update(strategy: &mut Fields, defaults: [(&str, Value); 2]) {
    set(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate"
        && let Some(update) = object(strategy, "rollingUpdate")
    {
        defaults.into_iter().for_each(|(name, value)| set(update, name, value));
    }
}

/// Here the details are made up only where no type was given either.
pub(super) fn stateful_set_strategy(strategy: &mut Fields) {
    if !has(strategy, "type") {
        set(strategy, "type", "RollingUpdate");
        set(strategy, "rollingUpdate", Fields::new());
    }
    if text(strategy, "type") == "RollingUpdate"
        && let Some(update) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut)
    {
        set(update, "partition", 0);
    }
}

pub(super) fn stateful_set_claims(spec: &mut Fields) {
    for claim in list(spec, "volumeClaimTemplates") {
        set(claim, "apiVersion", "v1");
        set(claim, "kind", "PersistentVolumeClaim");
    }
}

pub(super) fn job(job: &mut Fields) {
    let Some(spec) = object(job, "spec") else { return };
    if !has(spec, "parallelism") {
        set(spec, "completions", 1);
    }
    let tries = if has(spec, "backoffLimitPerIndex") { i32::MAX } else { 6 };
    let replaced = if has(spec, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    set(spec, "parallelism", 1);
    set(spec, "backoffLimit", tries);
    set(spec, "completionMode", "NonIndexed");
    set(spec, "suspend", false);
    set(spec, "podReplacementPolicy", replaced);
    set(spec, "manualSelector", false);
    take_labels_of_template(job);
}

pub(super) fn replication_controller(controller: &mut Fields) {
    let labels = template_labels(controller);
    if let (Some(labels), Some(spec)) = (labels, object(controller, "spec")) {
        set(spec, "selector", labels);
    }
    take_labels_of_template(controller);
}

fn template_labels(workload: &Fields) -> Option<Value> {
    workload.get("spec")?.pointer("/template/metadata/labels").filter(|labels| labels.is_object()).cloned()
}

fn take_labels_of_template(workload: &mut Fields) {
    let labels = template_labels(workload);
    if let (Some(labels), Some(metadata)) = (labels, object(workload, "metadata")) {
        set(metadata, "labels", labels);
    }
}
