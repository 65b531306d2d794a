//! The validation of a `CustomResourceDefinition`.
//!
//! What all versions have in common, the API server validates once, with paths of its own
//! (`spec.validation`, `spec.subresources`, `spec.additionalPrinterColumns`).

mod defaults;
mod openapi;
mod structural;
mod versions;

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::messages::{child, index, invalid, key, not_supported};
use super::names::{dns1035_label, dns1123_subdomain_in_bytes, joined};
use super::node::{flag, text, texts};
use crate::FieldError;

static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// The field of an object; one without fields if there is none.
fn section<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a Map<String, Value> {
    fields.get(name).and_then(Value::as_object).unwrap_or(&NOTHING)
}

fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    fields.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// All errors of a definition, in the API server's order.
pub(super) fn check(definition: &Value) -> Vec<FieldError> {
    let definition_fields = definition.as_object().unwrap_or(&NOTHING);
    let spec = section(definition_fields, "spec");
    let mut errors = check_name(section(definition_fields, "metadata"), spec);
    errors.extend(check_group_and_scope(spec));
    errors.extend(versions::check(spec));
    errors.extend(check_names(section(spec, "names")));
    errors.extend(versions::check_common(spec));
    errors.extend(check_conversion(spec));
    errors.extend(versions::check_stored(section(definition_fields, "status"), spec));
    errors.extend(check_approval(section(definition_fields, "metadata"), spec));
    if flag(spec, "preserveUnknownFields") {
        if has_defaults(&Value::Object(spec.clone())) {
            let detail = "must be false in order to use defaults in the schema";
            errors.push(invalid("spec.preserveUnknownFields", &Value::from(true), detail));
        }
        let detail =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(invalid("spec.preserveUnknownFields", &Value::from(true), detail));
    }
    errors
}

/// Whether any schema in here has a default.
fn has_defaults(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| name == "default" || has_defaults(value)),
        Value::Array(items) => items.iter().any(has_defaults),
        _ => false,
    }
}

fn check_name(metadata: &Map<String, Value>, spec: &Map<String, Value>) -> Vec<FieldError> {
    let name = text(metadata, "name");
    if name.is_empty() {
        return vec![FieldError::required("metadata.name", "name or generateName is required")];
    }
    let mut violations = dns1123_subdomain_in_bytes(&name);
    if name != format!("{}.{}", text(section(spec, "names"), "plural"), text(spec, "group")) {
        violations.push("must be spec.names.plural+\".\"+spec.group".to_owned());
    }
    let value = Value::from(name);
    violations.iter().map(|violation| invalid("metadata.name", &value, violation)).collect()
}

fn check_group_and_scope(spec: &Map<String, Value>) -> Vec<FieldError> {
    let group = text(spec, "group");
    let violation = match joined(&dns1123_subdomain_in_bytes(&group)) {
        None if !group.contains('.') => Some("should be a domain with at least one dot".to_owned()),
        violation => violation,
    };
    let of_group = match violation {
        _ if group.is_empty() => Some(FieldError::required("spec.group", "")),
        Some(violation) => Some(invalid("spec.group", &Value::from(group), &violation)),
        None => None,
    };
    of_group.into_iter().chain(one_of("spec.scope", &text(spec, "scope"), &["Cluster", "Namespaced"])).collect()
}

fn one_of(field: &str, value: &str, supported: &[&str]) -> Option<FieldError> {
    match value {
        "" => Some(FieldError::required(field, "")),
        _ if supported.contains(&value) => None,
        _ => Some(not_supported(field, &Value::from(value), supported)),
    }
}

/// A missing `singular` and `listKind` are derived from the kind.
fn check_names(names: &Map<String, Value>) -> Vec<FieldError> {
    let kind = text(names, "kind");
    let or = |name: &str, other: String| Some(text(names, name)).filter(|name| !name.is_empty()).unwrap_or(other);
    let list_kind = or("listKind", if kind.is_empty() { String::new() } else { format!("{kind}List") });
    let all = [
        ("plural", text(names, "plural")),
        ("singular", or("singular", kind.to_lowercase())),
        ("kind", kind),
        ("listKind", list_kind),
    ];
    let missing = all.iter().filter(|(_, value)| value.is_empty());
    let mut errors: Vec<FieldError> =
        missing.map(|(name, _)| FieldError::required(child("spec.names", name), "")).collect();
    errors.extend(
        all.iter().filter(|(_, value)| !value.is_empty()).filter_map(|(name, value)| check_one_name(name, value)),
    );
    errors.extend(check_labels(names, "shortNames"));
    if !all[2].1.is_empty() && all[2].1 == all[3].1 {
        errors.push(invalid(
            "spec.names.listKind",
            &Value::from(all[3].1.as_str()),
            "kind and listKind may not be the same",
        ));
    }
    errors.extend(check_labels(names, "categories"));
    errors
}

fn check_one_name(name: &str, value: &str) -> Option<FieldError> {
    let violation = match name {
        "kind" | "listKind" => joined(&dns1035_label(&value.to_lowercase()))
            .map(|violation| format!("may have mixed case, but should otherwise match: {violation}")),
        _ => joined(&dns1035_label(value)),
    };
    violation.map(|violation| invalid(child("spec.names", name), &Value::from(value), &violation))
}

fn check_labels(names: &Map<String, Value>, field: &str) -> Vec<FieldError> {
    let path = child("spec.names", field);
    let labels = texts(names, field);
    let flawed = labels
        .iter()
        .enumerate()
        .filter_map(|(at, label)| joined(&dns1035_label(label)).map(|violation| (at, label, violation)));
    flawed.map(|(at, label, violation)| invalid(index(&path, at), &Value::from(label.as_str()), &violation)).collect()
}

fn check_conversion(spec: &Map<String, Value>) -> Vec<FieldError> {
    let Some(conversion) = spec.get("conversion").and_then(Value::as_object) else { return Vec::new() };
    let strategy = text(conversion, "strategy");
    let mut errors: Vec<FieldError> =
        one_of("spec.conversion.strategy", &strategy, &["None", "Webhook"]).into_iter().collect();
    if strategy == "Webhook" {
        let webhook = section(conversion, "webhook");
        let field = "spec.conversion.webhookClientConfig";
        match webhook.get("clientConfig") {
            None => errors.push(FieldError::required(field, "required when strategy is set to Webhook")),
            Some(config) if config.get("url").is_some() == config.get("service").is_some() => {
                errors.push(FieldError::required(field, "exactly one of url or service is required"));
            }
            Some(_) => {}
        }
        if texts(webhook, "conversionReviewVersions").is_empty() {
            errors.push(FieldError::required("spec.conversion.conversionReviewVersions", ""));
        }
    }
    errors
}

/// Groups of Kubernetes itself need an annotation with a link to the approval.
fn check_approval(metadata: &Map<String, Value>, spec: &Map<String, Value>) -> Option<FieldError> {
    const ANNOTATION: &str = "api-approved.kubernetes.io";
    let group = text(spec, "group");
    let protected =
        ["k8s.io", "kubernetes.io"].iter().any(|owner| group == *owner || group.ends_with(&format!(".{owner}")));
    let missing = text(section(metadata, "annotations"), ANNOTATION).is_empty();
    let detail = format!(
        "protected groups must have approval annotation \"{ANNOTATION}\", see https://github.com/kubernetes/enhancements/pull/1111"
    );
    (protected && missing).then(|| FieldError::required(key("metadata.annotations", ANNOTATION), &detail))
}
