//! The schema of each kind: what the API server itself would deny or drop.

use std::collections::BTreeMap;

use kedge_schema::metadata::{Scope, validate_metadata};
use kedge_schema::{FieldError, Schema};
use kedge_webhooks::violation::{FieldPath, Rule, Severity, Violation};
use serde_json::{Value, json};

use super::path::{below, parse_path, value_at, value_at_mut};
use super::remedy;

pub(super) static SCHEMA: Rule = Rule {
    id: "schema",
    severity: Severity::Error,
    about: "a field is missing, has the wrong type, or is out of range: the API server rejects the object",
    counted_as: None,
};

pub(super) static UNKNOWN_FIELD: Rule = Rule {
    id: "unknown-field",
    severity: Severity::Error,
    about: "the kind has no such field: kubectl rejects it, and the API server drops it silently",
    counted_as: None,
};

/// A note that the API server adds to errors.
const NOTE: &str = "some validation rules were not checked";

/// The schemas of KEDA's kinds.
#[derive(Debug)]
pub(super) struct KindSchemas {
    kinds: BTreeMap<String, KindSchema>,
    metadata: KindSchema,
}

#[derive(Debug)]
struct KindSchema {
    schema: Schema,
    /// The schema as JSON.
    source: Value,
}

impl KindSchema {
    fn compile(source: Value) -> Self {
        Self { schema: Schema::compile(&source).expect("our own schemas are valid"), source }
    }
}

/// The violations of a schema, and the object for further rules: pruned and defaulted, with numbers converted to strings where the
/// schema wants strings, so that one violation does not hide others.
pub(super) struct SchemaCheck {
    pub(super) violations: Vec<Violation>,
    pub(super) object: Value,
}

impl KindSchemas {
    pub(super) fn new() -> Self {
        let definitions = kedge_api::crd::all().into_iter();
        let kinds = definitions.filter_map(|mut crd| {
            let schema = crd.spec.versions.first_mut()?.schema.take()?.open_api_v3_schema?;
            let source = serde_json::to_value(schema).expect("a schema is plain data");
            Some((crd.spec.names.kind, KindSchema::compile(source)))
        });
        Self { kinds: kinds.collect(), metadata: KindSchema::compile(metadata_schema()) }
    }

    /// All kinds.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds.keys().map(String::as_str)
    }

    /// All schema violations of an object; nothing for an unknown kind.
    pub(super) fn check(&self, kind: &str, object: &Value) -> Option<SchemaCheck> {
        let schema = self.kinds.get(kind)?;
        let object = &without_status(object);
        let mut violations = self.check_metadata(object);
        let unknown = schema.schema.unknown_fields(object);
        violations.extend(unknown.iter().map(|path| unknown_field(parse_path(path, object), &schema.source)));
        let mut pruned = object.clone();
        schema.schema.prune(&mut pruned);
        schema.schema.default(&mut pruned);
        let mut problems = schema.schema.validate(&pruned, None);
        problems.retain(|problem| !problem.message.contains(NOTE));
        violations.extend(problems.iter().map(|problem| explain(kind, &pruned, problem, FieldPath::default())));
        Some(SchemaCheck { violations: without_consequences(violations), object: with_strings(pruned, &problems) })
    }

    fn check_metadata(&self, object: &Value) -> Vec<Violation> {
        let metadata = FieldPath::new("metadata");
        let Some(found) = object.get("metadata").filter(|found| found.is_object()) else {
            let missing = FieldError::required("metadata.name", "name or generateName is required");
            return vec![explain("", object, &missing, FieldPath::default())];
        };
        let unknown = self.metadata.schema.unknown_fields(found);
        let unknown = unknown.iter().map(|path| {
            let mut violation = unknown_field(parse_path(path, found), &self.metadata.source);
            violation.path = below(&metadata, &violation.path);
            violation
        });
        let mut pruned = found.clone();
        self.metadata.schema.prune(&mut pruned);
        let problems = self.metadata.schema.validate(&pruned, None);
        let mut violations: Vec<Violation> = unknown.collect();
        violations.extend(problems.iter().map(|problem| explain("", &pruned, problem, metadata.clone())));
        if problems.is_empty() {
            let named = named(pruned);
            let problems = validate_metadata(&named, Scope::Namespaced, None);
            let explained = problems.iter().map(|problem| explain("", &named, problem, FieldPath::default()));
            violations.extend(explained.map(|violation| at_entry(violation, &named)));
        }
        violations
    }
}

/// The API server reports the map of a label or annotation: the entry is found by the quoted text.
fn at_entry(mut violation: Violation, object: &Value) -> Violation {
    let Some(entries) = value_at(object, &violation.path).and_then(Value::as_object) else { return violation };
    let is_quoted = |text: &Value| violation.problem.starts_with(&format!("Invalid value: {text}:"));
    let key = entries.iter().find(|(key, value)| is_quoted(value) || is_quoted(&key.as_str().into()));
    if let Some((key, _)) = key {
        violation.path = violation.path.key(key);
    }
    violation
}

/// The API server drops the status of a new object before validation.
fn without_status(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    object
}

/// An object with this metadata, completed: kubectl fills in the namespace, the API server generates a name.
fn named(mut metadata: Value) -> Value {
    if metadata["namespace"].as_str().is_none_or(str::is_empty) {
        metadata["namespace"] = "default".into();
    }
    if metadata["name"].as_str().is_none_or(str::is_empty) && metadata["generateName"].is_string() {
        metadata["name"] = "generated".into();
    }
    json!({ "metadata": metadata })
}

/// The schema of the metadata, which the CRDs leave open.
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

fn with_strings(mut object: Value, problems: &[FieldError]) -> Value {
    for problem in problems.iter().filter(|problem| problem.message.contains("must be of type string:")) {
        let path = parse_path(&problem.field, &object);
        if let Some(value @ (Value::Number(_) | Value::Bool(_))) = value_at_mut(&mut object, &path) {
            *value = value.to_string().into();
        }
    }
    object
}

fn explain(kind: &str, object: &Value, problem: &FieldError, base: FieldPath) -> Violation {
    let (field, message) = path_and_message(problem);
    let path = parse_path(field, object);
    let value = value_at(object, &path);
    // The API server repeats the path.
    let text = message.replace(&format!("{field} in body "), "");
    let path = below(&base, &path);
    let remedy = remedy::for_problem(problem, value, kind, &path);
    Violation::new(&SCHEMA, path, text, remedy)
}

/// The path and the message. For a number that is too large the API server has the path in the message only.
fn path_and_message(problem: &FieldError) -> (&str, String) {
    let checked = problem.message.strip_prefix("Invalid value: \"\": Checked value ");
    match checked.and_then(|rest| rest.rsplit_once(" in ")) {
        Some((error, field)) => (field, format!("Invalid value: {error}")),
        None => (&problem.field, problem.message.clone()),
    }
}

/// Without the violations that follow from others: unknown fields in what should be no map, and the range of what is no number.
fn without_consequences(violations: Vec<Violation>) -> Vec<Violation> {
    let wrong: Vec<FieldPath> =
        violations.iter().filter(|found| found.rule == &SCHEMA).map(|found| found.path.clone()).collect();
    let is_inside = |path: &FieldPath| {
        wrong.iter().any(|outer| !outer.0.is_empty() && outer != path && path.0.starts_with(&outer.0))
    };
    let is_repeated = |path: &FieldPath| wrong.iter().filter(|other| *other == path).count() > 1;
    let follows = |violation: &Violation| match violation.rule == &SCHEMA {
        true => violation.problem.contains("with format int") && is_repeated(&violation.path),
        false => is_inside(&violation.path),
    };
    violations.into_iter().filter(|violation| !follows(violation)).collect()
}

fn unknown_field(path: FieldPath, schema: &Value) -> Violation {
    let remedy = remedy::for_unknown_field(&path, schema);
    Violation::new(&UNKNOWN_FIELD, path, "is not a field of this kind", remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_rejects_is_reported() {
        let object = serde_json::json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "web" },
            "spec": { "scaleTargetRef": { "name": "web" }, "minReplicas": 1, "pollingInterval": 0, "triggers": [] },
        });
        let found = KindSchemas::new().check("ScaledObject", &object).unwrap().violations;
        let reported: Vec<(&str, String)> = found.iter().map(|found| (found.rule.id, found.path.to_string())).collect();
        let expected =
            [("unknown-field", "spec.minReplicas"), ("schema", "spec.pollingInterval"), ("schema", "spec.triggers")];
        assert_eq!(reported, expected.map(|(rule, path)| (rule, path.to_owned())));
    }
}
