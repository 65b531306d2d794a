//! The difference between two captures, path by path.

use kedge_tests::compare::{Difference, differences_at, differences_by};
use serde_json::{Value, json};

use crate::case::Free;

/// A difference for a reader: the value of KEDA, and ours.
pub(crate) fn describe(difference: &Difference) -> String {
    let text = |value: &Option<Value>| value.as_ref().map_or("(absent)".to_owned(), written);
    let Difference { path, expected, found } = difference;
    format!("{path}\n  KEDA:  {}\n  Kedge: {}", text(expected), text(found))
}

/// A value as text for a reader. A text is quoted if it could be taken for another value.
pub(crate) fn written(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.trim() == text
        && !text.contains(char::is_control)
        && serde_json::from_str::<Value>(text).is_err()
}

/// A capture in which all texts that the case leaves free are replaced by the same text.
pub(crate) fn freed(capture: &Value, free: &Free) -> Value {
    let mut capture = capture.clone();
    for (_, object) in capture.get_mut("scaledObjects").and_then(Value::as_object_mut).into_iter().flatten() {
        let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten() {
            if free.conditions.iter().any(|kind| condition["type"] == **kind) {
                condition["message"] = json!("<any text>");
            }
        }
    }
    let mut events: Vec<Value> = Vec::new();
    for mut event in capture["events"].as_array().cloned().unwrap_or_default() {
        if free.events.iter().any(|reason| event["reason"] == **reason) {
            event["note"] = json!("<any text>");
        }
        if !events.contains(&event) {
            events.push(event);
        }
    }
    capture["events"] = events.into();
    capture
}

/// All differences between what KEDA did and what Kedge does.
pub(crate) fn differences(keda: &Value, kedge: &Value) -> Vec<Difference> {
    let mut found = differences_by(keda, kedge, compare_list);
    found.retain(|difference| !is_load_of_keda(difference));
    found
}

/// Whether these are numbers of requests to a source, of which Kedge sends no more than KEDA. A tenth is the chance of when the
/// requests fall into the time in which they are counted.
fn is_load_of_keda(difference: &Difference) -> bool {
    let number = |value: &Option<Value>| value.as_ref().and_then(Value::as_u64);
    match (number(&difference.expected), number(&difference.found)) {
        (Some(keda), Some(kedge)) => difference.path.starts_with("requests.") && kedge <= keda + keda / 10,
        _ => false,
    }
}

/// Events and conditions are named by what they are, not by their place in the list.
fn compare_list(path: &str, keda: &[Value], kedge: &[Value]) -> Option<Vec<Difference>> {
    match path {
        "events" => Some(compare_events(keda, kedge)),
        path if path.ends_with(".conditions") => Some(compare_conditions(path, keda, kedge)),
        _ => None,
    }
}

/// Compares conditions by their type, and then their order.
fn compare_conditions(path: &str, old: &[Value], new: &[Value]) -> Vec<Difference> {
    let mut found = Vec::new();
    let kinds = |list: &[Value]| list.iter().map(|condition| condition["type"].clone()).collect::<Vec<_>>();
    let find = |list: &[Value], kind: &Value| list.iter().find(|condition| condition["type"] == *kind).cloned();
    let (old_kinds, new_kinds) = (kinds(old), kinds(new));
    let added = new_kinds.iter().filter(|kind| !old_kinds.contains(kind));
    for kind in old_kinds.iter().chain(added) {
        let below = format!("{path}[{}]", kind.as_str().unwrap_or_default());
        found.extend(differences_at(&below, find(old, kind).as_ref(), find(new, kind).as_ref(), compare_list));
    }
    let common = |list: &[Value], other: &[Value]| -> Value {
        let common = list.iter().filter(|kind| other.contains(kind)).filter_map(Value::as_str);
        common.collect::<Vec<_>>().join(", ").into()
    };
    let (before, now) = (common(&old_kinds, &new_kinds), common(&new_kinds, &old_kinds));
    found.extend(differences_at(&format!("{path}[order]"), Some(&before), Some(&now), compare_list));
    found
}

/// Compares events as sets. Two events that differ only in their note are one difference.
fn compare_events(old: &[Value], new: &[Value]) -> Vec<Difference> {
    let mut found = Vec::new();
    let path = |event: &Value| {
        let [on, kind, reason] = ["on", "type", "reason"].map(|key| event[key].as_str().unwrap_or_default());
        format!("events[{on} {kind} {reason}]")
    };
    let mut added: Vec<&Value> = new.iter().filter(|event| !old.contains(event)).collect();
    for lost in old.iter().filter(|event| !new.contains(event)) {
        let instead = added.iter().position(|event| path(event) == path(lost)).map(|index| added.remove(index));
        let note = instead.map(|event| event["note"].clone());
        found.push(Difference { path: path(lost), expected: Some(lost["note"].clone()), found: note });
    }
    found.extend(added.into_iter().map(|event| Difference {
        path: path(event),
        expected: None,
        found: Some(event["note"].clone()),
    }));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(keda: Value, kedge: Value) -> Vec<String> {
        let line = |difference: &Difference| describe(difference).replace("\n  ", " | ");
        differences(&keda, &kedge).iter().map(line).collect()
    }

    #[test]
    fn equal_captures_have_no_difference() {
        let capture = json!({ "events": [{ "reason": "A" }], "targets": { "Deployment/web": 3 } });
        assert_eq!(described(capture.clone(), capture), Vec::<String>::new());
    }

    #[test]
    fn each_value_that_differs_is_named_by_its_path() {
        let rows = [
            ("a number", json!({ "t": { "web": 3 } }), json!({ "t": { "web": 2 } }), "t.web | KEDA:  3 | Kedge: 2"),
            (
                "a value that is gone",
                json!({ "t": { "web": null } }),
                json!({ "t": {} }),
                "t.web | KEDA:  null | Kedge: (absent)",
            ),
            ("a value that is new", json!({}), json!({ "t": { "a": 1 } }), "t | KEDA:  (absent) | Kedge: {\"a\":1}"),
            ("an element", json!({ "m": [1, 2] }), json!({ "m": [1] }), "m[1] | KEDA:  2 | Kedge: (absent)"),
            ("a text like a number", json!({ "v": "3" }), json!({ "v": 3 }), "v | KEDA:  \"3\" | Kedge: 3"),
        ];
        for (name, keda, kedge, expected) in rows {
            assert_eq!(described(keda, kedge), [expected], "{name}");
        }
    }

    #[test]
    fn a_source_may_be_asked_less_often_and_not_more() {
        let rows = [(20, 5, true), (20, 22, true), (20, 23, false), (0, 1, false), (9, 10, false)];
        for (keda, kedge, expected) in rows {
            let requests = |count: u64| json!({ "requests": { "a": count } });
            assert_eq!(differences(&requests(keda), &requests(kedge)).is_empty(), expected, "{keda} {kedge}");
        }
        assert_eq!(differences(&json!({ "replicas": 2 }), &json!({ "replicas": 1 })).len(), 1);
    }

    #[test]
    fn conditions_are_named_by_their_type_and_keep_their_order() {
        let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status });
        let object = |list: [Value; 2]| json!({ "status": { "conditions": list } });
        let keda = object([condition("Ready", "True"), condition("Active", "True")]);
        let kedge = object([condition("Active", "True"), condition("Ready", "False")]);
        let expected = [
            "status.conditions[Ready].status | KEDA:  True | Kedge: False",
            "status.conditions[order] | KEDA:  Ready, Active | Kedge: Active, Ready",
        ];
        assert_eq!(described(keda, kedge), expected);
    }

    #[test]
    fn events_that_differ_in_their_note_are_one_difference() {
        let event = |reason: &str, note: &str| json!({ "on": "ScaledObject/so", "type": "Normal", "reason": reason, "note": note });
        let keda = json!({ "events": [event("A", "x"), event("B", "y"), event("C", "z")] });
        let kedge = json!({ "events": [event("A", "x"), event("B", "better"), event("D", "new")] });
        let expected = [
            "events[ScaledObject/so Normal B] | KEDA:  y | Kedge: better",
            "events[ScaledObject/so Normal C] | KEDA:  z | Kedge: (absent)",
            "events[ScaledObject/so Normal D] | KEDA:  (absent) | Kedge: new",
        ];
        assert_eq!(described(keda, kedge), expected);
    }

    #[test]
    fn texts_that_are_free_do_not_differ() {
        let free: Free = serde_json::from_value(json!({ "conditions": ["Ready"], "events": ["Failed"] })).unwrap();
        let capture = |words: &str| {
            let conditions = json!([{ "type": "Ready", "message": words }, { "type": "Active", "message": "m" }]);
            let events = json!([{ "reason": "Failed", "note": words }, { "reason": "Failed", "note": "same" }, { "reason": "Other", "note": "n" }]);
            json!({ "scaledObjects": { "so": { "status": { "conditions": conditions } } }, "events": events })
        };
        assert_eq!(freed(&capture("KEDA's"), &free), freed(&capture("ours"), &free));
        assert_ne!(freed(&capture("KEDA's"), &Free::default()), freed(&capture("ours"), &Free::default()));
    }

    #[test]
    fn a_text_that_could_be_another_value_is_quoted() {
        let rows = [
            (json!("True"), "True"),
            (json!("3"), "\"3\""),
            (json!(3), "3"),
            (json!(""), "\"\""),
            (json!("two\nlines"), "\"two\\nlines\""),
            (json!({ "a": [1] }), "{\"a\":[1]}"),
        ];
        for (value, expected) in rows {
            assert_eq!(written(&value), expected);
        }
    }
}
