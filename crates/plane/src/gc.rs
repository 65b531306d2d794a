//! Garbage collection by owner references: an object whose owners are all gone goes too; finalizers make an owner wait for
//! its dependents, or let them go first.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::meta;
use crate::removal::{self, FOREGROUND, Manner, ORPHAN, Propagation};
use crate::resource::Resource;
use crate::state::{CONTROLLERS, State};
use crate::store::{Change, Entry, Happened, Place};
use crate::write;

/// What a change means for owners and dependents.
pub(crate) fn follow(state: &mut State, change: &Change, now: DateTime<Utc>) {
    let uid = meta::uid(&change.after);
    if change.happened == Happened::Deleted {
        collect_each(state, &state.store.owners().dependents(uid), now);
    } else if meta::is_deleting(&change.after) {
        release_dependents(state, &change.after, now);
    }
    if change.happened != Happened::Deleted && !meta::owners(&change.after).is_empty() {
        let place = state.store.owners().place(uid).cloned();
        collect_each(state, place.as_slice(), now);
    }
    finish_waiting_owners(state, change, now);
}

fn collect_each(state: &mut State, places: &[Place], now: DateTime<Utc>) {
    places.iter().for_each(|place| collect(state, place, now));
}

/// How an owner is, as one of its dependents sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Solid,
    Gone,
    /// It waits for this dependent to go.
    Waiting,
}

fn owner(state: &State, reference: &Value) -> Owner {
    let found = reference["uid"].as_str().and_then(|uid| state.store.owners().place(uid));
    let Some((shelf, key)) = found else {
        // Whose kind is unknown cannot be looked for.
        return if is_served(state, reference) { Owner::Gone } else { Owner::Solid };
    };
    let waits = |object: &Arc<Value>| meta::is_deleting(object) && meta::has_finalizer(object, FOREGROUND);
    match state.store.get(shelf, key).is_some_and(waits) && reference["blockOwnerDeletion"] == true {
        true => Owner::Waiting,
        false => Owner::Solid,
    }
}

fn is_served(state: &State, reference: &Value) -> bool {
    let (version, kind) = (reference["apiVersion"].as_str().unwrap_or(""), reference["kind"].as_str().unwrap_or(""));
    state.resources().any(|resource| resource.kind == kind && resource.gvr.api_version() == version)
}

/// Deletes a dependent that nobody owns any more, or takes owners that are gone off it.
fn collect(state: &mut State, place: &Place, now: DateTime<Utc>) {
    let Some((resource, object)) = look_up(state, place) else { return };
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
    removal::remove(state, entry(&resource, &object, now), &object, Manner::propagating(propagation));
}

fn by_finalizers(object: &Value) -> Propagation {
    match (meta::has_finalizer(object, ORPHAN), meta::has_finalizer(object, FOREGROUND)) {
        (true, _) => Propagation::Orphan,
        (_, true) => Propagation::Foreground,
        _ => Propagation::Background,
    }
}

/// An owner that is marked lets its dependents go, or makes them go, as its finalizers say.
fn release_dependents(state: &mut State, owner: &Arc<Value>, now: DateTime<Utc>) {
    let uid = meta::uid(owner);
    let dependents = state.store.owners().dependents(uid);
    if meta::has_finalizer(owner, ORPHAN) {
        for (resource, object) in dependents.iter().filter_map(|place| look_up(state, place)).collect::<Vec<_>>() {
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

/// Owners that waited for this object may go now.
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
    let places = if is_waiting { state.store.owners().dependents(uid) } else { return };
    if !places.iter().filter_map(|(shelf, key)| state.store.get(shelf, key)).any(blocks) {
        take_finalizer(state, uid, FOREGROUND, now);
    }
}

/// The object of a uid, if it is marked and this finalizer is among those that keep it.
fn held_by(state: &State, uid: &str, finalizer: &str) -> Option<Place> {
    let place = state.store.owners().place(uid)?;
    let object = state.store.get(&place.0, &place.1)?;
    (meta::is_deleting(object) && meta::has_finalizer(object, finalizer)).then(|| place.clone())
}

fn take_finalizer(state: &mut State, uid: &str, finalizer: &str, now: DateTime<Utc>) {
    let Some((resource, object)) = held_by(state, uid, finalizer).and_then(|place| look_up(state, &place)) else {
        return;
    };
    let mut freed = Value::clone(&object);
    meta::set_finalizers(&mut freed, meta::without_finalizer(&object, finalizer));
    write::replace(state, entry(&resource, &object, now), &object, freed);
}

fn set_owners(state: &mut State, resource: &Resource, object: &Arc<Value>, owners: Vec<Value>, now: DateTime<Utc>) {
    let mut changed = Value::clone(object);
    match owners.is_empty() {
        true => drop(meta::of(&mut changed).remove("ownerReferences")),
        false => meta::set(&mut changed, "ownerReferences", json!(owners)),
    }
    write::replace(state, entry(resource, object, now), object, changed);
}

fn look_up(state: &State, (shelf, key): &Place) -> Option<(Arc<Resource>, Arc<Value>)> {
    Some((state.resource_of(shelf)?, state.store.get(shelf, key)?.clone()))
}

fn entry<'a>(resource: &'a Resource, object: &'a Value, now: DateTime<Utc>) -> Entry<'a> {
    Entry { resource, namespace: meta::namespace(object), name: meta::name(object), by: CONTROLLERS, at: now }
}
