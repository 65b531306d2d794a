//! Decoding: an object as the API server would read it into its types and write it again. Values of wrong types are
//! refused, unknown fields dropped, nulls and empty values left out or written as the types have it.

mod path;
mod scalar;

use serde_json::{Map, Value, json};

use super::types::{self, Field, Presence, Shape, Struct, Type, WhenEmpty};
use crate::api::error::ApiError;
use crate::api::resource::Gvr;
use path::Path;

pub(crate) use scalar::kind as json_kind;

/// Decodes an object in place, and gives back the paths of unknown fields, which are dropped: `spec.foo`. Objects of
/// custom resources are left as they are.
pub(crate) fn decode(resource: &Gvr, object: &mut Value) -> Result<Vec<String>, ApiError> {
    let Some(shape) = types::for_resource(resource) else { return Ok(Vec::new()) };
    let fields = match object.take() {
        Value::Null => Map::new(),
        Value::Object(fields) => fields,
        other => return Err(unrecognized(shape, &other)),
    };
    let mut decoder = Decoder::default();
    let mut decoded = decoder.fields(shape, fields, &Path::Root);
    if let Some(problem) = decoder.problem {
        return Err(unhandled(resource, &problem));
    }
    decoded.entry("kind").or_insert_with(|| shape.short_name().into());
    decoded.entry("apiVersion").or_insert_with(|| api_version(resource).into());
    *object = Value::Object(decoded);
    Ok(decoder.unknown)
}

/// Decodes the metadata of a custom resource in the same way. Errors are worded as the API server words them.
pub(crate) fn decode_metadata(metadata: &mut Value) -> Result<Vec<String>, String> {
    let Value::Object(fields) = metadata.take() else {
        return Err(format!("json: cannot unmarshal {} into Go value of type v1.ObjectMeta", json_kind(metadata)));
    };
    let mut decoder = Decoder::default();
    *metadata = Value::Object(decoder.fields(types::metadata(), fields, &Path::Root));
    match decoder.problem {
        Some(problem) => Err(problem),
        None => Ok(decoder.unknown.iter().map(|field| format!("metadata.{field}")).collect()),
    }
}

/// The error of an object that cannot be decoded, or of unknown fields where these are not wanted:
/// `strict decoding error: unknown field "spec.foo"`.
pub(crate) fn unhandled(resource: &Gvr, problem: &str) -> ApiError {
    let kind = types::for_resource(resource).map_or("", Struct::short_name);
    let version = &resource.version;
    ApiError::new(
        400,
        "BadRequest",
        format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {problem}"),
    )
}

/// What is wrong with unknown fields where these are not wanted.
pub(crate) fn strict_problem(unknown: &[String]) -> String {
    let fields: Vec<_> = unknown.iter().map(|path| format!("unknown field {path:?}")).collect();
    format!("strict decoding error: {}", fields.join(", "))
}

fn api_version(resource: &Gvr) -> String {
    let Gvr { group, version, .. } = resource;
    if group.is_empty() { version.clone() } else { format!("{group}/{version}") }
}

fn unrecognized(shape: &Struct, body: &Value) -> ApiError {
    let kind = shape.short_name();
    let target =
        r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    let found = json_kind(body);
    let hex: String = body.to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
    let problem = format!("json: cannot unmarshal {found} into Go value of type {target} ({hex})");
    let message = format!(
        "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: {problem}"
    );
    ApiError::new(400, "BadRequest", message)
}

/// What was found on the way.
#[derive(Default)]
struct Decoder {
    unknown: Vec<String>,
    /// The first value that cannot be decoded.
    problem: Option<String>,
}

impl Decoder {
    fn fields(&mut self, shape: &'static Struct, mut given: Map<String, Value>, path: &Path) -> Map<String, Value> {
        let mut decoded = Map::new();
        for (name, field) in &shape.fields {
            let path = Path::Field { before: path, within: shape.short_name(), via: field.via, name };
            let value = match given.remove(*name) {
                None | Some(Value::Null) => None,
                Some(value) => Some(self.value(field.typed, value, &path)),
            };
            decoded.extend(self.written(field, value, &path).map(|value| ((*name).to_owned(), value)));
        }
        self.unknown.extend(given.keys().map(|name| path.json_of(name)));
        decoded
    }

    /// What becomes of a field with this value, or without one.
    fn written(&mut self, field: &Field, value: Option<Value>, path: &Path) -> Option<Value> {
        let tracked = field.typed.presence() == Presence::Tracked;
        match value {
            Some(value) if tracked || !is_zero(&value) => Some(value),
            value => match (field.typed.shape(), field.empty) {
                _ if tracked => (field.empty == WhenEmpty::Written).then_some(Value::Null),
                (shape, WhenEmpty::Omitted) if is_never_empty(shape) => value.or_else(|| Some(self.zero(shape, path))),
                (_, WhenEmpty::Omitted | WhenEmpty::OmittedEvenStructs) => None,
                (shape, WhenEmpty::Written) => value.or_else(|| Some(self.zero(shape, path))),
            },
        }
    }

    fn value(&mut self, typed: Type, value: Value, path: &Path) -> Value {
        match (typed.shape(), value) {
            (shape, Value::Null) => self.zero(shape, path),
            (Shape::Struct(shape), Value::Object(fields)) => Value::Object(self.fields(shape, fields, path)),
            (Shape::List(item), Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                items.map(|(index, value)| self.value(item, value, &Path::Index { before: path, index })).collect()
            }
            (Shape::Map(item), Value::Object(entries)) => {
                let entries = entries.into_iter().map(|(key, value)| {
                    let value = self.value(item, value, &Path::Key { before: path, key: &key });
                    (key, value)
                });
                Value::Object(entries.collect())
            }
            (shape, value) => scalar::decode(shape, value).unwrap_or_else(|problem| {
                self.problem.get_or_insert_with(|| problem.message(path, &typed.go_name()));
                Value::Null
            }),
        }
    }

    /// What Go has where nothing was given.
    fn zero(&mut self, shape: Shape, path: &Path) -> Value {
        match shape {
            Shape::Text | Shape::Bytes => json!(""),
            Shape::Int32 | Shape::Int64 | Shape::IntOrString => json!(0),
            Shape::Float => json!(0),
            Shape::Bool => json!(false),
            Shape::Quantity => json!("0"),
            Shape::Time | Shape::MicroTime | Shape::Any | Shape::List(_) | Shape::Map(_) => Value::Null,
            Shape::Struct(shape) => Value::Object(self.fields(shape, Map::new(), path)),
        }
    }
}

/// Whether Go would write it even where it is empty and may be left out: because it is a struct.
fn is_never_empty(shape: Shape) -> bool {
    matches!(shape, Shape::Struct(_) | Shape::Quantity | Shape::IntOrString | Shape::Time | Shape::MicroTime)
}

/// Whether Go takes a value for an empty one; structs are left to those who know the type.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    }
}
