//! Namespaces: what they are created with, that nothing is created in one that is missing or ends, and how they end.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::meta;
use crate::removal::{self, Manner, Propagation};
use crate::resource::{GroupResource, Resource};
use crate::state::{CONTROLLERS, State};
use crate::store::{Change, Entry, Happened, within};
use crate::write;

/// The finalizer in the spec that keeps a namespace until its content is gone.
const FINALIZER: &str = "kubernetes";

/// These cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

pub(crate) fn shelf() -> GroupResource {
    GroupResource::new("", "namespaces")
}

/// What the API server writes into a namespace itself.
pub(crate) fn prepare(object: &mut Value, old: Option<&Value>) {
    match old {
        Some(old) => {
            meta::copy_top(object, old, "spec");
            meta::copy_top(object, old, "status");
        }
        None => {
            let given = meta::texts(&object["spec"]["finalizers"]).filter(|name| *name != FINALIZER);
            let finalizers: Vec<String> = [FINALIZER].into_iter().chain(given).map(str::to_owned).collect();
            object["spec"] = json!({ "finalizers": finalizers });
            object["status"] = json!({ "phase": "Active" });
        }
    }
    label(object);
}

/// Every namespace is labelled with its name.
pub(crate) fn label(object: &mut Value) {
    let name = meta::name(object).to_owned();
    meta::of(object).entry("labels").or_insert_with(|| json!({}))["kubernetes.io/metadata.name"] = json!(name);
}

/// Whether an object may be created in its namespace.
pub(crate) fn admit_creation(
    state: &State,
    resource: &Resource,
    namespace: Option<&str>,
    name: &str,
) -> Result<(), ApiError> {
    let Some(namespace) = namespace.filter(|_| resource.is_namespaced()) else { return Ok(()) };
    let found = state.store.get(&shelf(), namespace).ok_or_else(|| ApiError::not_found(&shelf(), namespace))?;
    if !meta::is_deleting(found) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut refusal = ApiError::forbidden(&resource.group_resource(), name, &why);
    let message = format!("namespace {namespace} is being terminated");
    let cause = json!({ "reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace" });
    if let Some(details) = &mut refusal.details {
        details["causes"] = json!([cause]);
    }
    Err(refusal)
}

/// Whether an object may be deleted: some namespaces may not.
pub(crate) fn admit_deletion(resource: &Resource, name: &str) -> Result<(), ApiError> {
    match resource.is("", "namespaces") && IMMORTAL.contains(&name) {
        true => Err(ApiError::forbidden(&shelf(), name, "this namespace may not be deleted")),
        false => Ok(()),
    }
}

/// Whether the content of a namespace still holds it.
pub(crate) fn is_held(object: &Value) -> bool {
    meta::texts(&object["spec"]["finalizers"]).next().is_some()
}

/// A namespace that begins to end loses its content; one that loses its last object may go.
pub(crate) fn follow(state: &mut State, change: &Change, now: DateTime<Utc>) {
    if change.is_of(&shelf()) && change.happened == Happened::Modified && meta::is_deleting(&change.after) {
        empty(state, &change.name, now);
        finish(state, &change.name, now);
    }
    if let (Happened::Deleted, Some(namespace)) = (change.happened, &change.namespace) {
        finish(state, namespace, now);
    }
}

/// Everything in a namespace, resource by resource.
fn content(state: &State, namespace: &str) -> Vec<(Arc<Resource>, Arc<Value>)> {
    let mut found = Vec::new();
    for (name, shelf) in state.store.shelves() {
        let Some(resource) = state.resource_of(name).filter(|resource| resource.is_namespaced()) else { continue };
        found.extend(within(shelf, Some(namespace)).map(|(_, object)| (resource.clone(), object.clone())));
    }
    found
}

fn empty(state: &mut State, namespace: &str, now: DateTime<Utc>) {
    for (resource, object) in content(state, namespace) {
        let entry = Entry {
            resource: &resource,
            namespace: Some(namespace),
            name: meta::name(&object),
            by: CONTROLLERS,
            at: now,
        };
        removal::remove(state, entry, &object, Manner::propagating(Propagation::Background));
    }
}

/// The content no longer holds it; other finalizers may.
fn finish(state: &mut State, namespace: &str, now: DateTime<Utc>) {
    let Some(object) = state.store.get(&shelf(), namespace).cloned() else { return };
    if !meta::is_deleting(&object) || !is_held(&object) || !content(state, namespace).is_empty() {
        return;
    }
    let resource = state.resource_of(&shelf()).expect("namespaces are built in");
    let entry = Entry { resource: &resource, namespace: None, name: namespace, by: CONTROLLERS, at: now };
    write::replace(state, entry, &object, released(&object));
}

fn released(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("finalizers");
    }
    object
}
