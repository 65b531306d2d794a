//! Kinds with few rules: ConfigMaps, Secrets, Leases, Services, PodDisruptionBudgets.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_schema::FieldError;
use kedge_schema::names;
use serde_json::{Value, json};

use super::{
    Errors, duplicate, each, entries, forbidden, immutable, invalid, invalid_as, items, required, shown, text,
};
use super::{unsupported, workload};

const DATA_BYTES_MAX: usize = 1024 * 1024;

pub(super) fn config_map(new: &Value, old: Option<&Value>) -> Errors {
    let mut errors = frozen(new, old, &["data", "binaryData"]);
    for field in ["data", "binaryData"] {
        for (key, _) in entries(&new[field]) {
            errors.extend(each(&format!("{field}[{key}]"), &json!(key), names::config_map_key(key)));
            if field == "data" && !new["binaryData"][key].is_null() {
                errors.push(invalid(format!("data[{key}]"), &json!(key), "duplicate of key present in binaryData"));
            }
        }
    }
    let size: usize = entries(&new["data"]).map(|(_, value)| text(value).len()).sum();
    errors.extend(too_long(size + decoded_size(&new["binaryData"]), ""));
    errors
}

/// One of these is enough.
const BASIC: [&str; 2] = ["username", "password"];

pub(super) fn secret(new: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    errors.extend(old.and_then(|old| immutable(&new["type"], &old["type"], "type")));
    errors.extend(frozen(new, old, &["data"]));
    for (key, _) in entries(&new["data"]) {
        errors.extend(each(&format!("data[{key}]"), &json!(key), names::config_map_key(key)));
    }
    errors.extend(too_long(decoded_size(&new["data"]), "data"));
    let wanted: &[&str] = match text(&new["type"]) {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/basic-auth" if BASIC.iter().all(|key| new["data"][*key].is_null()) => &BASIC,
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        _ => &[],
    };
    let missing = wanted.iter().filter(|key| new["data"][**key].is_null());
    errors.extend(missing.map(|key| required(format!("data[{key}]"), "")));
    errors
}

/// What must not change once `immutable` was set.
fn frozen(new: &Value, old: Option<&Value>, fields: &[&str]) -> Errors {
    let Some(old) = old.filter(|old| old["immutable"] == true) else { return Vec::new() };
    let detail = "field is immutable when `immutable` is set";
    let thawed = (new["immutable"] != true).then_some("immutable");
    let changed = fields.iter().copied().filter(|field| new[*field] != old[*field]);
    thawed.into_iter().chain(changed).map(|field| forbidden(field, detail)).collect()
}

fn decoded_size(data: &Value) -> usize {
    entries(data).filter_map(|(_, value)| STANDARD.decode(text(value)).ok()).map(|bytes| bytes.len()).sum()
}

fn too_long(size: usize, field: &str) -> Option<FieldError> {
    let message = format!("Too long: may not be more than {DATA_BYTES_MAX} bytes");
    (size > DATA_BYTES_MAX).then(|| FieldError::new("FieldValueTooLong", field, message))
}

pub(super) fn lease(spec: &Value) -> Errors {
    let mut errors = Vec::new();
    let number = |name: &str| spec[name].as_i64();
    if number("leaseDurationSeconds").is_some_and(|seconds| seconds <= 0) {
        errors.push(invalid("spec.leaseDurationSeconds", &spec["leaseDurationSeconds"], "must be greater than 0"));
    }
    if number("leaseTransitions").is_some_and(|count| count < 0) {
        let detail = "must be greater than or equal to 0";
        errors.push(invalid("spec.leaseTransitions", &spec["leaseTransitions"], detail));
    }
    errors
}

pub(super) fn disruption_budget(spec: &Value) -> Errors {
    let mut errors = Vec::new();
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let names = [
            ("minAvailable", Some("MinAvailable")),
            ("selector", Some("Selector")),
            ("maxUnavailable", Some("MaxUnavailable")),
            ("unhealthyPodEvictionPolicy", Some("UnhealthyPodEvictionPolicy")),
        ];
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(invalid_as("spec", &shown(spec, &names), detail));
    }
    errors.extend(workload::share(&spec["minAvailable"], "spec.minAvailable"));
    errors.extend(workload::share(&spec["maxUnavailable"], "spec.maxUnavailable"));
    errors.extend(workload::label_selector(&spec["selector"], "spec.selector"));
    let policy = &spec["unhealthyPodEvictionPolicy"];
    let choices = ["AlwaysAllow", "IfHealthyBudget"];
    if !policy.is_null() && !choices.contains(&text(policy)) {
        errors.push(unsupported("spec.unhealthyPodEvictionPolicy", policy, &choices));
    }
    errors
}

pub(super) fn service(spec: &Value) -> Errors {
    let mut errors = Vec::new();
    let ports = spec["ports"].as_array().map_or(0, Vec::len);
    if ports == 0 && spec["clusterIP"] != "None" && spec["type"] != "ExternalName" {
        errors.push(required("spec.ports", ""));
    }
    if spec["type"] == "ExternalName" && text(&spec["externalName"]).is_empty() {
        errors.push(required("spec.externalName", ""));
    }
    let mut names = BTreeSet::new();
    for (index, port) in items(&spec["ports"]) {
        let path = format!("spec.ports[{index}]");
        if ports > 1 && text(&port["name"]).is_empty() {
            errors.push(required(format!("{path}.name"), ""));
        }
        errors.extend(service_port(port, &path, &mut names));
    }
    errors
}

fn service_port<'a>(port: &'a Value, path: &str, names: &mut BTreeSet<&'a str>) -> Errors {
    let mut errors = Vec::new();
    let field = |name: &str| format!("{path}.{name}");
    match text(&port["name"]) {
        "" => {}
        name => {
            errors.extend(each(&field("name"), &port["name"], names::dns1123_label(name)));
            if !names.insert(name) {
                errors.push(duplicate(field("name"), &port["name"]));
            }
        }
    }
    let number = port["port"].as_i64().unwrap_or_default();
    errors.extend(each(&field("port"), &json!(number), names::port_number(number)));
    let protocols = ["SCTP", "TCP", "UDP"];
    if !protocols.contains(&text(&port["protocol"])) {
        errors.push(unsupported(field("protocol"), &port["protocol"], &protocols));
    }
    let target = &port["targetPort"];
    let sentences = match target {
        Value::String(name) => names::port_name(name),
        other => names::port_number(other.as_i64().unwrap_or_default()),
    };
    errors.extend(each(&field("targetPort"), target, sentences));
    errors
}
