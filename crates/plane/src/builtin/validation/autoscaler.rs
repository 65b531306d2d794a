//! Horizontal pod autoscalers: bounds, the target, metrics and behaviour.

use kedge_core::quantity::Quantity;
use kedge_schema::names;
use serde_json::{Value, json};

use super::{Errors, each, forbidden, invalid, items, required, text, unsupported};

pub(super) fn check(new: &Value, old: Option<&Value>) -> Errors {
    let (spec, old) = (&new["spec"], old.map(|old| &old["spec"]));
    let mut errors = bounds(spec, old);
    let target = &spec["scaleTargetRef"];
    errors.extend(reference(target, "spec.scaleTargetRef", target_version(target, old)));
    errors.extend(metrics(spec));
    for direction in ["scaleUp", "scaleDown"] {
        let rules = &spec["behavior"][direction];
        if !rules.is_null() {
            errors.extend(scaling_rules(rules, &format!("spec.behavior.{direction}")));
        }
    }
    errors
}

fn bounds(spec: &Value, old: Option<&Value>) -> Errors {
    // Zero is for those who have it already: scaling to zero is behind a switch that is off.
    let lowest = if old.is_some_and(|old| old["minReplicas"] == json!(0)) { 0 } else { 1 };
    let (min, max) = (spec["minReplicas"].as_i64(), spec["maxReplicas"].as_i64().unwrap_or_default());
    let mut errors = Vec::new();
    if min.is_some_and(|min| min < lowest) {
        let detail = format!("must be greater than or equal to {lowest}");
        errors.push(invalid("spec.minReplicas", &spec["minReplicas"], &detail));
    }
    match max {
        0 => errors.push(required("spec.maxReplicas", "must be set and greater than 0")),
        max if max < 0 => {
            errors.push(invalid("spec.maxReplicas", &json!(max), "must be greater than or equal to 1"));
        }
        _ => {}
    }
    if min.is_some_and(|min| max < min) {
        errors.push(invalid("spec.maxReplicas", &json!(max), "must be greater than or equal to `minReplicas`"));
    }
    errors
}

/// What is asked of the version of an object that is referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Any,
    WellFormed,
    /// With a group.
    OfGroup,
}

/// An unchanged target is not validated again, and only one kind of the core group can be scaled.
fn target_version(target: &Value, old: Option<&Value>) -> Version {
    let same = |old: &Value| ["apiVersion", "kind"].iter().all(|name| old["scaleTargetRef"][*name] == target[*name]);
    match old {
        Some(old) if same(old) => Version::Any,
        _ if target["kind"] == "ReplicationController" => Version::WellFormed,
        _ => Version::OfGroup,
    }
}

fn reference(reference: &Value, path: &str, version: Version) -> Errors {
    let mut errors = Vec::new();
    for name in ["kind", "name"] {
        let field = format!("{path}.{name}");
        match text(&reference[name]) {
            "" => errors.push(required(field, "")),
            text => errors.extend(each(&field, &reference[name], names::path_segment(text))),
        }
    }
    let given = text(&reference["apiVersion"]);
    let detail = match (version, given.matches('/').count()) {
        (Version::OfGroup, 0) => "apiVersion must specify API group".to_owned(),
        (Version::OfGroup | Version::WellFormed, 2..) => format!("unexpected GroupVersion string: {given}"),
        _ => return errors,
    };
    errors.push(invalid(format!("{path}.apiVersion"), &given.into(), &detail));
    errors
}

fn metrics(spec: &Value) -> Errors {
    let metrics = &spec["metrics"];
    let mut errors: Errors =
        items(metrics).flat_map(|(index, one)| metric(one, &format!("spec.metrics[{index}]"))).collect();
    let from_elsewhere = items(metrics).any(|(_, metric)| ["Object", "External"].contains(&text(&metric["type"])));
    if spec["minReplicas"] == json!(0) && !from_elsewhere {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(forbidden("spec.metrics", detail));
    }
    errors
}

/// The metric sources: field and type, in the order of validation.
const SOURCES: [(&str, &str); 5] = [
    ("object", "Object"),
    ("external", "External"),
    ("pods", "Pods"),
    ("resource", "Resource"),
    ("containerResource", "ContainerResource"),
];

const SOURCE_TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

fn metric(metric: &Value, path: &str) -> Errors {
    let field = format!("{path}.type");
    let kind = text(&metric["type"]);
    let known = SOURCE_TYPES.contains(&kind);
    let mut errors = Vec::new();
    if kind.is_empty() {
        errors.push(required(&field, "must specify a metric source type"));
    }
    if !known {
        errors.push(unsupported(&field, &metric["type"], &SOURCE_TYPES));
    }
    let given: Vec<_> = SOURCES.iter().map(|(name, _)| *name).filter(|name| !metric[*name].is_null()).collect();
    if let Some(first) = given.first() {
        errors.extend(source(first, &metric[*first], &format!("{path}.{first}")));
    }
    let expected = SOURCES.iter().find(|(_, other)| *other == kind).map(|(name, _)| *name);
    match expected {
        Some(name) if metric[name].is_null() => {
            errors.push(required(format!("{path}.{name}"), "must populate information for the given metric source"));
        }
        Some(_) => {}
        None => errors.push(unsupported(&field, &metric["type"], &SOURCE_TYPES)),
    }
    if given.len() != 1 {
        let others = given.iter().filter(|name| Some(**name) != expected);
        let detail = "must populate the given metric source only";
        errors.extend(others.map(|name| forbidden(format!("{path}.{name}"), detail)));
    }
    errors
}

fn source(kind: &str, source: &Value, path: &str) -> Errors {
    let mut errors = Vec::new();
    if kind == "object" {
        let field = format!("{path}.describedObject");
        errors.extend(reference(&source["describedObject"], &field, Version::WellFormed));
    }
    match kind {
        "resource" | "containerResource" => errors.extend(resource_name(kind, source, path)),
        _ => errors.extend(identifier(&source["metric"], &format!("{path}.metric"))),
    }
    errors.extend(target(&source["target"], &format!("{path}.target")));
    errors.extend(target_fits(kind, &source["target"], &format!("{path}.target")));
    errors
}

fn resource_name(kind: &str, source: &Value, path: &str) -> Errors {
    let mut errors = Vec::new();
    if text(&source["name"]).is_empty() {
        errors.push(required(format!("{path}.name"), "must specify a resource name"));
    }
    if kind == "containerResource" {
        let field = format!("{path}.container");
        match text(&source["container"]) {
            "" => errors.push(required(field, "must specify a container")),
            name => errors.extend(each(&field, &source["container"], names::dns1123_label(name))),
        }
    }
    errors
}

fn identifier(metric: &Value, path: &str) -> Errors {
    let field = format!("{path}.name");
    match text(&metric["name"]) {
        "" => vec![required(field, "must specify a metric name")],
        name => each(&field, &metric["name"], names::path_segment(name)),
    }
}

fn target(target: &Value, path: &str) -> Errors {
    let mut errors = Vec::new();
    let field = |name: &str| format!("{path}.{name}");
    let kind = text(&target["type"]);
    if kind.is_empty() {
        errors.push(required(field("type"), "must specify a metric target type"));
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        errors.push(invalid(field("type"), &kind.into(), "must be either Utilization, Value, or AverageValue"));
    }
    for name in ["value", "averageValue"] {
        if target[name].as_str().is_some_and(|text| !is_positive(text)) {
            errors.push(invalid(field(name), &target[name], "must be positive"));
        }
    }
    if target["averageUtilization"].as_i64().is_some_and(|percent| percent < 1) {
        errors.push(invalid(field("averageUtilization"), &target["averageUtilization"], "must be greater than 0"));
    }
    errors
}

fn is_positive(text: &str) -> bool {
    let zero = Quantity::from_milli(0);
    Quantity::parse(text).is_ok_and(|quantity| quantity.cmp_value(&zero).is_gt())
}

/// Whether a target has the one amount that its source needs.
fn target_fits(kind: &str, target: &Value, path: &str) -> Errors {
    let has = |name: &str| !target[name].is_null();
    let field = |name: &str| format!("{path}.{name}");
    let either = has("value") || has("averageValue");
    let problem = match kind {
        "object" if !either => Some(required(field("averageValue"), "must set either a target value or averageValue")),
        "external" if !either => {
            let detail = "must set either a target value for metric or a per-pod target";
            Some(required(field("averageValue"), detail))
        }
        "external" if has("value") && has("averageValue") => {
            let detail = "may not set both a target value for metric and a per-pod target";
            Some(forbidden(field("value"), detail))
        }
        "pods" if !has("averageValue") => {
            Some(required(field("averageValue"), "must specify a positive target averageValue"))
        }
        "resource" | "containerResource" => match (has("averageUtilization"), has("averageValue")) {
            (false, false) => {
                let detail = "must set either a target raw value or a target utilization";
                Some(required(field("averageUtilization"), detail))
            }
            (true, true) => {
                let detail = "may not set both a target raw value and a target utilization";
                Some(forbidden(field("averageValue"), detail))
            }
            _ => None,
        },
        _ => None,
    };
    problem.into_iter().collect()
}

const WINDOW_SECONDS_MAX: i64 = 3600;
const PERIOD_SECONDS_MAX: i64 = 1800;

fn scaling_rules(rules: &Value, path: &str) -> Errors {
    let mut errors = Vec::new();
    let window = &rules["stabilizationWindowSeconds"];
    let field = format!("{path}.stabilizationWindowSeconds");
    match window.as_i64() {
        Some(seconds) if seconds < 0 => {
            errors.push(invalid(field, window, "must be greater than or equal to zero"));
        }
        Some(seconds) if seconds > WINDOW_SECONDS_MAX => {
            errors.push(invalid(field, window, &format!("must be less than or equal to {WINDOW_SECONDS_MAX}")));
        }
        _ => {}
    }
    let choices = ["Disabled", "Max", "Min"];
    if !rules["selectPolicy"].is_null() && !choices.contains(&text(&rules["selectPolicy"])) {
        errors.push(unsupported(format!("{path}.selectPolicy"), &rules["selectPolicy"], &choices));
    }
    if rules["policies"].as_array().is_none_or(Vec::is_empty) {
        errors.push(required(format!("{path}.policies"), "must specify at least one Policy"));
    }
    errors.extend(items(&rules["policies"]).flat_map(|(index, one)| policy(one, &format!("{path}.policies[{index}]"))));
    let tolerance = rules["tolerance"].as_str().and_then(|text| Quantity::parse(text).ok());
    if tolerance.is_some_and(|tolerance| tolerance.cmp_value(&Quantity::from_milli(0)).is_lt()) {
        errors.push(invalid(format!("{path}.tolerance"), &rules["tolerance"], "must be greater than or equal to 0"));
    }
    errors
}

fn policy(policy: &Value, path: &str) -> Errors {
    let mut errors = Vec::new();
    let number = |name: &str| policy[name].as_i64().unwrap_or_default();
    let choices = ["Percent", "Pods"];
    if !choices.contains(&text(&policy["type"])) {
        errors.push(unsupported(format!("{path}.type"), &policy["type"], &choices));
    }
    for name in ["value", "periodSeconds"] {
        if number(name) <= 0 {
            errors.push(invalid(format!("{path}.{name}"), &json!(number(name)), "must be greater than zero"));
        }
    }
    let period = number("periodSeconds");
    if period > PERIOD_SECONDS_MAX {
        let detail = format!("must be less than or equal to {PERIOD_SECONDS_MAX}");
        errors.push(invalid(format!("{path}.periodSeconds"), &json!(period), &detail));
    }
    errors
}
