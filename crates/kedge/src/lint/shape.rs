//! Whether an object has the shape of its kind: what the API server itself would refuse or drop, said without one.

use std::collections::BTreeMap;

use kedge_schema::metadata::{Scope, validate_metadata};
use kedge_schema::{FieldError, Schema};
use kedge_webhooks::finding::{FieldPath, Finding, Rule, Severity};
use serde_json::{Value, json};

use super::path::{below, parse_path, value_at, value_at_mut};
use super::remedy;

pub(super) static SCHEMA: Rule = Rule {
    id: "schema",
    severity: Severity::Error,
    about: "a field is missing, of the wrong type, or outside of what its kind allows: the API server refuses the object",
    counted_as: None,
};

pub(super) static UNKNOWN_FIELD: Rule = Rule {
    id: "unknown-field",
    severity: Severity::Error,
    about: "the kind has no such field: kubectl refuses it, and the API server drops it without a word",
    counted_as: None,
};

/// What the API server says beside the mistakes that it found.
const ASIDE: &str = "some validation rules were not checked";

/// The shapes of our kinds, by kind.
#[derive(Debug)]
pub(super) struct Shapes {
    kinds: BTreeMap<String, Shape>,
    metadata: Shape,
}

#[derive(Debug)]
struct Shape {
    schema: Schema,
    /// The same, as it is written.
    written: Value,
}

impl Shape {
    fn of(written: Value) -> Self {
        Self { schema: Schema::compile(&written).expect("our own schemas are sound"), written }
    }
}

/// What was found, and the object for further rules: as it is stored, with numbers read as texts where texts are wanted, so
/// that one mistake does not hide others.
pub(super) struct Checked {
    pub(super) findings: Vec<Finding>,
    pub(super) meant: Value,
}

impl Shapes {
    pub(super) fn new() -> Self {
        let definitions = kedge_api::crd::all().into_iter();
        let kinds = definitions.filter_map(|mut crd| {
            let schema = crd.spec.versions.first_mut()?.schema.take()?.open_api_v3_schema?;
            let written = serde_json::to_value(schema).expect("a schema is plain data");
            Some((crd.spec.names.kind, Shape::of(written)))
        });
        Self { kinds: kinds.collect(), metadata: Shape::of(metadata_schema()) }
    }

    /// The kinds there are.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds.keys().map(String::as_str)
    }

    /// All that is wrong with the shape of an object; nothing is known of other kinds.
    pub(super) fn check(&self, kind: &str, object: &Value) -> Option<Checked> {
        let shape = self.kinds.get(kind)?;
        let object = &without_status(object);
        let mut findings = self.check_metadata(object);
        let unknown = shape.schema.unknown_fields(object);
        findings.extend(unknown.iter().map(|path| unknown_field(parse_path(path, object), &shape.written)));
        let mut pruned = object.clone();
        shape.schema.prune(&mut pruned);
        shape.schema.default(&mut pruned);
        let mut problems = shape.schema.validate(&pruned, None);
        problems.retain(|problem| !problem.message.contains(ASIDE));
        findings.extend(problems.iter().map(|problem| explain(kind, &pruned, problem, FieldPath::default())));
        Some(Checked { findings: once(findings), meant: meant(pruned, &problems) })
    }

    fn check_metadata(&self, object: &Value) -> Vec<Finding> {
        let metadata = FieldPath::of("metadata");
        let Some(found) = object.get("metadata").filter(|found| found.is_object()) else {
            let missing = FieldError::required("metadata.name", "name or generateName is required");
            return vec![explain("", object, &missing, FieldPath::default())];
        };
        let unknown = self.metadata.schema.unknown_fields(found);
        let unknown = unknown.iter().map(|path| {
            let mut finding = unknown_field(parse_path(path, found), &self.metadata.written);
            finding.path = below(&metadata, &finding.path);
            finding
        });
        let mut pruned = found.clone();
        self.metadata.schema.prune(&mut pruned);
        let problems = self.metadata.schema.validate(&pruned, None);
        let mut findings: Vec<Finding> = unknown.collect();
        findings.extend(problems.iter().map(|problem| explain("", &pruned, problem, metadata.clone())));
        if problems.is_empty() {
            let named = named(pruned);
            let problems = validate_metadata(&named, Scope::Namespaced, None);
            let told = problems.iter().map(|problem| explain("", &named, problem, FieldPath::default()));
            findings.extend(told.map(|finding| pinned(finding, &named)));
        }
        findings
    }
}

/// Of a label or annotation the API server names the map; here its entry is found by the text that is told.
fn pinned(mut finding: Finding, object: &Value) -> Finding {
    let Some(entries) = value_at(object, &finding.path).and_then(Value::as_object) else { return finding };
    let is_told = |text: &Value| finding.problem.starts_with(&format!("Invalid value: {text}:"));
    let key = entries.iter().find(|(key, value)| is_told(value) || is_told(&key.as_str().into()));
    if let Some((key, _)) = key {
        finding.path = finding.path.key(key);
    }
    finding
}

/// The status of a new object is dropped before anything is looked at.
fn without_status(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    object
}

/// An object with this metadata, as it is when its name and namespace are settled: kubectl fills in the namespace, the API
/// server what `generateName` asks for.
fn named(mut metadata: Value) -> Value {
    if metadata["namespace"].as_str().is_none_or(str::is_empty) {
        metadata["namespace"] = "default".into();
    }
    if metadata["name"].as_str().is_none_or(str::is_empty) && metadata["generateName"].is_string() {
        metadata["name"] = "generated".into();
    }
    json!({ "metadata": metadata })
}

/// The metadata that every object has, which the schema of a kind leaves open.
fn metadata_schema() -> Value {
    let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    let texts = json!({ "type": "object", "additionalProperties": text });
    let open = json!({ "type": "array", "items": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    json!({ "type": "object", "properties": {
        "annotations": texts, "labels": texts, "finalizers": { "type": "array", "items": text },
        "ownerReferences": open, "managedFields": open,
        "name": text, "generateName": text, "namespace": text, "uid": text, "resourceVersion": text, "selfLink": text,
        "creationTimestamp": text, "deletionTimestamp": text, "generation": number, "deletionGracePeriodSeconds": number,
    } })
}

fn meant(mut object: Value, problems: &[FieldError]) -> Value {
    for problem in problems.iter().filter(|problem| problem.message.contains("must be of type string:")) {
        let path = parse_path(&problem.field, &object);
        if let Some(value @ (Value::Number(_) | Value::Bool(_))) = value_at_mut(&mut object, &path) {
            *value = value.to_string().into();
        }
    }
    object
}

fn explain(kind: &str, object: &Value, problem: &FieldError, base: FieldPath) -> Finding {
    let (field, message) = placed(problem);
    let path = parse_path(field, object);
    let value = value_at(object, &path);
    // The API server says the path twice.
    let said = message.replace(&format!("{field} in body "), "");
    let path = below(&base, &path);
    let remedy = remedy::of(problem, value, kind, &path);
    Finding::new(&SCHEMA, path, said, remedy)
}

/// The path and the words. Of a number that is too large the API server says the path in its words alone.
fn placed(problem: &FieldError) -> (&str, String) {
    let checked = problem.message.strip_prefix("Invalid value: \"\": Checked value ");
    match checked.and_then(|rest| rest.rsplit_once(" in ")) {
        Some((flaw, field)) => (field, format!("Invalid value: {flaw}")),
        None => (&problem.field, problem.message.clone()),
    }
}

/// Without what follows from something else that is said: unknown fields inside of what should be no map, and that a number
/// is too large if it is none.
fn once(findings: Vec<Finding>) -> Vec<Finding> {
    let wrong: Vec<FieldPath> =
        findings.iter().filter(|found| found.rule == &SCHEMA).map(|found| found.path.clone()).collect();
    let is_inside = |path: &FieldPath| {
        wrong.iter().any(|outer| !outer.0.is_empty() && outer != path && path.0.starts_with(&outer.0))
    };
    let is_told = |path: &FieldPath| wrong.iter().filter(|other| *other == path).count() > 1;
    let follows = |finding: &Finding| match finding.rule == &SCHEMA {
        true => finding.problem.contains("with format int") && is_told(&finding.path),
        false => is_inside(&finding.path),
    };
    findings.into_iter().filter(|finding| !follows(finding)).collect()
}

fn unknown_field(path: FieldPath, written: &Value) -> Finding {
    let remedy = remedy::of_unknown(&path, written);
    Finding::new(&UNKNOWN_FIELD, path, "is not a field of this kind", remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_would_say_is_said() {
        let object = serde_json::json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "web" },
            "spec": { "scaleTargetRef": { "name": "web" }, "minReplicas": 1, "pollingInterval": 0, "triggers": [] },
        });
        let found = Shapes::new().check("ScaledObject", &object).unwrap().findings;
        let told: Vec<(&str, String)> = found.iter().map(|found| (found.rule.id, found.path.to_string())).collect();
        let expected =
            [("unknown-field", "spec.minReplicas"), ("schema", "spec.pollingInterval"), ("schema", "spec.triggers")];
        assert_eq!(told, expected.map(|(rule, path)| (rule, path.to_owned())));
    }
}
