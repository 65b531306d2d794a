//! Workloads: selectors that fit their templates, and how they are updated.

use kedge_schema::FieldError;
use kedge_schema::metadata::validate_labels;
use kedge_schema::names;
use serde_json::{Value, json};

use super::{
    Errors, each, entries, forbidden, invalid, invalid_as, items, none_negative, not_negative, required, text,
};
use super::{pod, shown, shown_selector, unsupported, unsupported_as};
use crate::api::selector::LabelSelector;

pub(super) fn deployment(new: &Value, old: Option<&Value>) -> Errors {
    let spec = &new["spec"];
    let mut errors = not_negative(&spec["replicas"], "spec.replicas");
    errors.extend(selected_template(spec, "deployment", "ReplicaSet"));
    errors.extend(strategy(&spec["strategy"]));
    errors.extend(none_negative(spec, "spec", &["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"]));
    let ready = spec["minReadySeconds"].as_i64().unwrap_or_default();
    if spec["progressDeadlineSeconds"].as_i64().is_some_and(|deadline| deadline <= ready) {
        let field = "spec.progressDeadlineSeconds";
        errors.push(invalid(field, &spec["progressDeadlineSeconds"], "must be greater than minReadySeconds"));
    }
    errors.extend(same_selector(new, old));
    errors
}

/// A status that is written: no more of anything than there are replicas.
pub(crate) fn deployment_status(new: &Value) -> Errors {
    const COUNTS: [&str; 3] = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    let status = &new["status"];
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    let mut errors = none_negative(status, "status", &["observedGeneration", "replicas"]);
    errors.extend(none_negative(status, "status", &[COUNTS[0], COUNTS[1], COUNTS[2], "unavailableReplicas"]));
    let above = |field: &&&str| count(field) > count("replicas");
    let detail = "cannot be greater than status.replicas";
    errors.extend(
        COUNTS.iter().filter(above).map(|field| invalid(format!("status.{field}"), &json!(count(field)), detail)),
    );
    if count("availableReplicas") > count("readyReplicas") {
        let detail = "cannot be greater than readyReplicas";
        errors.push(invalid("status.availableReplicas", &json!(count("availableReplicas")), detail));
    }
    errors
}

pub(super) fn replica_set(new: &Value, old: Option<&Value>) -> Errors {
    let spec = &new["spec"];
    let mut errors = none_negative(spec, "spec", &["replicas", "minReadySeconds"]);
    errors.extend(selected_template(spec, "deployment", "ReplicaSet"));
    errors.extend(same_selector(new, old));
    errors
}

fn same_selector(new: &Value, old: Option<&Value>) -> Option<FieldError> {
    let (new, old) = (&new["spec"]["selector"], &old?["spec"]["selector"]);
    (new != old).then(|| invalid_as("spec.selector", &shown_selector(new), "field is immutable"))
}

/// What may change of a StatefulSet.
const CHANGEABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

pub(super) fn stateful_set(new: &Value, old: Option<&Value>) -> Errors {
    let spec = &new["spec"];
    let mut errors = Vec::new();
    if !["OrderedReady", "Parallel"].contains(&text(&spec["podManagementPolicy"])) {
        let detail = "must be 'OrderedReady' or 'Parallel'";
        errors.push(invalid("spec.podManagementPolicy", &spec["podManagementPolicy"], detail));
    }
    errors.extend(update_strategy(&spec["updateStrategy"]));
    errors.extend(none_negative(spec, "spec", &["replicas", "minReadySeconds"]));
    if old.is_none() && !text(&spec["serviceName"]).is_empty() {
        errors.extend(each("spec.serviceName", &spec["serviceName"], names::dns1123_label(text(&spec["serviceName"]))));
    }
    errors.extend(selected_template(&with_claims_mounted(spec), "statefulset", "StatefulSet"));
    if old.is_some_and(|old| fixed_part(spec) != fixed_part(&old["spec"])) {
        errors.push(forbidden("spec", "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"));
    }
    errors
}

fn fixed_part(spec: &Value) -> Vec<(&String, &Value)> {
    entries(spec).filter(|(name, value)| !CHANGEABLE.contains(&name.as_str()) && !value.is_null()).collect()
}

/// The claims of a StatefulSet are volumes of its pods.
fn with_claims_mounted(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let claims: Vec<_> =
        items(&spec["volumeClaimTemplates"]).map(|(_, claim)| claim["metadata"]["name"].clone()).collect();
    if let Some(pod) = spec.pointer_mut("/template/spec").filter(|pod| pod.is_object() && !claims.is_empty()) {
        let own = items(&pod["volumes"]).map(|(_, volume)| volume).filter(|volume| !claims.contains(&volume["name"]));
        let volumes: Vec<_> = claims.iter().map(|name| json!({ "name": name })).chain(own.cloned()).collect();
        pod["volumes"] = volumes.into();
    }
    spec
}

fn update_strategy(strategy: &Value) -> Errors {
    let path = "spec.updateStrategy.rollingUpdate";
    let update = &strategy["rollingUpdate"];
    match text(&strategy["type"]) {
        "RollingUpdate" => {
            let mut errors = not_negative(&update["partition"], &format!("{path}.partition"));
            errors.extend(share(&update["maxUnavailable"], &format!("{path}.maxUnavailable")));
            if update["maxUnavailable"] == json!(0) || update["maxUnavailable"] == json!("0%") {
                errors.push(invalid(format!("{path}.maxUnavailable"), &update["maxUnavailable"], "cannot be 0"));
            }
            errors
        }
        "OnDelete" if !update.is_null() => {
            let update = json!({ "partition": update["partition"].as_i64().unwrap_or_default(), "maxUnavailable": update["maxUnavailable"] });
            let shown = shown(&update, &[("partition", Some("Partition")), ("maxUnavailable", Some("MaxUnavailable"))]);
            vec![invalid_as(path, &shown, "only allowed for updateStrategy 'RollingUpdate'")]
        }
        "OnDelete" => Vec::new(),
        _ => {
            vec![invalid_as("spec.updateStrategy", &shown_strategy(strategy), "must be 'RollingUpdate' or 'OnDelete'")]
        }
    }
}

fn strategy(strategy: &Value) -> Errors {
    let path = "spec.strategy.rollingUpdate";
    let update = &strategy["rollingUpdate"];
    match text(&strategy["type"]) {
        "Recreate" if !update.is_null() => {
            vec![forbidden(path, "may not be specified when strategy `type` is 'Recreate'")]
        }
        "Recreate" => Vec::new(),
        "RollingUpdate" => {
            let (unavailable, surge) = (&update["maxUnavailable"], &update["maxSurge"]);
            let field = format!("{path}.maxUnavailable");
            let mut errors = int_or_percent(unavailable, &field);
            errors.extend(int_or_percent(surge, &format!("{path}.maxSurge")));
            if amount(unavailable) == 0 && amount(surge) == 0 {
                errors.push(invalid(&field, unavailable, "may not be 0 when `maxSurge` is 0"));
            }
            errors.extend(at_most_all(unavailable, &field));
            errors
        }
        _ => vec![unsupported_as("spec.strategy", &shown_strategy(strategy), &["Recreate", "RollingUpdate"])],
    }
}

fn shown_strategy(strategy: &Value) -> String {
    shown(strategy, &[("type", Some("Type")), ("rollingUpdate", Some("RollingUpdate"))])
}

/// A number or a percentage of at most all; absent is fine.
pub(super) fn share(value: &Value, field: &str) -> Errors {
    let mut errors = int_or_percent(value, field);
    errors.extend(at_most_all(value, field));
    errors
}

fn int_or_percent(value: &Value, field: &str) -> Errors {
    match value {
        Value::String(text) => each(field, value, names::percent(text)),
        other => not_negative(other, field),
    }
}

fn at_most_all(value: &Value, field: &str) -> Option<FieldError> {
    let percent = value.as_str().filter(|text| names::percent(text).is_empty());
    percent.filter(|_| amount(value) > 100).map(|_| invalid(field, value, "must not be greater than 100%"))
}

/// A number, or that of a percentage.
fn amount(value: &Value) -> i64 {
    match value {
        Value::String(text) => text.trim_end_matches('%').parse().unwrap_or_default(),
        other => other.as_i64().unwrap_or_default(),
    }
}

/// A selector that is not empty, and a template that it selects.
fn selected_template(spec: &Value, kind: &str, owner: &str) -> Errors {
    let selector = &spec["selector"];
    let mut errors = Vec::new();
    match selector.as_object() {
        None => errors.push(required("spec.selector", "")),
        Some(_) => {
            errors.extend(label_selector(selector, "spec.selector"));
            if LabelSelector::from_object(selector).is_ok_and(|selector| selector.is_empty()) {
                errors.push(invalid("spec.selector", selector, &format!("empty selector is invalid for {kind}")));
            }
        }
    }
    match LabelSelector::from_object(selector) {
        Err(_) => errors.push(invalid_as("spec.selector", &shown_selector(selector), "invalid label selector")),
        Ok(selector) => errors.extend(template(&spec["template"], &selector, owner)),
    }
    errors
}

fn template(template: &Value, selector: &LabelSelector, owner: &str) -> Errors {
    let mut errors = Vec::new();
    if !selector.is_empty() && !selector.matches(template) {
        let labels = &template["metadata"]["labels"];
        let field = "spec.template.metadata.labels";
        errors.push(invalid(field, labels, "`selector` does not match template `labels`"));
    }
    errors.extend(pod::template(template, "spec.template"));
    let restart = &template["spec"]["restartPolicy"];
    if text(restart) != "Always" {
        errors.push(unsupported("spec.template.spec.restartPolicy", restart, &["Always"]));
    }
    if !template["spec"]["activeDeadlineSeconds"].is_null() {
        let field = "spec.template.spec.activeDeadlineSeconds";
        errors.push(forbidden(field, &format!("activeDeadlineSeconds in {owner} is not Supported")));
    }
    errors
}

/// What is wrong within a label selector.
pub(super) fn label_selector(selector: &Value, path: &str) -> Errors {
    let mut errors = validate_labels(&selector["matchLabels"], &format!("{path}.matchLabels"));
    for (index, expression) in items(&selector["matchExpressions"]) {
        let path = format!("{path}.matchExpressions[{index}]");
        let values = expression["values"].as_array().is_some_and(|values| !values.is_empty());
        errors.extend(match (text(&expression["operator"]), values) {
            ("In" | "NotIn", false) => {
                Some(required(format!("{path}.values"), "must be specified when `operator` is 'In' or 'NotIn'"))
            }
            ("Exists" | "DoesNotExist", true) => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                Some(forbidden(format!("{path}.values"), detail))
            }
            ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => None,
            _ => Some(invalid(format!("{path}.operator"), &expression["operator"], "not a valid selector operator")),
        });
        errors.extend(each(
            &format!("{path}.key"),
            &expression["key"],
            names::qualified_name(text(&expression["key"])),
        ));
        for (index, value) in items(&expression["values"]) {
            errors.extend(each(&format!("{path}.values[{index}]"), value, names::label_value(text(value))));
        }
    }
    errors
}
