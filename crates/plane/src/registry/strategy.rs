//! The strategies for create and update: fields that the API server sets, fields that callers cannot change, and
//! the counting of generations.

use kedge_schema::FieldError;
use kedge_schema::Schema;
use serde_json::{Value, json};

use crate::api::error::ApiError;
use crate::api::meta;
use crate::api::resource::table::BUILT_IN;
use crate::api::resource::{Generation, Origin, Resource};
use crate::apiextensions::conversion::aside;
use crate::builtin::{self, creation, definition, namespace, service};

/// Which part of an object a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything but the status.
    Main,
    Status,
    /// The finalizers in a namespace's spec.
    Finalize,
}

/// The metadata that objects may have; `managedFields` and `selfLink` are not kept.
const METADATA: [&str; 13] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "uid",
];

/// Decodes an object of a request: sets `apiVersion` and `kind`, prunes unknown fields, applies defaults. Returns the paths of
/// the unknown fields.
pub(crate) fn read(resource: &Resource, object: &mut Value) -> Result<Vec<String>, ApiError> {
    name_kind(resource, object)?;
    let unknown = match &resource.origin {
        Origin::BuiltIn => builtin::decode(&resource.gvr, object)?,
        Origin::Custom { schema, .. } => read_custom(resource, schema, object)?,
    };
    tidy_metadata(object);
    match &resource.origin {
        Origin::BuiltIn => builtin::apply_defaults(&resource.gvr, object),
        Origin::Custom { schema, .. } => schema.default(object),
    }
    if definition::is_definition(resource) {
        definition::apply_defaults(object);
    }
    Ok(unknown)
}

fn read_custom(resource: &Resource, schema: &Schema, object: &mut Value) -> Result<Vec<String>, ApiError> {
    let mut unknown = match object.get_mut("metadata") {
        None | Some(Value::Null) => Vec::new(),
        Some(metadata) => builtin::decode::decode_metadata(metadata)
            .map_err(|problem| unhandled(resource, &resource.kind, &problem))?,
    };
    with_whole_numbers(object);
    aside(object, |content| {
        unknown.extend(schema.unknown_fields(content));
        schema.prune(content);
    });
    unknown.sort();
    Ok(unknown)
}

/// Floats without a fraction become integers.
fn with_whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) =
                number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15)
            {
                *value = json!(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(with_whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(with_whole_numbers),
        _ => {}
    }
}

/// The error for a body that cannot be decoded as an object of the resource.
pub(crate) fn unhandled(resource: &Resource, given_kind: &str, problem: &str) -> ApiError {
    let (version, kind) = (&resource.gvr.version, &resource.kind);
    ApiError::bad_request(format!("{given_kind} in version {version:?} cannot be handled as a {kind}: {problem}"))
}

/// Built-in kinds may omit `apiVersion` and `kind`, custom ones may not; other values are rejected.
fn name_kind(resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
    if !object.is_object() {
        return Err(ApiError::bad_request("the object provided is unrecognized (must be an object)"));
    }
    let text = |field: &str| object[field].as_str().unwrap_or("").to_owned();
    let (given_version, given_kind) = (text("apiVersion"), text("kind"));
    let expected_version = resource.gvr.api_version();
    match resource.is_custom() {
        true => check_custom_kind(resource, object, &given_version, &given_kind)?,
        false => check_built_in_kind(resource, object, &given_version, &given_kind)?,
    }
    object["apiVersion"] = json!(expected_version);
    object["kind"] = json!(resource.kind);
    Ok(())
}

fn check_custom_kind(resource: &Resource, object: &Value, version: &str, kind: &str) -> Result<(), ApiError> {
    let expected = resource.gvr.api_version();
    if kind.is_empty() {
        let sent = object.to_string();
        let summary =
            if sent.len() > 30 { format!("{} ...", &sent[..sent.floor_char_boundary(30)]) } else { sent.clone() };
        let must = format!("the object provided is unrecognized (must be of type {})", resource.kind);
        return Err(ApiError::bad_request(format!("{must}: Object 'Kind' is missing in '{sent}' ({summary})")));
    }
    if version != expected {
        let message =
            format!("the API version in the data ({version}) does not match the expected API version ({expected})");
        return Err(ApiError::bad_request(message));
    }
    if kind != resource.kind {
        let problem = FieldError::invalid("kind", &json!(kind), &format!("must be {}", resource.kind));
        return Err(ApiError::invalid(&resource.gvr.group, kind, meta::name(object), &[problem]));
    }
    Ok(())
}

fn check_built_in_kind(resource: &Resource, object: &Value, version: &str, kind: &str) -> Result<(), ApiError> {
    let expected = resource.gvr.api_version();
    let version = if version.is_empty() { &expected } else { version };
    let kind = if kind.is_empty() { &resource.kind } else { kind };
    if version == expected && kind == resource.kind {
        return Ok(());
    }
    let package = version.rsplit('/').next().unwrap_or("");
    let ours = resource.gvr.group.split('.').next().filter(|group| !group.is_empty()).unwrap_or("core");
    let other = BUILT_IN.values().find(|other| other.kind == kind && other.gvr.api_version() == version);
    if let Some(other) = other {
        builtin::decode(&other.gvr, &mut object.clone())?;
    }
    let problem = match other {
        Some(_) => format!("converting ({package}.{kind}) to ({ours}.{}): unknown conversion", resource.kind),
        None => {
            format!("no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\"")
        }
    };
    Err(unhandled(resource, kind, &problem))
}

/// Unknown and empty metadata is not kept.
fn tidy_metadata(object: &mut Value) {
    meta::metadata_mut(object).retain(|field, value| METADATA.contains(&field.as_str()) && !is_empty(value));
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Sets the fields of a new object that callers cannot choose. The number is unique to the object.
pub(crate) fn creation(resource: &Resource, object: &mut Value, uid: &str, number: u64, created_at: &str) {
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        meta::metadata_mut(object).remove(field);
    }
    meta::set_text(object, "uid", uid);
    meta::set_text(object, "creationTimestamp", created_at);
    if resource.generation != Generation::Absent {
        meta::set(object, "generation", json!(1));
    }
    if resource.has_status
        && let Some(map) = object.as_object_mut()
    {
        map.remove("status");
        if !resource.is_custom() {
            builtin::decode(&resource.stored, object).expect("it was decoded already");
            builtin::apply_defaults(&resource.stored, object);
        }
    }
    if resource.is("", "namespaces") {
        namespace::prepare(object, None);
    }
    if definition::is_definition(resource) {
        definition::begin(object);
    }
    if resource.is("", "services") {
        service::prepare(object, number);
    }
    match (resource.gvr.group.as_str(), resource.gvr.plural.as_str()) {
        ("", "pods") => creation::pod(object),
        ("batch", "jobs") => creation::job(object),
        _ => {}
    }
}

/// Restores the fields that an update cannot change.
pub(crate) fn update(resource: &Resource, part: Part, object: &mut Value, old: &Value) {
    match part {
        Part::Main => keep_status(resource, object, old),
        Part::Status => keep_all_but_status(resource, object, old),
        Part::Finalize => keep_all_but_finalizers(object, old),
    }
    meta::copy(object, old, "generation");
    if part == Part::Main && is_next_generation(resource, object, old) {
        meta::set(object, "generation", json!(meta::generation(old) + 1));
    }
    keep_metadata(object, old);
}

fn keep_status(resource: &Resource, object: &mut Value, old: &Value) {
    if resource.has_status {
        meta::copy_top(object, old, "status");
    }
    if resource.is("", "namespaces") {
        namespace::prepare(object, Some(old));
    }
    if resource.is("", "services") {
        service::update(object, old);
    }
}

/// Custom resources take only the status; built-in kinds also take most metadata.
fn keep_all_but_status(resource: &Resource, object: &mut Value, old: &Value) {
    if resource.is_custom() {
        let mut kept = old.clone();
        meta::copy_top(&mut kept, object, "status");
        meta::copy(&mut kept, object, "resourceVersion");
        *object = kept;
        return;
    }
    meta::copy_top(object, old, "spec");
    let kept: &[&str] = match resource.gvr.plural.as_str() {
        "deployments" => &["labels"],
        "pods" => &["ownerReferences"],
        "apiservices" => &["labels", "annotations", "finalizers", "ownerReferences"],
        _ => &[],
    };
    kept.iter().for_each(|field| meta::copy(object, old, field));
}

fn keep_all_but_finalizers(object: &mut Value, old: &Value) {
    let finalizers = object["spec"]["finalizers"].take();
    meta::copy_top(object, old, "spec");
    meta::copy_top(object, old, "status");
    namespace::label(object);
    match finalizers.as_array().is_some_and(|list| !list.is_empty()) {
        true => object["spec"]["finalizers"] = finalizers,
        false => drop(object["spec"].as_object_mut().and_then(|spec| spec.remove("finalizers"))),
    }
}

/// What an update can never change.
fn keep_metadata(object: &mut Value, old: &Value) {
    if meta::uid(object).is_empty() {
        meta::copy(object, old, "uid");
    }
    meta::copy(object, old, "creationTimestamp");
    meta::copy(object, old, "deletionTimestamp");
    if object["metadata"]["deletionGracePeriodSeconds"].is_null() {
        meta::copy(object, old, "deletionGracePeriodSeconds");
    }
    if meta::namespace(object).is_none() {
        meta::copy(object, old, "namespace");
    }
}

fn is_next_generation(resource: &Resource, object: &Value, old: &Value) -> bool {
    match resource.generation {
        Generation::Absent => false,
        Generation::Spec => object["spec"] != old["spec"],
        Generation::SpecAndAnnotations => {
            object["spec"] != old["spec"] || object["metadata"]["annotations"] != old["metadata"]["annotations"]
        }
        Generation::Content => content(object).ne(content(old)),
    }
}

/// Everything but the metadata. (A status that is a subresource is the old one by now.)
fn content(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten().filter(|(field, _)| *field != "metadata")
}
