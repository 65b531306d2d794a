//! What the API server does to an object on its way in: fields that are its own, fields that the caller may not touch, and
//! the counting of generations.

use serde_json::{Value, json};

use crate::builtin;
use crate::crd;
use crate::error::{ApiError, FieldProblem};
use crate::meta;
use crate::namespace;
use crate::resource::table::BUILT_IN;
use crate::resource::{Generation, Origin, Resource};

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

/// Reads what a caller sent: says what it is, and drops what nobody knows.
pub(crate) fn decode(resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
    name_kind(resource, object)?;
    match &resource.origin {
        Origin::BuiltIn => drop(builtin::decode(&resource.gvr, object)?),
        Origin::Custom { schema } => aside(object, |content| schema.prune(content)),
    }
    tidy_metadata(object);
    Ok(())
}

/// Fills in what is left out.
pub(crate) fn complete(resource: &Resource, object: &mut Value) {
    match &resource.origin {
        Origin::BuiltIn => {
            builtin::complete(&resource.gvr, object);
            if crd::is_definition(resource) {
                crd::complete(object);
            }
        }
        Origin::Custom { schema } => schema.default(object),
    }
}

/// Prunes without the fields that every object has.
fn aside(object: &mut Value, prune: impl FnOnce(&mut Value)) {
    let Some(map) = object.as_object_mut() else { return };
    let kept = ["apiVersion", "kind", "metadata"].map(|field| (field, map.remove(field)));
    prune(object);
    for (field, value) in kept {
        if let Some(value) = value {
            object[field] = value;
        }
    }
}

/// Built-in kinds may leave out what they are; custom ones may not, and nobody may say something else.
fn name_kind(resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
    let (kind, expected) = (&resource.kind, resource.gvr.api_version());
    let text = |field: &str| object[field].as_str().unwrap_or("");
    let (given, given_kind) = (text("apiVersion"), text("kind"));
    if !object.is_object() || resource.is_custom() && given_kind.is_empty() {
        let what = format!("Object 'Kind' is missing in '{object}' ({object})");
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {what}"
        )));
    }
    if !resource.is_custom() && !given_kind.is_empty() {
        check_registered(resource, given, given_kind)?;
    }
    if !given.is_empty() && given != expected {
        let message =
            format!("the API version in the data ({given}) does not match the expected API version ({expected})");
        return Err(ApiError::bad_request(message));
    }
    if !given_kind.is_empty() && given_kind != kind {
        let problem = FieldProblem::invalid("kind", &json!(given_kind), &format!("must be {kind}"));
        return Err(ApiError::invalid(&resource.gvr.group, given_kind, meta::name(object), &[problem]));
    }
    object["apiVersion"] = json!(expected);
    object["kind"] = json!(kind);
    Ok(())
}

/// Another built-in kind cannot be converted to this one; what is no kind at all is not known.
fn check_registered(resource: &Resource, given: &str, given_kind: &str) -> Result<(), ApiError> {
    let kind = &resource.kind;
    if given_kind == kind && (given.is_empty() || given == resource.gvr.api_version()) {
        return Ok(());
    }
    let version = given.rsplit('/').next().unwrap_or(given);
    let is_known =
        |other: &Resource| other.kind == given_kind && (given.is_empty() || other.gvr.api_version() == given);
    let why = match BUILT_IN.values().any(|other| is_known(other)) {
        true if given_kind == kind => return Ok(()),
        true => format!(
            "converting ({version}.{given_kind}) to ({}.{kind}): unknown conversion",
            internal_package(&resource.gvr.group)
        ),
        false => format!(
            "no kind {given_kind:?} is registered for version {given:?} in scheme \"pkg/runtime/scheme.go:111\""
        ),
    };
    Err(ApiError::bad_request(format!("{given_kind} in version {version:?} cannot be handled as a {kind}: {why}")))
}

/// What the API server calls its own types of a group.
pub(crate) fn internal_package(group: &str) -> &str {
    if group.is_empty() { "core" } else { group.split('.').next().unwrap_or(group) }
}

/// Unknown and empty metadata is not kept.
fn tidy_metadata(object: &mut Value) {
    meta::of(object).retain(|field, value| METADATA.contains(&field.as_str()) && !is_empty(value));
}

pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// A new object, before it has a name: what callers may not decide.
pub(crate) fn creation(resource: &Resource, object: &mut Value, uid: &str, created_at: &str) {
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        meta::of(object).remove(field);
    }
    meta::set_text(object, "uid", uid);
    meta::set_text(object, "creationTimestamp", created_at);
    if resource.generation != Generation::Absent {
        meta::set(object, "generation", json!(1));
    }
    set_first_status(resource, object);
    if resource.is("", "namespaces") {
        namespace::prepare(object, None);
    }
    if crd::is_definition(resource) {
        crd::prepare(object);
    }
}

/// A status that is a subresource is not the caller's. Built-in kinds begin with the fields that are always written.
fn set_first_status(resource: &Resource, object: &mut Value) {
    let Some(map) = object.as_object_mut().filter(|_| resource.has_status) else { return };
    map.remove("status");
    if !resource.is_custom() {
        map.insert("status".to_owned(), first_status(&resource.gvr.plural));
    }
}

fn first_status(plural: &str) -> Value {
    match plural {
        "pods" => json!({ "phase": "Pending" }),
        "services" => json!({ "loadBalancer": {} }),
        "replicasets" | "replicationcontrollers" => json!({ "replicas": 0 }),
        "statefulsets" => json!({ "replicas": 0, "availableReplicas": 0 }),
        "daemonsets" => {
            json!({ "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0 })
        }
        "horizontalpodautoscalers" => json!({ "desiredReplicas": 0, "currentMetrics": null }),
        "poddisruptionbudgets" => {
            json!({ "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0 })
        }
        _ => json!({}),
    }
}

/// An object that replaces another: what callers may not change.
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
}

/// Custom resources take nothing but the status; built-in kinds let most metadata through.
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
