//! The normal form of captured objects: without what differs from run to run, from operator to operator, or at random.
//!
//! Times, uids and versions are removed; quantities are plain decimals; the number of failures is replaced by whether it passed
//! the threshold; an operator's own name and version on its HPAs are hidden.

use std::sync::LazyLock;

use kedge_core::quantity::Quantity;
use regex::Regex;
use serde_json::{Map, Value, json};

/// Replacements in every text: addresses and names, longest first where one contains another.
#[derive(Debug)]
pub(crate) struct Replacements(Vec<(String, &'static str)>);

impl Replacements {
    /// The replacements of a case in this namespace, with sources at these addresses.
    pub(crate) fn new(namespace: &str, http: &str, grpc: &str) -> Self {
        Self(vec![
            (namespace.to_owned(), "${NS}"),
            (format!("http://{http}"), "${HTTP}"),
            (http.to_owned(), "${HTTP_ADDRESS}"),
            (grpc.to_owned(), "${GRPC}"),
        ])
    }

    /// Replaces them in all texts, keys included.
    pub(crate) fn normal(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.normal(item)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.iter().map(|(key, value)| (self.text(key), self.normal(value))).collect())
            }
            other => other.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        static RULES: LazyLock<[(Regex, &str); 3]> = LazyLock::new(|| {
            let rule = |pattern: &str, word| (Regex::new(pattern).expect("a pattern"), word);
            [
                rule("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>"),
                rule(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z", "<time>"),
                rule("127[.]0[.]0[.]1:[0-9]{4,5}->", "127.0.0.1:<port>->"),
            ]
        });
        let text = self.0.iter().fold(text.to_owned(), |text, (found, word)| text.replace(found, word));
        RULES.iter().fold(text, |text, (pattern, word)| pattern.replace_all(&text, *word).into_owned())
    }
}

/// A ScaledObject: labels, finalizers and status.
pub(crate) fn scaled_object(object: &Value) -> Value {
    let mut status = object["status"].clone();
    if status.is_null() {
        status = json!({});
    }
    if status.get("lastActiveTime").is_some() {
        status["lastActiveTime"] = json!("<set>");
    }
    let threshold = object["spec"]["fallback"]["failureThreshold"].as_i64().unwrap_or(0);
    for (_, health) in status.get_mut("health").and_then(Value::as_object_mut).into_iter().flatten() {
        health["numberOfFailures"] = match health["numberOfFailures"].as_i64().unwrap_or(0) {
            0 => json!(0),
            some if some > threshold => json!("<above threshold>"),
            _ => json!("<up to threshold>"),
        };
    }
    let metadata = &object["metadata"];
    json!({
        "labels": or_empty(&metadata["labels"], json!({})),
        "finalizers": or_empty(&metadata["finalizers"], json!([])),
        "deleting": metadata.get("deletionTimestamp").is_some(),
        "status": status,
    })
}

/// An HPA: labels, annotations, owners, spec, and whether it scales.
pub(crate) fn hpa(hpa: &Value) -> Value {
    let metadata = &hpa["metadata"];
    let mut labels = or_empty(&metadata["labels"], json!({}));
    for key in ["app.kubernetes.io/version", "app.kubernetes.io/managed-by"] {
        if labels.get(key).is_some() {
            labels[key] = json!("<operator>");
        }
    }
    let mut owners = or_empty(&metadata["ownerReferences"], json!([]));
    for owner in owners.as_array_mut().into_iter().flatten() {
        owner.as_object_mut().expect("an owner is an object").remove("uid");
    }
    let conditions = hpa["status"]["conditions"].as_array().into_iter().flatten();
    let active = conditions.into_iter().find(|condition| condition["type"] == "ScalingActive");
    json!({
        "labels": labels,
        "annotations": or_empty(&metadata["annotations"], json!({})),
        "ownerReferences": owners,
        "spec": with_quantities(&hpa["spec"]),
        "scalingActive": active.map(|active| json!({ "status": active["status"], "reason": active["reason"] })),
    })
}

/// An event: its object, type, reason and note. `None` for an event that occurs at random.
///
/// KEDA: of several `Scaler TYPE is built` the API keeps the one that was written first. A poll that is cut off may leave
/// `context canceled` behind.
pub(crate) fn event(event: &Value) -> Option<Value> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (note, regarding) = (text(&event["note"]), &event["regarding"]);
    let built = note.strip_prefix("Scaler ").and_then(|rest| rest.strip_suffix(" is built"));
    let note = if built.is_some_and(|kind| !kind.contains(' ')) { "Scaler <type> is built".to_owned() } else { note };
    let on = format!("{}/{}", text(&regarding["kind"]), text(&regarding["name"]));
    let normal = json!({ "on": on, "type": event["type"], "reason": event["reason"], "note": note });
    (!note.contains("context canceled")).then_some(normal)
}

/// A quantity as a plain decimal of up to three places: `2500m`, `2.500` and `2500e-3` are all 2.5. Other texts are unchanged.
pub(crate) fn quantity(text: &str) -> String {
    let Ok(quantity) = Quantity::parse(text) else { return text.to_owned() };
    let milli = quantity.milli_value();
    let sign = if milli < 0 { "-" } else { "" };
    let digits = format!("{sign}{}.{:03}", milli.unsigned_abs() / 1000, milli.unsigned_abs() % 1000);
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn with_quantities(value: &Value) -> Value {
    let field = |(key, value): (&String, &Value)| match value {
        Value::String(text) if ["averageValue", "value", "tolerance"].contains(&key.as_str()) => {
            (key.clone(), quantity(text).into())
        }
        other => (key.clone(), with_quantities(other)),
    };
    match value {
        Value::Object(fields) => Value::Object(fields.iter().map(field).collect::<Map<_, _>>()),
        Value::Array(items) => items.iter().map(with_quantities).collect(),
        other => other.clone(),
    }
}

fn or_empty(value: &Value, empty: Value) -> Value {
    if value.is_null() { empty } else { value.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_of_one_amount_have_one_spelling() {
        let rows = [
            ("2500m", "2.5"),
            ("2.500", "2.5"),
            ("2500e-3", "2.5"),
            ("10", "10"),
            ("500Mi", "524288000"),
            ("1k", "1000"),
            ("0", "0"),
            ("-5", "-5"),
            ("-500m", "-0.5"),
            ("7m", "0.007"),
            ("100", "100"),
            ("no quantity", "no quantity"),
        ];
        for (text, expected) in rows {
            assert_eq!(quantity(text), expected, "{text}");
        }
    }

    #[test]
    fn only_amounts_are_read_as_quantities() {
        let spec = json!({ "target": { "type": "Value", "value": "2500m" }, "metrics": [{ "averageValue": "1k" }], "name": "1k", "value": 7 });
        let expected = json!({ "target": { "type": "Value", "value": "2.5" }, "metrics": [{ "averageValue": "1000" }], "name": "1k", "value": 7 });
        assert_eq!(with_quantities(&spec), expected);
    }

    #[test]
    fn values_that_differ_between_runs_are_replaced() {
        let replacements = Replacements::new("parity-x", "127.0.0.1:2000", "127.0.0.1:3000");
        let rows = [
            ("Deployment parity-x/web", "Deployment ${NS}/web"),
            ("Get http://127.0.0.1:2000/p", "Get ${HTTP}/p"),
            ("dial 127.0.0.1:2000", "dial ${HTTP_ADDRESS}"),
            ("dial 127.0.0.1:3000", "dial ${GRPC}"),
            ("at 2026-01-02T03:04:05.678Z or 2026-01-02T03:04:05Z", "at <time> or <time>"),
            ("uid 01234567-89ab-cdef-0123-456789abcdef", "uid <uid>"),
            ("read 127.0.0.1:54321->127.0.0.1:9", "read 127.0.0.1:<port>->127.0.0.1:9"),
        ];
        for (text, expected) in rows {
            assert_eq!(replacements.normal(&json!({ text: [text] })), json!({ expected: [expected] }), "{text}");
        }
    }

    #[test]
    fn failure_counts_only_show_whether_they_passed_the_threshold() {
        let rows = [(0, json!(0)), (3, json!("<up to threshold>")), (4, json!("<above threshold>"))];
        for (failures, expected) in rows {
            let object = json!({
                "metadata": { "name": "so", "uid": "u" }, "spec": { "fallback": { "failureThreshold": 3 } },
                "status": { "lastActiveTime": "now", "health": { "m": { "numberOfFailures": failures, "status": "s" } } },
            });
            let health = json!({ "m": { "numberOfFailures": expected, "status": "s" } });
            let status = json!({ "lastActiveTime": "<set>", "health": health });
            let normal = json!({ "labels": {}, "finalizers": [], "deleting": false, "status": status });
            assert_eq!(scaled_object(&object), normal, "{failures}");
        }
        let bare = json!({ "metadata": { "deletionTimestamp": "t" }, "spec": {} });
        assert_eq!(scaled_object(&bare), json!({ "labels": {}, "finalizers": [], "deleting": true, "status": {} }));
    }

    #[test]
    fn an_hpa_hides_its_operator_and_keeps_whether_it_scales() {
        let seen = json!({
            "metadata": { "labels": { "app.kubernetes.io/version": "9", "a": "b" }, "ownerReferences": [{ "name": "so", "uid": "u" }] },
            "spec": { "maxReplicas": 3 },
            "status": { "conditions": [{ "type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "message": "m" }] },
        });
        let expected = json!({
            "labels": { "app.kubernetes.io/version": "<operator>", "a": "b" }, "annotations": {},
            "ownerReferences": [{ "name": "so" }], "spec": { "maxReplicas": 3 },
            "scalingActive": { "status": "True", "reason": "ValidMetricFound" },
        });
        assert_eq!(hpa(&seen), expected);
        assert_eq!(hpa(&json!({ "metadata": {}, "spec": {} }))["scalingActive"], Value::Null);
    }

    #[test]
    fn events_that_occur_at_random_are_left_out() {
        let normal = |note: &str| {
            let regarding = json!({ "kind": "ScaledObject", "name": "so" });
            event(&json!({ "regarding": regarding, "type": "Normal", "reason": "R", "note": note, "action": "A" }))
        };
        let expected =
            |note: &str| Some(json!({ "on": "ScaledObject/so", "type": "Normal", "reason": "R", "note": note }));
        assert_eq!(normal("Scaler cron is built"), expected("Scaler <type> is built"));
        assert_eq!(normal("Scaler of two words is built"), expected("Scaler of two words is built"));
        assert_eq!(normal("poll: context canceled"), None);
    }
}
