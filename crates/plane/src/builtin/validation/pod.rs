//! Pods and templates of pods: their containers, ports, variables and mounts.

use std::collections::BTreeSet;

use kedge_schema::metadata::{validate_annotations, validate_labels};
use kedge_schema::{FieldError, names};
use serde_json::Value;

use super::{Errors, duplicate, each, forbidden, invalid, items, required, text, unsupported};

/// A template; its labels have another path than they should, as the server has it.
pub(super) fn template(template: &Value, path: &str) -> Errors {
    let mut errors = validate_labels(&template["metadata"]["labels"], &format!("{path}.labels"));
    errors.extend(validate_annotations(&template["metadata"]["annotations"], &format!("{path}.annotations")));
    errors.extend(spec(&template["spec"], &format!("{path}.spec")));
    errors
}

/// A pod, of which little may change.
pub(super) fn pod(new: &Value, old: Option<&Value>) -> Errors {
    let mut errors = spec(&new["spec"], "spec");
    if old.is_some_and(|old| fixed(&new["spec"]) != fixed(&old["spec"])) {
        errors.push(forbidden("spec", "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"));
    }
    errors
}

/// What stays as it is. The scheduler chooses the node once.
fn fixed(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for kind in ["containers", "initContainers"] {
        for container in spec[kind].as_array_mut().into_iter().flatten() {
            container["image"] = Value::Null;
        }
    }
    for field in
        ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "nodeName", "schedulingGates"]
    {
        spec[field] = Value::Null;
    }
    spec
}

pub(super) fn spec(spec: &Value, path: &str) -> Errors {
    let (mut errors, volumes) = volumes(&spec["volumes"], &format!("{path}.volumes"));
    let field = format!("{path}.containers");
    let mut names = BTreeSet::new();
    if spec["containers"].as_array().is_none_or(Vec::is_empty) {
        errors.push(required(&field, ""));
    }
    errors.extend(containers(&spec["containers"], &field, &volumes, &mut names));
    errors.extend(containers(&spec["initContainers"], &format!("{path}.initContainers"), &volumes, &mut names));
    errors.extend(choice(&spec["restartPolicy"], &format!("{path}.restartPolicy"), &["Always", "OnFailure", "Never"]));
    let dns = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    errors.extend(choice(&spec["dnsPolicy"], &format!("{path}.dnsPolicy"), &dns));
    errors.extend(validate_labels(&spec["nodeSelector"], &format!("{path}.nodeSelector")));
    errors.extend(name(&spec["serviceAccountName"], &format!("{path}.serviceAccountName"), names::dns1123_subdomain));
    errors.extend(name(&spec["nodeName"], &format!("{path}.nodeName"), names::dns1123_subdomain));
    errors.extend(name(&spec["hostname"], &format!("{path}.hostname"), names::dns1123_label));
    errors.extend(name(&spec["subdomain"], &format!("{path}.subdomain"), names::dns1123_label));
    errors
}

/// A name that may be absent.
fn name(value: &Value, field: &str, format: fn(&str) -> Vec<String>) -> Errors {
    if text(value).is_empty() { Vec::new() } else { each(field, value, format(text(value))) }
}

/// One of a few words.
fn choice(value: &Value, field: &str, supported: &[&str]) -> Option<FieldError> {
    match text(value) {
        "" => Some(required(field, "")),
        text => (!supported.contains(&text)).then(|| unsupported(field, value, supported)),
    }
}

/// The names of the volumes that are in order.
fn volumes<'a>(volumes: &'a Value, path: &str) -> (Errors, BTreeSet<&'a str>) {
    let mut all = Vec::new();
    let mut names = BTreeSet::new();
    for (index, volume) in items(volumes) {
        let field = format!("{path}[{index}].name");
        let name = text(&volume["name"]);
        let mut errors = required_label(&volume["name"], &field);
        if names.contains(name) {
            errors.push(duplicate(&field, &volume["name"]));
        }
        if errors.is_empty() {
            names.insert(name);
        }
        all.extend(errors);
    }
    (all, names)
}

/// A name that must be given.
fn required_label(value: &Value, field: &str) -> Errors {
    if text(value).is_empty() {
        vec![required(field, "")]
    } else {
        each(field, value, names::dns1123_label(text(value)))
    }
}

fn containers<'a>(list: &'a Value, path: &str, volumes: &BTreeSet<&str>, names: &mut BTreeSet<&'a str>) -> Errors {
    let mut errors = Vec::new();
    for (index, one) in items(list) {
        let path = format!("{path}[{index}]");
        errors.extend(container(one, &path, volumes));
        if !names.insert(text(&one["name"])) {
            errors.push(duplicate(format!("{path}.name"), &one["name"]));
        }
    }
    errors
}

fn container(container: &Value, path: &str, volumes: &BTreeSet<&str>) -> Errors {
    let mut errors = required_label(&container["name"], &format!("{path}.name"));
    if text(&container["image"]).is_empty() {
        errors.push(required(format!("{path}.image"), ""));
    }
    let messages = ["File", "FallbackToLogsOnError"];
    let field = format!("{path}.terminationMessagePolicy");
    errors.extend(choice(&container["terminationMessagePolicy"], &field, &messages));
    errors.extend(ports(&container["ports"], &format!("{path}.ports")));
    errors.extend(items(&container["env"]).flat_map(|(index, one)| variable(one, &format!("{path}.env[{index}]"))));
    errors.extend(mounts(&container["volumeMounts"], &format!("{path}.volumeMounts"), volumes));
    let policies = ["Always", "IfNotPresent", "Never"];
    errors.extend(choice(&container["imagePullPolicy"], &format!("{path}.imagePullPolicy"), &policies));
    errors
}

fn ports(ports: &Value, path: &str) -> Errors {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (index, port) in items(ports) {
        let path = format!("{path}[{index}]");
        let name = text(&port["name"]);
        let bad = if name.is_empty() { Vec::new() } else { names::port_name(name) };
        if bad.is_empty() && !name.is_empty() && !names.insert(name) {
            errors.push(duplicate(format!("{path}.name"), &port["name"]));
        }
        errors.extend(each(&format!("{path}.name"), &port["name"], bad));
        errors.extend(port_numbers(port, &path));
        errors.extend(choice(&port["protocol"], &format!("{path}.protocol"), &["SCTP", "TCP", "UDP"]));
    }
    errors
}

fn port_numbers(port: &Value, path: &str) -> Errors {
    let number = |name: &str| port[name].as_i64().unwrap_or_default();
    let field = |name: &str| format!("{path}.{name}");
    let mut errors = match number("containerPort") {
        0 => vec![required(field("containerPort"), "")],
        number => each(&field("containerPort"), &port["containerPort"], names::port_number(number)),
    };
    if number("hostPort") != 0 {
        errors.extend(each(&field("hostPort"), &port["hostPort"], names::port_number(number("hostPort"))));
    }
    errors
}

fn variable(variable: &Value, path: &str) -> Errors {
    const SAYS: &str =
        "a valid environment variable name must consist only of printable ASCII characters other than '='";
    let field = format!("{path}.name");
    let name = text(&variable["name"]);
    let printable = name.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    let mut errors = match (name, printable) {
        ("", _) => vec![required(&field, "")],
        (_, false) => vec![invalid(&field, &variable["name"], SAYS)],
        _ => Vec::new(),
    };
    if !variable["valueFrom"].is_null() && !text(&variable["value"]).is_empty() {
        let detail = "may not be specified when `value` is not empty";
        errors.push(invalid(format!("{path}.valueFrom"), &"".into(), detail));
    }
    errors
}

fn mounts(mounts: &Value, path: &str, volumes: &BTreeSet<&str>) -> Errors {
    let mut errors = Vec::new();
    let mut paths = BTreeSet::new();
    for (index, mount) in items(mounts) {
        let (name, place) = (text(&mount["name"]), text(&mount["mountPath"]));
        let field = |name: &str| format!("{path}[{index}].{name}");
        if name.is_empty() {
            errors.push(required(field("name"), ""));
        }
        if !volumes.contains(name) {
            let message = format!("Not found: {:?}", name);
            errors.push(FieldError::new("FieldValueNotFound", field("name"), message));
        }
        if place.is_empty() {
            errors.push(required(field("mountPath"), ""));
        }
        if !paths.insert(place) {
            errors.push(invalid(field("mountPath"), &mount["mountPath"], "must be unique"));
        }
    }
    errors
}
