//! Whether an object has the shape of its kind: what the API server itself would refuse or drop, said without one.

use std::collections::BTreeMap;

use kedge_plane::builtin::check_metadata;
use kedge_plane::error::FieldProblem;
use kedge_plane::schema::Schema;
use kedge_webhooks::finding::{FieldPath, Finding, Rule, Severity, Step};
use serde_json::{Value, json};

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

/// What was found, and what is left of the object when it is stored.
pub(super) struct Checked {
    pub(super) findings: Vec<Finding>,
    pub(super) pruned: Value,
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
        let problems = shape.schema.validate(&pruned, None).into_iter();
        let told = problems.filter(|problem| !problem.message.contains(ASIDE));
        findings.extend(told.map(|problem| explain(kind, &pruned, &problem, FieldPath::default())));
        Some(Checked { findings: once(findings), pruned })
    }

    fn check_metadata(&self, object: &Value) -> Vec<Finding> {
        let metadata = FieldPath::of("metadata");
        let Some(found) = object.get("metadata").filter(|found| found.is_object()) else {
            let missing = FieldProblem::required("metadata.name", "name or generateName is required");
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
            let problems = check_metadata(&named, true, None);
            findings.extend(problems.iter().map(|problem| explain("", &named, problem, FieldPath::default())));
        }
        findings
    }
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

fn explain(kind: &str, object: &Value, problem: &FieldProblem, base: FieldPath) -> Finding {
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
fn placed(problem: &FieldProblem) -> (&str, String) {
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

fn value_at<'v>(object: &'v Value, path: &FieldPath) -> Option<&'v Value> {
    path.0.iter().try_fold(object, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

fn below(base: &FieldPath, path: &FieldPath) -> FieldPath {
    FieldPath(base.0.iter().chain(&path.0).cloned().collect())
}

fn unknown_field(path: FieldPath, written: &Value) -> Finding {
    let remedy = remedy::of_unknown(&path, written);
    Finding::new(&UNKNOWN_FIELD, path, "is not a field of this kind", remedy)
}

/// A path as messages write it: `spec.triggers[0].metadata.some.key`. Keys may hold dots: the object tells where they end.
/// The path of the whole object is `<nil>`.
fn parse_path(text: &str, object: &Value) -> FieldPath {
    let mut path = FieldPath::default();
    let mut at = Some(object);
    let mut rest = if text == "<nil>" { "" } else { text };
    while !rest.is_empty() {
        if let Some((inside, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            (path, at) = match inside.parse::<usize>() {
                Ok(index) if !at.is_some_and(Value::is_object) => (path.index(index), at.and_then(|at| at.get(index))),
                _ => (path.key(inside.trim_matches('"')), at.and_then(|at| at.get(inside.trim_matches('"')))),
            };
            rest = after;
        } else {
            let start = rest.strip_prefix('.').unwrap_or(rest);
            let key = first_key(start, at);
            rest = if key.is_empty() { "" } else { &start[key.len()..] };
            (path, at) = (path.key(key), at.and_then(|at| at.get(key)));
        }
    }
    path
}

/// The first key of a path: the longest that there is, or all up to the next sign.
fn first_key<'p>(path: &'p str, at: Option<&Value>) -> &'p str {
    let ends = |key: &&String| {
        path.strip_prefix(key.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let known =
        at.and_then(Value::as_object).into_iter().flat_map(|map| map.keys()).filter(ends).map(String::len).max();
    let length = known.unwrap_or_else(|| path.find(['.', '[']).unwrap_or(path.len()));
    &path[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_message_leads_to_the_field() {
        let object =
            serde_json::json!({ "metadata": { "annotations": { "a.b/c": true, "0": 1 } }, "spec": [{ "x": 1 }] });
        let annotations = FieldPath::of("metadata.annotations");
        let rows = [
            (
                "spec.triggers[0].metadata[a.b].c",
                FieldPath::of("spec.triggers").index(0).key("metadata").key("a.b").key("c"),
            ),
            ("metadata.annotations.a.b/c", annotations.clone().key("a.b/c")),
            ("metadata.annotations[0]", annotations.key("0")),
            ("spec[0].x", FieldPath::of("spec").index(0).key("x")),
            ("", FieldPath::default()),
            ("<nil>", FieldPath::default()),
            ("spec.", FieldPath::of("spec").key("")),
        ];
        for (text, expected) in rows {
            assert_eq!(parse_path(text, &object), expected, "{text}");
        }
    }

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
