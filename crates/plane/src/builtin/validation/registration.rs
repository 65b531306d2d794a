//! What is registered with the API server: other servers, webhooks, and who may do what.

use serde_json::{Value, json};

use super::{Errors, invalid, invalid_as, items, required, shown, text, unsupported};

pub(super) fn api_service(new: &Value) -> Errors {
    let (name, spec) = (&new["metadata"]["name"], &new["spec"]);
    let mut errors = Vec::new();
    let wanted = format!("{}.{}", text(&spec["version"]), text(&spec["group"]));
    if text(name) != wanted {
        errors.push(invalid("metadata.name", name, &format!("must be `spec.version+\".\"+spec.group`: {wanted:?}")));
    }
    for (field, max) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let priority = spec[field].as_i64().unwrap_or(0);
        if !(1..=max).contains(&priority) {
            let detail = format!("must be positive and less than {max}");
            errors.push(invalid(format!("spec.{field}"), &json!(priority), &detail));
        }
    }
    let parts = ["namespace", "name"].into_iter().filter(|part| text(&spec["service"][*part]).is_empty());
    if spec["service"].is_object() {
        errors.extend(parts.map(|part| required(format!("spec.service.{part}"), "")));
    }
    errors
}

pub(super) fn webhooks(new: &Value) -> Errors {
    items(&new["webhooks"]).flat_map(|(index, webhook)| of_webhook(webhook, &format!("webhooks[{index}]"))).collect()
}

fn of_webhook(webhook: &Value, path: &str) -> Errors {
    let mut errors = Vec::new();
    let field = |name: &str| format!("{path}.{name}");
    if text(&webhook["name"]).split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(invalid(field("name"), &webhook["name"], detail));
    }
    for (name, known) in [("failurePolicy", &["Fail", "Ignore"]), ("sideEffects", &["None", "NoneOnDryRun"])] {
        match text(&webhook[name]) {
            "" if name == "sideEffects" => {
                errors.push(required(field(name), "must specify one of None, NoneOnDryRun"));
            }
            "" => {}
            given if known.contains(&given) => {}
            _ => errors.push(unsupported(field(name), &webhook[name], known)),
        }
    }
    if webhook["timeoutSeconds"].as_i64().is_some_and(|seconds| !(1..=30).contains(&seconds)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(invalid(field("timeoutSeconds"), &webhook["timeoutSeconds"], detail));
    }
    let client = &webhook["clientConfig"];
    if client["url"].is_null() == client["service"].is_null() {
        errors.push(required(field("clientConfig"), "exactly one of url or service is required"));
    }
    if items(&webhook["admissionReviewVersions"]).next().is_none() {
        errors.push(required(field("admissionReviewVersions"), "must specify one of v1, v1beta1"));
    }
    errors
}

/// The role of a binding is immutable.
pub(super) fn role_binding(new: &Value, old: Option<&Value>) -> Errors {
    let names = [("apiGroup", Some("APIGroup")), ("kind", Some("Kind")), ("name", Some("Name"))];
    let changed = old.filter(|old| old["roleRef"] != new["roleRef"]);
    changed
        .map(|_| invalid_as("roleRef", &shown(&new["roleRef"], &names), "cannot change roleRef"))
        .into_iter()
        .collect()
}
