//! The normal form of responses: without what differs from run to run.
//!
//! Uids and resource versions become `uid1`, `rv1`, … in the order in which they first occur in a script, so that equal ones
//! stay equal. Times, continue tokens, generated names, addresses and ports lose their value; managed
//! fields and the descriptions of columns are dropped. Everything else, messages included, is unchanged.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

/// Times of this day are from scripts, and kept.
const DATE_OF_SCRIPTS: &str = "2026-01-02T";

/// Normalises the responses of one script, in their order.
#[derive(Debug)]
pub(crate) struct Normaliser {
    /// Replacements in all texts: the namespace, generated names.
    words: Vec<(String, String)>,
    uids: Numbers,
    versions: Numbers,
}

/// Values, numbered in the order of their first appearance.
#[derive(Debug, Default)]
struct Numbers(BTreeMap<String, usize>);

impl Numbers {
    fn number(&mut self, value: &str) -> usize {
        let next = self.0.len() + 1;
        *self.0.entry(value.to_owned()).or_insert(next)
    }
}

/// A column of a table without the description of its field, which is a page of the API reference.
fn without_description(column: &Value) -> Value {
    let mut column = column.clone();
    column.as_object_mut().and_then(|column| column.remove("description"));
    column
}

impl Normaliser {
    /// For a script in this namespace.
    pub(crate) fn new(namespace: &str) -> Self {
        let words = vec![(namespace.to_owned(), "<namespace>".to_owned())];
        Self { words, uids: Numbers::default(), versions: Numbers::default() }
    }

    /// A response in its normal form.
    pub(crate) fn normal(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.normal(item)).collect(),
            Value::Object(fields) => self.object(fields),
            other => other.clone(),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Value {
        if let Some(metadata) = fields.get("metadata") {
            self.record_name(metadata);
        }
        let ordered = causes_in_order(fields).or_else(|| resources_in_order(fields));
        let fields = ordered.as_ref().unwrap_or(fields);
        let is_shared = is_list(fields) || is_bookmark(fields);
        let normal = fields.iter().filter(|(key, _)| *key != "managedFields").map(|(key, value)| {
            let value = match (key.as_str(), value) {
                ("metadata", Value::Object(metadata)) if is_shared => self.shared_metadata(metadata),
                (key, Value::String(text)) => self.field(key, text),
                ("clusterIPs", Value::Array(_)) => json!(["<address>"]),
                ("nodePort", Value::Number(_)) => json!("<port>"),
                ("columnDefinitions", Value::Array(columns)) => columns.iter().map(without_description).collect(),
                (_, value) => self.normal(value),
            };
            (self.text(key), value)
        });
        Value::Object(normal.collect())
    }

    /// The metadata of a list or a bookmark: its version is that of the whole store, which other clients write to as well.
    fn shared_metadata(&mut self, metadata: &Map<String, Value>) -> Value {
        let mut metadata = metadata.clone();
        if let Some(version) = metadata.get_mut("resourceVersion").filter(|version| **version != json!("")) {
            *version = json!("<version>");
        }
        self.normal(&Value::Object(metadata))
    }

    fn field(&mut self, key: &str, text: &str) -> Value {
        let is_number = !text.is_empty() && text != "0" && text.bytes().all(|byte| byte.is_ascii_digit());
        match key {
            "resourceVersion" if is_number => format!("rv{}", self.versions.number(text)).into(),
            "continue" if !text.is_empty() => json!("<continue>"),
            "clusterIP" if text.starts_with("10.") => json!("<address>"),
            "serverAddress" => json!("<address>"),
            "storageVersionHash" => json!("<hash>"),
            "token" => json!("<token>"),
            "message" => self.message(text).into(),
            _ => self.text(text).into(),
        }
    }

    /// Replaces the versions in a message about versions.
    fn message(&mut self, text: &str) -> String {
        // The version that the server has reached.
        static CURRENT: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(current: |\()(?:rv)?[0-9]+(\)|$)").expect("a pattern"));
        static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new("[0-9]+").expect("a pattern"));
        let text = self.without_dumps(text);
        let text = self.text(&text);
        if !text.to_lowercase().replace(' ', "").contains("resourceversion") {
            return text;
        }
        let numbered = NUMBER.replace_all(&text, |found: &Captures<'_>| match self.versions.0.get(&found[0]) {
            Some(number) => format!("rv{number}"),
            None => found[0].to_owned(),
        });
        let current = CURRENT.replace_all(&numbered, "${1}<version>${2}");
        current.into_owned()
    }

    /// Normalises objects that a message holds as JSON.
    fn without_dumps(&mut self, text: &str) -> String {
        static DUMP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""\{([^"\\]|\\.)*\}""#).expect("a pattern"));
        let normal = DUMP.replace_all(text, |found: &Captures<'_>| {
            let object =
                serde_json::from_str::<String>(&found[0]).and_then(|text| serde_json::from_str::<Value>(&text));
            object.map_or_else(|_| found[0].to_owned(), |object| self.normal(&object).to_string())
        });
        normal.into_owned()
    }

    fn text(&mut self, text: &str) -> String {
        static UID: LazyLock<Regex> =
            LazyLock::new(|| Regex::new("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").expect("a pattern"));
        static TIME: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z").expect("a pattern"));
        let text = self.words.iter().fold(text.to_owned(), |text, (found, word)| text.replace(found, word));
        let text = UID.replace_all(&text, |found: &Captures<'_>| format!("uid{}", self.uids.number(&found[0])));
        let hidden = |found: &Captures<'_>| {
            if found[0].starts_with(DATE_OF_SCRIPTS) { found[0].to_owned() } else { "<time>".to_owned() }
        };
        TIME.replace_all(&text, hidden).into_owned()
    }

    /// Records a name that the server generated.
    fn record_name(&mut self, metadata: &Value) {
        let text = |key: &str| metadata.get(key).and_then(Value::as_str);
        if let (Some(prefix), Some(name)) = (text("generateName"), text("name"))
            && name.strip_prefix(prefix).is_some_and(|rest| rest.len() == 5)
            && !self.words.iter().any(|(found, _)| found == name)
        {
            let number = self.words.len();
            self.words.insert(0, (name.to_owned(), format!("{prefix}<random{number}>")));
        }
    }
}

/// A refusal of a custom resource, with its causes sorted: their order in the real API server is random.
fn causes_in_order(status: &Map<String, Value>) -> Option<Map<String, Value>> {
    let details = status.get("details")?;
    let is_custom = |group: &str| group.contains('.') && !group.ends_with(".k8s.io");
    details.get("group").and_then(Value::as_str).filter(|group| is_custom(group))?;
    let mut causes = details.get("causes")?.as_array()?.clone();
    let text = |cause: &Value, key: &str| cause[key].as_str().unwrap_or_default().to_owned();
    let line = |cause: &Value| format!("{}: {}", text(cause, "field"), text(cause, "message"));
    causes.sort_by_key(line);
    let mut lines: Vec<String> = causes.iter().map(line).collect();
    lines.dedup();
    let mut status = status.clone();
    if let Some((start, found)) = status.get("message")?.as_str()?.split_once("is invalid: [")
        && found.len() == lines.join(", ").len() + 1
    {
        status.insert("message".into(), format!("{start}is invalid: [{}]", lines.join(", ")).into());
    }
    status["details"]["causes"] = causes.into();
    Some(status)
}

/// A discovery document, sorted: the order of custom resources in the real API server is random.
fn resources_in_order(document: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut resources =
        document.get("resources").filter(|_| document.contains_key("groupVersion"))?.as_array()?.clone();
    resources.sort_by_key(|resource| resource["name"].as_str().map(str::to_owned));
    let mut document = document.clone();
    document.insert("resources".into(), resources.into());
    Some(document)
}

fn is_list(fields: &Map<String, Value>) -> bool {
    fields.contains_key("items")
        || fields.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"))
}

/// Whether an object has nothing but its version.
fn is_bookmark(fields: &Map<String, Value>) -> bool {
    let metadata = fields.get("metadata").and_then(Value::as_object);
    fields.contains_key("kind")
        && metadata.is_some_and(|metadata| !metadata.contains_key("name") && metadata.contains_key("resourceVersion"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_of_custom_resources_are_sorted() {
        let refusal = |order: [&str; 2]| {
            let causes = order.map(|field| json!({ "field": field, "message": "m" }));
            let message = format!("W is invalid: [{}: m, {}: m]", order[0], order[1]);
            json!({ "message": message, "details": { "group": "x.example.com", "causes": causes } })
        };
        let normal = |value: Value| Normaliser::new("ns").normal(&value);
        assert_eq!(normal(refusal(["b", "a"])), refusal(["a", "b"]));
    }

    #[test]
    fn values_that_differ_between_runs_are_replaced_and_equal_ones_stay_equal() {
        let mut normaliser = Normaliser::new("ns-17");
        let uid = "00000000-1111-2222-3333-444444444444";
        let rows = [
            ("a version", json!({ "resourceVersion": "412" }), json!({ "resourceVersion": "rv1" })),
            ("another", json!({ "resourceVersion": "99" }), json!({ "resourceVersion": "rv2" })),
            ("the first again", json!({ "resourceVersion": "412" }), json!({ "resourceVersion": "rv1" })),
            (
                "one in a message",
                json!({ "message": "resource version 99, not 98" }),
                json!({ "message": "resource version rv2, not 98" }),
            ),
            (
                "the server's in a message",
                json!({ "message": "too old resource version: 99 (1436)" }),
                json!({ "message": "too old resource version: rv2 (<version>)" }),
            ),
            ("a number in another message", json!({ "message": "at most 99" }), json!({ "message": "at most 99" })),
            (
                "a list's",
                json!({ "items": [], "metadata": { "resourceVersion": "7" } }),
                json!({ "items": [], "metadata": { "resourceVersion": "<version>" } }),
            ),
            ("uids", json!([format!("UID: {uid}")]), json!(["UID: uid1"])),
            ("times", json!("at 2026-03-02T03:04:05.123456Z."), json!("at <time>.")),
            ("a script's own time", json!("2026-01-02T03:04:05Z"), json!("2026-01-02T03:04:05Z")),
            ("the namespace, in keys too", json!({ "a-ns-17": "ns-17" }), json!({ "a-<namespace>": "<namespace>" })),
            ("managed fields", json!({ "managedFields": [], "name": "x" }), json!({ "name": "x" })),
            (
                "a generated name",
                json!({ "metadata": { "generateName": "x-", "name": "x-abcde" } }),
                json!({ "metadata": { "generateName": "x-", "name": "x-<random1>" } }),
            ),
            ("the name later", json!("x-abcde not found"), json!("x-<random1> not found")),
        ];
        for (name, value, expected) in rows {
            assert_eq!(normaliser.normal(&value), expected, "{name}");
        }
    }
}
