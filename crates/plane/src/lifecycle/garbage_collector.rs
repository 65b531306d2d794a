//! Garbage collection by owner references: an object whose owners are all gone goes too; finalizers make an owner wait for
//! its dependents, or let them go first.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::api::meta;
use crate::api::resource::Resource;
use crate::storage::deletion::{self, DeleteOptions, FOREGROUND, ORPHAN, Propagation};
use crate::storage::replace::replace;
use crate::storage::state::{CONTROLLERS, State};
use crate::storage::store::{Change, ChangeType, Entry, ObjectRef};

/// Collects garbage after a change.
pub(crate) fn on_change(state: &mut State, change: &Change, now: DateTime<Utc>) {
    let uid = meta::uid(&change.after);
    if change.change_type == ChangeType::Deleted {
        collect_each(state, &state.store.owners().dependents(uid), now);
    } else if meta::is_deleting(&change.after) {
        release_dependents(state, &change.after, now);
    }
    if change.change_type != ChangeType::Deleted && !meta::owners(&change.after).is_empty() {
        let object_ref = state.store.owners().locate(uid).cloned();
        collect_each(state, object_ref.as_slice(), now);
    }
    finish_waiting_owners(state, change, now);
}

fn collect_each(state: &mut State, object_refs: &[ObjectRef], now: DateTime<Utc>) {
    object_refs.iter().for_each(|object_ref| collect(state, object_ref, now));
}

/// The state of an owner, for one of its dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Solid,
    Gone,
    /// It waits for this dependent to be deleted.
    Waiting,
}

fn owner(state: &State, reference: &Value) -> Owner {
    let found = reference["uid"].as_str().and_then(|uid| state.store.owners().locate(uid));
    let Some((collection, key)) = found else {
        // An owner of an unknown kind counts as existing.
        return if is_served(state, reference) { Owner::Gone } else { Owner::Solid };
    };
    let waits = |object: &Arc<Value>| meta::is_deleting(object) && meta::has_finalizer(object, FOREGROUND);
    match state.store.get(collection, key).is_some_and(waits) && reference["blockOwnerDeletion"] == true {
        true => Owner::Waiting,
        false => Owner::Solid,
    }
}

fn is_served(state: &State, reference: &Value) -> bool {
    let (version, kind) = (reference["apiVersion"].as_str().unwrap_or(""), reference["kind"].as_str().unwrap_or(""));
    state.resources().any(|resource| resource.kind == kind && resource.gvr.api_version() == version)
}

/// Deletes a dependent without owners, or removes references to absent owners.
fn collect(state: &mut State, object_ref: &ObjectRef, now: DateTime<Utc>) {
    let Some((resource, object)) = look_up(state, object_ref) else { return };
    let owners: Vec<_> = meta::owners(&object).iter().map(|reference| owner(state, reference)).collect();
    if owners.iter().all(|owner| *owner == Owner::Solid) {
        return;
    }
    if owners.contains(&Owner::Solid) {
        let solid = meta::owners(&object).iter().zip(&owners).filter(|(_, owner)| **owner == Owner::Solid);
        let kept: Vec<Value> = solid.map(|(reference, _)| reference.clone()).collect();
        return set_owners(state, &resource, &object, kept, now);
    }
    if meta::is_deleting(&object) {
        return;
    }
    let has_dependents = !state.store.owners().dependents(meta::uid(&object)).is_empty();
    let propagation = match owners.contains(&Owner::Waiting) && has_dependents {
        true => Propagation::Foreground,
        false => by_finalizers(&object),
    };
    deletion::delete(state, entry(&resource, &object, now), &object, DeleteOptions::propagating(propagation));
}

fn by_finalizers(object: &Value) -> Propagation {
    match (meta::has_finalizer(object, ORPHAN), meta::has_finalizer(object, FOREGROUND)) {
        (true, _) => Propagation::Orphan,
        (_, true) => Propagation::Foreground,
        _ => Propagation::Background,
    }
}

/// A deleted owner orphans or deletes its dependents, by its finalizers.
fn release_dependents(state: &mut State, owner: &Arc<Value>, now: DateTime<Utc>) {
    let uid = meta::uid(owner);
    let dependents = state.store.owners().dependents(uid);
    if meta::has_finalizer(owner, ORPHAN) {
        for (resource, object) in
            dependents.iter().filter_map(|object_ref| look_up(state, object_ref)).collect::<Vec<_>>()
        {
            let kept = meta::owners(&object).iter().filter(|reference| reference["uid"] != uid).cloned().collect();
            set_owners(state, &resource, &object, kept, now);
        }
        take_finalizer(state, uid, ORPHAN, now);
    }
    if meta::has_finalizer(owner, FOREGROUND) {
        collect_each(state, &dependents, now);
        finish_if_alone(state, uid, now);
    }
}

/// OwnerIndex that waited for this object may go now.
fn finish_waiting_owners(state: &mut State, change: &Change, now: DateTime<Utc>) {
    let before = change.before.as_deref().into_iter().flat_map(meta::owner_uids);
    for uid in before.map(str::to_owned).collect::<Vec<_>>() {
        finish_if_alone(state, &uid, now);
    }
}

fn finish_if_alone(state: &mut State, uid: &str, now: DateTime<Utc>) {
    let blocks = |object: &Arc<Value>| {
        meta::owners(object).iter().any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true)
    };
    let is_waiting = held_by(state, uid, FOREGROUND).is_some();
    let object_refs = if is_waiting { state.store.owners().dependents(uid) } else { return };
    if !object_refs.iter().filter_map(|(collection, key)| state.store.get(collection, key)).any(blocks) {
        take_finalizer(state, uid, FOREGROUND, now);
    }
}

/// The object of a uid, if it is being deleted and has this finalizer.
fn held_by(state: &State, uid: &str, finalizer: &str) -> Option<ObjectRef> {
    let object_ref = state.store.owners().locate(uid)?;
    let object = state.store.get(&object_ref.0, &object_ref.1)?;
    (meta::is_deleting(object) && meta::has_finalizer(object, finalizer)).then(|| object_ref.clone())
}

fn take_finalizer(state: &mut State, uid: &str, finalizer: &str, now: DateTime<Utc>) {
    let Some((resource, object)) = held_by(state, uid, finalizer).and_then(|object_ref| look_up(state, &object_ref))
    else {
        return;
    };
    let mut freed = Value::clone(&object);
    meta::set_finalizers(&mut freed, meta::without_finalizer(&object, finalizer));
    replace(state, entry(&resource, &object, now), &object, freed);
}

fn set_owners(state: &mut State, resource: &Resource, object: &Arc<Value>, owners: Vec<Value>, now: DateTime<Utc>) {
    let mut changed = Value::clone(object);
    match owners.is_empty() {
        true => drop(meta::metadata_mut(&mut changed).remove("ownerReferences")),
        false => meta::set(&mut changed, "ownerReferences", json!(owners)),
    }
    replace(state, entry(resource, object, now), object, changed);
}

fn look_up(state: &State, (collection, key): &ObjectRef) -> Option<(Arc<Resource>, Arc<Value>)> {
    Some((state.resource_of(collection)?, state.store.get(collection, key)?.clone()))
}

fn entry<'a>(resource: &'a Resource, object: &'a Value, now: DateTime<Utc>) -> Entry<'a> {
    Entry { resource, namespace: meta::namespace(object), name: meta::name(object), by: CONTROLLERS, at: now }
}
