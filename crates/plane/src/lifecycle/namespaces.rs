//! Namespaces: what they are created with, that nothing is created in one that is missing or ends, and how they end.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::api::meta;
use crate::api::resource::Resource;
use crate::builtin::namespace::{collection, is_held};
use crate::storage::deletion::{self, DeleteOptions, Propagation};
use crate::storage::replace::replace;
use crate::storage::state::{CONTROLLERS, State};
use crate::storage::store::{Change, ChangeType, Entry, within};

/// Deletes the content of a terminating namespace, and removes its finalizer after the last object.
pub(crate) fn on_change(state: &mut State, change: &Change, now: DateTime<Utc>) {
    if change.is_of(&collection()) && change.change_type == ChangeType::Modified && meta::is_deleting(&change.after) {
        empty(state, &change.name, now);
        finish(state, &change.name, now);
    }
    if let (ChangeType::Deleted, Some(namespace)) = (change.change_type, &change.namespace) {
        finish(state, namespace, now);
    }
}

/// Everything in a namespace, resource by resource.
fn content(state: &State, namespace: &str) -> Vec<(Arc<Resource>, Arc<Value>)> {
    let mut found = Vec::new();
    for (name, collection) in state.store.collections() {
        let Some(resource) = state.resource_of(name).filter(|resource| resource.is_namespaced()) else { continue };
        found.extend(within(collection, Some(namespace)).map(|(_, object)| (resource.clone(), object.clone())));
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
        deletion::delete(state, entry, &object, DeleteOptions::propagating(Propagation::Background));
    }
}

/// Removes the finalizer of a namespace without content.
fn finish(state: &mut State, namespace: &str, now: DateTime<Utc>) {
    let Some(object) = state.store.get(&collection(), namespace).cloned() else { return };
    if !meta::is_deleting(&object) || !is_held(&object) || !content(state, namespace).is_empty() {
        return;
    }
    let resource = state.resource_of(&collection()).expect("namespaces are built in");
    let entry = Entry { resource: &resource, namespace: None, name: namespace, by: CONTROLLERS, at: now };
    replace(state, entry, &object, released(&object));
}

fn released(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("finalizers");
    }
    object
}
