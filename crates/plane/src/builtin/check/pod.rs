//! Pods and templates of pods: their containers, ports, variables and mounts.

use std::collections::BTreeSet;

use kedge_schema::metadata::{validate_annotations, validate_labels};
use kedge_schema::{FieldError, names};
use serde_json::Value;

use super::{Problems, duplicate, each, forbidden, invalid, items, required, text, unsupported};

/// A template; its labels have another path than they should, as the server has it.
pub(super) fn template(template: &Value, path: &str) -> Problems {
    let mut problems = validate_labels(&template["metadata"]["labels"], &format!("{path}.labels"));
    problems.extend(validate_annotations(&template["metadata"]["annotations"], &format!("{path}.annotations")));
    problems.extend(spec(&template["spec"], &format!("{path}.spec")));
    problems
}

/// A pod, of which little may change.
pub(super) fn pod(new: &Value, old: Option<&Value>) -> Problems {
    let mut problems = spec(&new["spec"], "spec");
    if old.is_some_and(|old| fixed(&new["spec"]) != fixed(&old["spec"])) {
        problems.push(forbidden("spec", "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"));
    }
    problems
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

pub(super) fn spec(spec: &Value, path: &str) -> Problems {
    let (mut problems, volumes) = volumes(&spec["volumes"], &format!("{path}.volumes"));
    let field = format!("{path}.containers");
    let mut names = BTreeSet::new();
    if spec["containers"].as_array().is_none_or(Vec::is_empty) {
        problems.push(required(&field, ""));
    }
    problems.extend(containers(&spec["containers"], &field, &volumes, &mut names));
    problems.extend(containers(&spec["initContainers"], &format!("{path}.initContainers"), &volumes, &mut names));
    problems.extend(choice(
        &spec["restartPolicy"],
        &format!("{path}.restartPolicy"),
        &["Always", "OnFailure", "Never"],
    ));
    let dns = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    problems.extend(choice(&spec["dnsPolicy"], &format!("{path}.dnsPolicy"), &dns));
    problems.extend(validate_labels(&spec["nodeSelector"], &format!("{path}.nodeSelector")));
    problems.extend(name(&spec["serviceAccountName"], &format!("{path}.serviceAccountName"), names::dns1123_subdomain));
    problems.extend(name(&spec["nodeName"], &format!("{path}.nodeName"), names::dns1123_subdomain));
    problems.extend(name(&spec["hostname"], &format!("{path}.hostname"), names::dns1123_label));
    problems.extend(name(&spec["subdomain"], &format!("{path}.subdomain"), names::dns1123_label));
    problems
}

/// A name that may be absent.
fn name(value: &Value, field: &str, format: fn(&str) -> Vec<String>) -> Problems {
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
fn volumes<'a>(volumes: &'a Value, path: &str) -> (Problems, BTreeSet<&'a str>) {
    let mut all = Vec::new();
    let mut names = BTreeSet::new();
    for (index, volume) in items(volumes) {
        let field = format!("{path}[{index}].name");
        let name = text(&volume["name"]);
        let mut problems = required_label(&volume["name"], &field);
        if names.contains(name) {
            problems.push(duplicate(&field, &volume["name"]));
        }
        if problems.is_empty() {
            names.insert(name);
        }
        all.extend(problems);
    }
    (all, names)
}

/// A name that must be given.
fn required_label(value: &Value, field: &str) -> Problems {
    if text(value).is_empty() {
        vec![required(field, "")]
    } else {
        each(field, value, names::dns1123_label(text(value)))
    }
}

fn containers<'a>(list: &'a Value, path: &str, volumes: &BTreeSet<&str>, names: &mut BTreeSet<&'a str>) -> Problems {
    let mut problems = Vec::new();
    for (index, one) in items(list) {
        let path = format!("{path}[{index}]");
        problems.extend(container(one, &path, volumes));
        if !names.insert(text(&one["name"])) {
            problems.push(duplicate(format!("{path}.name"), &one["name"]));
        }
    }
    problems
}

fn container(container: &Value, path: &str, volumes: &BTreeSet<&str>) -> Problems {
    let mut problems = required_label(&container["name"], &format!("{path}.name"));
    if text(&container["image"]).is_empty() {
        problems.push(required(format!("{path}.image"), ""));
    }
    let messages = ["File", "FallbackToLogsOnError"];
    let field = format!("{path}.terminationMessagePolicy");
    problems.extend(choice(&container["terminationMessagePolicy"], &field, &messages));
    problems.extend(ports(&container["ports"], &format!("{path}.ports")));
    problems.extend(items(&container["env"]).flat_map(|(index, one)| variable(one, &format!("{path}.env[{index}]"))));
    problems.extend(mounts(&container["volumeMounts"], &format!("{path}.volumeMounts"), volumes));
    let policies = ["Always", "IfNotPresent", "Never"];
    problems.extend(choice(&container["imagePullPolicy"], &format!("{path}.imagePullPolicy"), &policies));
    problems
}

fn ports(ports: &Value, path: &str) -> Problems {
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for (index, port) in items(ports) {
        let path = format!("{path}[{index}]");
        let name = text(&port["name"]);
        let bad = if name.is_empty() { Vec::new() } else { names::port_name(name) };
        if bad.is_empty() && !name.is_empty() && !names.insert(name) {
            problems.push(duplicate(format!("{path}.name"), &port["name"]));
        }
        problems.extend(each(&format!("{path}.name"), &port["name"], bad));
        problems.extend(port_numbers(port, &path));
        problems.extend(choice(&port["protocol"], &format!("{path}.protocol"), &["SCTP", "TCP", "UDP"]));
    }
    problems
}

fn port_numbers(port: &Value, path: &str) -> Problems {
    let number = |name: &str| port[name].as_i64().unwrap_or_default();
    let field = |name: &str| format!("{path}.{name}");
    let mut problems = match number("containerPort") {
        0 => vec![required(field("containerPort"), "")],
        number => each(&field("containerPort"), &port["containerPort"], names::port_number(number)),
    };
    if number("hostPort") != 0 {
        problems.extend(each(&field("hostPort"), &port["hostPort"], names::port_number(number("hostPort"))));
    }
    problems
}

fn variable(variable: &Value, path: &str) -> Problems {
    const SAYS: &str =
        "a valid environment variable name must consist only of printable ASCII characters other than '='";
    let field = format!("{path}.name");
    let name = text(&variable["name"]);
    let printable = name.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    let mut problems = match (name, printable) {
        ("", _) => vec![required(&field, "")],
        (_, false) => vec![invalid(&field, &variable["name"], SAYS)],
        _ => Vec::new(),
    };
    if !variable["valueFrom"].is_null() && !text(&variable["value"]).is_empty() {
        let detail = "may not be specified when `value` is not empty";
        problems.push(invalid(format!("{path}.valueFrom"), &"".into(), detail));
    }
    problems
}

fn mounts(mounts: &Value, path: &str, volumes: &BTreeSet<&str>) -> Problems {
    let mut problems = Vec::new();
    let mut paths = BTreeSet::new();
    for (index, mount) in items(mounts) {
        let (name, place) = (text(&mount["name"]), text(&mount["mountPath"]));
        let field = |name: &str| format!("{path}[{index}].{name}");
        if name.is_empty() {
            problems.push(required(field("name"), ""));
        }
        if !volumes.contains(name) {
            let message = format!("Not found: {:?}", name);
            problems.push(FieldError::new("FieldValueNotFound", field("name"), message));
        }
        if place.is_empty() {
            problems.push(required(field("mountPath"), ""));
        }
        if !paths.insert(place) {
            problems.push(invalid(field("mountPath"), &mount["mountPath"], "must be unique"));
        }
    }
    problems
}
