//! Whether an object has the shape of its kind: what the API server itself would refuse or drop, said without one.

use std::collections::BTreeMap;

use kedge_plane::schema::Schema;
use kedge_webhooks::finding::{FieldPath, Finding, Rule, Severity};
use serde_json::Value;

pub(super) static SCHEMA: Rule = Rule {
    id: "schema",
    severity: Severity::Error,
    about: "A field that is missing, of the wrong type, or outside of what its kind allows: the API server refuses the object.",
    counted_as: None,
};

pub(super) static UNKNOWN_FIELD: Rule = Rule {
    id: "unknown-field",
    severity: Severity::Error,
    about: "A field that the kind does not have: the API server drops it without a word, and kubectl refuses it.",
    counted_as: None,
};

/// The shapes of our kinds, by kind.
#[derive(Debug)]
pub(super) struct Shapes(BTreeMap<String, Schema>);

impl Shapes {
    pub(super) fn new() -> Self {
        let shape =
            |crd: k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition| {
                let schema = crd.spec.versions.first()?.schema.as_ref()?.open_api_v3_schema.as_ref()?;
                let schema = serde_json::to_value(schema).expect("a schema is plain data");
                Some((crd.spec.names.kind, Schema::compile(&schema).ok()?))
            };
        Self(kedge_api::crd::all().into_iter().filter_map(shape).collect())
    }

    /// All that is wrong with the shape of an object. Of other kinds nothing is known.
    pub(super) fn check(&self, kind: &str, object: &Value) -> Vec<Finding> {
        let Some(schema) = self.0.get(kind) else { return Vec::new() };
        let mut findings: Vec<Finding> = schema.unknown_fields(object).iter().map(|path| unknown(path)).collect();
        let mut pruned = object.clone();
        schema.prune(&mut pruned);
        findings.extend(schema.validate(&pruned, None).into_iter().map(|problem| Finding {
            rule: &SCHEMA,
            path: parse_path(&problem.field),
            problem: problem.message,
            remedy: "see `kubectl explain` for what the field may hold".to_owned(),
        }));
        findings
    }
}

fn unknown(path: &str) -> Finding {
    Finding {
        rule: &UNKNOWN_FIELD,
        path: parse_path(path),
        problem: "is not a field of this kind".to_owned(),
        remedy: "remove it, or look at its spelling and indentation".to_owned(),
    }
}

/// A path as messages write it: `spec.triggers[0].metadata[some.key]`.
fn parse_path(text: &str) -> FieldPath {
    let mut path = FieldPath::default();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((inside, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            path = match inside.parse() {
                Ok(index) => path.index(index),
                Err(_) => path.key(inside.trim_matches('"')),
            };
            rest = after;
        } else {
            let start = rest.strip_prefix('.').unwrap_or(rest);
            let end = start.find(['.', '[']).unwrap_or(start.len());
            path = path.key(&start[..end]);
            rest = if end == 0 { "" } else { &start[end..] };
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_message_leads_to_the_field() {
        let expected = FieldPath::of("spec.triggers").index(0).key("metadata").key("a.b").key("c");
        assert_eq!(parse_path("spec.triggers[0].metadata[a.b].c"), expected);
        assert_eq!(parse_path(""), FieldPath::default());
        assert_eq!(parse_path("spec."), FieldPath::of("spec").key(""));
    }

    #[test]
    fn what_the_api_server_would_say_is_said() {
        let object = serde_json::json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "web" },
            "spec": { "scaleTargetRef": { "name": "web" }, "minReplicas": 1, "pollingInterval": 0, "triggers": [] },
        });
        let found = Shapes::new().check("ScaledObject", &object);
        let told: Vec<(&str, String)> = found.iter().map(|found| (found.rule.id, found.path.to_string())).collect();
        let expected =
            [("unknown-field", "spec.minReplicas"), ("schema", "spec.pollingInterval"), ("schema", "spec.triggers")];
        assert_eq!(told, expected.map(|(rule, path)| (rule, path.to_owned())));
    }
}
