//! Events: what both groups refuse, and what only the newer one does.

use kedge_schema::metadata::{Scope, validate_metadata};
use kedge_schema::names;
use serde_json::Value;

use super::{Errors, each, immutable, invalid, required, text};

/// The group in which an event is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Core,
    /// `events.k8s.io`, which is stricter.
    Events,
}

/// What is wrong with an event, as it is stored.
pub(crate) fn check(group: Group, new: &Value, old: Option<&Value>) -> Errors {
    let mut errors = if new["eventTime"].is_null() { old_style(new) } else { new_style(group, new) };
    match (group, old) {
        (Group::Core, _) => {}
        (Group::Events, None) => {
            errors.extend(validate_metadata(new, Scope::Namespaced, None));
            errors.extend(created(new));
        }
        (Group::Events, Some(old)) => {
            errors.extend(validate_metadata(new, Scope::Namespaced, Some(old)));
            errors.extend(updated(new, old));
        }
    }
    errors
}

fn old_style(new: &Value) -> Errors {
    let (own, of_object) = (text(&new["metadata"]["namespace"]), text(&new["involvedObject"]["namespace"]));
    let fits = if of_object.is_empty() { own == "default" } else { own == of_object };
    if fits { Vec::new() } else { vec![namespace_problem(new)] }
}

fn namespace_problem(new: &Value) -> kedge_schema::FieldError {
    let given = text(&new["involvedObject"]["namespace"]);
    invalid("involvedObject.namespace", &given.into(), "does not match event.namespace")
}

fn new_style(group: Group, new: &Value) -> Errors {
    let mut errors = Vec::new();
    let own = text(&new["metadata"]["namespace"]);
    if text(&new["involvedObject"]["namespace"]).is_empty() && !["default", "kube-system"].contains(&own) {
        errors.push(namespace_problem(new));
    }
    let controller = if group == Group::Core { "reportingComponent" } else { "reportingController" };
    let given = text(&new["reportingComponent"]);
    if given.is_empty() {
        errors.push(required(controller, ""));
    }
    errors.extend(each(controller, &given.into(), names::qualified_name(given)));
    let texts = [("reportingInstance", 128), ("action", 128), ("reason", 128), ("message", 1024)];
    for (field, length_max) in texts {
        let length = text(&new[field]).len();
        if length == 0 && field != "message" {
            errors.push(required(field, ""));
        }
        if length > length_max {
            errors.push(invalid(field, &"".into(), &format!("can have at most {length_max} characters")));
        }
    }
    errors
}

/// The newer group wants the newer fields, and only these.
fn created(new: &Value) -> Errors {
    let mut errors = series(new);
    if new["eventTime"].is_null() {
        errors.push(required("eventTime", ""));
    }
    let kind = text(&new["type"]);
    if !["Normal", "Warning"].contains(&kind) {
        errors.push(invalid("type", &"".into(), &format!("has invalid value: {kind}")));
    }
    let is_unset = |field: &str| match &new[field] {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        value => value == 0,
    };
    let old = ["firstTimestamp", "lastTimestamp", "count", "source"].into_iter().filter(|field| !is_unset(field));
    errors.extend(old.map(|field| invalid(field, &"".into(), "needs to be unset")));
    errors
}

fn updated(new: &Value, old: &Value) -> Errors {
    const FIXED: [&str; 12] = [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingInstance",
    ];
    let mut errors = if new["series"] != old["series"] { series(new) } else { Vec::new() };
    errors.extend(FIXED.iter().filter_map(|field| immutable(&new[*field], &old[*field], field)));
    errors
}

fn series(new: &Value) -> Errors {
    let series = &new["series"];
    let mut errors = Vec::new();
    if series.is_null() {
        return errors;
    }
    if series["count"].as_i64().unwrap_or(0) < 2 {
        errors.push(invalid("series.count", &"".into(), "should be at least 2"));
    }
    if series["lastObservedTime"].is_null() {
        errors.push(required("series.lastObservedTime", ""));
    }
    errors
}
