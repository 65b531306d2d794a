//! Remedies of schema violations.

use kedge_schema::FieldError;
use kedge_webhooks::nearest::nearest;
use kedge_webhooks::violation::{FieldPath, Step};
use serde_json::Value;

/// How the remedy of an unquoted text begins.
pub(crate) const QUOTE_IT: &str = "put it in quotes: ";

/// The remedy of an unquoted text.
pub(crate) fn quote_remedy(written: &str) -> String {
    format!("{QUOTE_IT}\"{written}\"")
}

/// What helps against a placeholder that a tool replaces later.
const PLACEHOLDER: &str = "this looks like a placeholder: replace it first, as in `envsubst < web.yaml | kedge lint -`";

/// What helps where a required field is missing because the file only changes a part of an object.
const PATCH: &str = "write it; if it is there, check its indentation; if this file is a patch, check what kustomize makes of it: \
                     `kustomize build . | kedge lint -`";

/// Fields without which an object of this group has no meaning: a file without them is likely a patch.
const ESSENTIAL: [&str; 3] = ["spec", "spec.scaleTargetRef", "spec.triggers"];

/// The remedy of an error of the API server.
pub(super) fn for_problem(problem: &FieldError, value: Option<&Value>, kind: &str, path: &FieldPath) -> String {
    if value.and_then(Value::as_str).is_some_and(is_placeholder) {
        return PLACEHOLDER.to_owned();
    }
    match problem.reason {
        "FieldValueRequired" if ESSENTIAL.contains(&path.to_string().as_str()) => PATCH.to_owned(),
        "FieldValueRequired" => "write it; if it is there, check its indentation".to_owned(),
        "FieldValueNotSupported" => "write one of these, letter by letter".to_owned(),
        "FieldValueDuplicate" => "keep one of them, or name them apart".to_owned(),
        "FieldValueTypeInvalid" => for_type(&problem.message, value),
        _ if problem.message.contains("with format int32") => {
            "write an integer from -2147483648 to 2147483647".to_owned()
        }
        _ if kind.is_empty() => "correct it".to_owned(),
        _ => format!("correct it; `kubectl explain {}` says what it may hold", explained(kind, path)),
    }
}

/// Whether a text holds what `envsubst`, Flux or a template replaces: `${NAME}`.
fn is_placeholder(text: &str) -> bool {
    text.split_once("${").is_some_and(|(_, rest)| rest.contains('}'))
}

/// The remedy of a wrong type: the message ends in `must be of type string: "integer"`.
fn for_type(message: &str, value: Option<&Value>) -> String {
    let wanted = message.rsplit_once("must be of type ").and_then(|(_, rest)| rest.split([':', ',']).next());
    let remedy = match (wanted.unwrap_or_default(), value) {
        ("string", Some(value @ (Value::Number(_) | Value::Bool(_)))) => {
            return quote_remedy(&value.to_string());
        }
        ("string", _) => "write one text",
        ("integer" | "int32" | "int64", Some(Value::String(_))) => {
            "write an integer, without quotes and without a unit"
        }
        ("integer" | "int32" | "int64", _) => "write an integer",
        ("boolean", _) => "write true or false, without quotes",
        ("array", _) => "write a list, with a dash before each entry",
        ("object", _) => "write a map, with a key and a colon before each value",
        _ => "write a value of that type",
    };
    remedy.to_owned()
}

/// A path in the notation of `kubectl explain`: without list indices.
fn explained(kind: &str, path: &FieldPath) -> String {
    let keys = path.0.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    let kind = kind.to_lowercase();
    std::iter::once(kind.as_str()).chain(keys).collect::<Vec<_>>().join(".")
}

/// The remedy of an unknown field: the field that is spelled alike, or the path where it belongs.
pub(super) fn for_unknown_field(path: &FieldPath, schema: &Value) -> String {
    let Some((Step::Key(name), parents)) = path.0.split_last() else { return "remove it".to_owned() };
    let spec: Vec<&str> = fields(&schema["properties"]["spec"]).collect();
    if spec.contains(&name.as_str()) {
        return format!("check its indentation: it belongs to spec, as spec.{name}");
    }
    let parent = parents.iter().try_fold(schema, |schema, step| match step {
        Step::Key(key) => schema["properties"].get(key).or_else(|| schema.get("additionalProperties")),
        Step::Index(_) => schema.get("items"),
    });
    match parent.and_then(|parent| nearest(name, fields(parent))) {
        Some(suggestion) => format!("write {suggestion}"),
        None => "remove it, or check its spelling and indentation".to_owned(),
    }
}

fn fields(schema: &Value) -> impl Iterator<Item = &str> {
    schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str())
}
