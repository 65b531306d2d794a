//! Custom resource definitions: what they make served, what is written into their status, and how they go.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use kedge_schema::Schema;
use kedge_schema::metadata::Scope;
use serde_json::{Value, json};

use crate::api::meta;
use crate::api::resource::{
    Generation, GroupResource, Gvr, Origin, Persistence, PutRules, Resource, ScalePaths, Selector,
};
use crate::api::table::Column;
use crate::builtin::definition::{CLEANUP, condition, remember_stored, set_condition};
use crate::storage::deletion::{self, DeleteOptions};
use crate::storage::replace::replace;
use crate::storage::state::{CONTROLLERS, State};
use crate::storage::store::{Change, ChangeType, Entry, key};

fn collection() -> GroupResource {
    GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Serves a changed definition.
pub(crate) fn on_change(state: &mut State, change: &Change, now: DateTime<Utc>) {
    let definition = &change.after;
    match change.change_type {
        ChangeType::Deleted => {
            state.customs_since.remove(&defined(definition));
            forget(state, definition);
            return offer_names(state, definition, now);
        }
        ChangeType::Added => drop(state.customs_since.insert(defined(definition), change.revision)),
        ChangeType::Modified => {}
    }
    if change.before.as_ref().is_none_or(|before| before["spec"] != definition["spec"]) {
        forget(state, definition);
        serve(state, definition);
    }
    match meta::is_deleting(definition) {
        true => empty(state, definition, now),
        false => accept(state, definition, now),
    }
}

/// Serves the resources of a definition, unless its names conflict.
fn serve(state: &mut State, definition: &Value) {
    let taken = names_of_others(state, definition);
    let (_, conflict) = acceptable(&definition["spec"]["names"], &Value::Null, &taken);
    if conflict.is_none() || condition(definition, "Established") == Some("True") {
        let served = resources(definition).into_iter().map(|resource| (resource.gvr.clone(), Arc::new(resource)));
        state.customs.extend(served);
    }
}

/// Accepts the names of another definition of the group that are free now.
fn offer_names(state: &mut State, gone: &Value, now: DateTime<Utc>) {
    let is_waiting = |other: &&Arc<Value>| {
        other["spec"]["group"] == gone["spec"]["group"] && condition(other, "NamesAccepted") == Some("False")
    };
    let waiting: Vec<Arc<Value>> = state.store.collection(&collection()).values().filter(is_waiting).cloned().collect();
    for other in waiting {
        serve(state, &other);
        accept(state, &other, now);
    }
}

/// Completes the deletion of a definition after its last object.
pub(crate) fn on_instance_change(state: &mut State, change: &Change, now: DateTime<Utc>) {
    let name = format!("{}.{}", change.resource.plural, change.resource.group);
    if change.change_type == ChangeType::Deleted
        && let Some(definition) = state.store.get(&collection(), &name).cloned()
        && meta::is_deleting(&definition)
    {
        finish(state, &definition, now);
    }
}

fn defined(definition: &Value) -> GroupResource {
    let spec = &definition["spec"];
    GroupResource::new(spec["group"].as_str().unwrap_or(""), spec["names"]["plural"].as_str().unwrap_or(""))
}

fn forget(state: &mut State, definition: &Value) {
    let defined = defined(definition);
    state.customs.retain(|_, resource| resource.collection != defined);
}

/// One resource for each version that is served; the stored one always, for those that are stored.
fn resources(definition: &Value) -> Vec<Resource> {
    let versions = definition["spec"]["versions"].as_array().map_or(&[][..], Vec::as_slice);
    let Some(stored) = versions.iter().find(|version| version["storage"] == true) else { return Vec::new() };
    versions
        .iter()
        .filter(|version| version["served"] == true)
        .filter_map(|version| resource(definition, version, stored))
        .collect()
}

fn resource(definition: &Value, version: &Value, stored: &Value) -> Option<Resource> {
    let (spec, names) = (&definition["spec"], &definition["spec"]["names"]);
    let defined = defined(definition);
    let gvr = |version: &Value| Some(Gvr::new(&defined.group, version["name"].as_str()?, &defined.plural));
    let kind = names["kind"].as_str()?.to_owned();
    let texts = |field: &str| meta::texts(&names[field]).map(str::to_owned).collect();
    Some(Resource {
        gvr: gvr(version)?,
        stored: gvr(stored)?,
        list_kind: names["listKind"].as_str().map_or_else(|| format!("{kind}List"), str::to_owned),
        singular: names["singular"].as_str().map_or_else(|| kind.to_lowercase(), str::to_owned),
        kind,
        short_names: texts("shortNames"),
        categories: texts("categories"),
        scope: if spec["scope"] == "Cluster" { Scope::Cluster } else { Scope::Namespaced },
        persistence: Persistence::Stored,
        generation: Generation::Content,
        put: PutRules { creates: false, unconditional: false },
        has_status: !version["subresources"]["status"].is_null(),
        scale: scale(&version["subresources"]["scale"]),
        selectable: selectable(version),
        columns: Column::of_definition(version),
        returns_deleted: false,
        origin: Origin::Custom { schema: Arc::new(schema(version)?), stored: stored_schema(spec, stored) },
        collection: defined,
    })
}

/// The fields that a version lets be selected by: `spec.color`.
fn selectable(version: &Value) -> Vec<String> {
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    fields.filter_map(|field| field["jsonPath"].as_str()?.strip_prefix('.')).map(str::to_owned).collect()
}

/// The schema that stored objects are read by, where they may have been written by another.
fn stored_schema(spec: &Value, stored: &Value) -> Option<Arc<Schema>> {
    let several = spec["versions"].as_array().is_some_and(|versions| versions.len() > 1);
    several.then(|| schema(stored).map(Arc::new)).flatten()
}

fn schema(version: &Value) -> Option<Schema> {
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let given = &version["schema"]["openAPIV3Schema"];
    Schema::compile(if given.is_null() { &anything } else { given }).ok()
}

fn scale(scale: &Value) -> Option<ScalePaths> {
    Some(ScalePaths {
        spec_replicas: scale["specReplicasPath"].as_str()?.to_owned(),
        status_replicas: scale["statusReplicasPath"].as_str()?.to_owned(),
        selector: Selector::Text(scale["labelSelectorPath"].as_str().map(str::to_owned)),
    })
}

/// Accepts the names of a definition, unless others of the group have them.
fn accept(state: &mut State, definition: &Arc<Value>, now: DateTime<Utc>) {
    let mut accepted = Value::clone(definition);
    let taken = names_of_others(state, definition);
    let (names, conflict) = acceptable(&definition["spec"]["names"], &definition["status"]["acceptedNames"], &taken);
    accepted["status"]["acceptedNames"] = names;
    match conflict {
        None => {
            set_condition(&mut accepted, "NamesAccepted", ("True", "NoConflicts", "no conflicts found"), now);
            let established = ("True", "InitialNamesAccepted", "the initial names have been accepted");
            set_condition(&mut accepted, "Established", established, now);
        }
        Some((reason, message)) => {
            set_condition(&mut accepted, "NamesAccepted", ("False", reason, &message), now);
            if condition(&accepted, "Established").is_none() {
                set_condition(
                    &mut accepted,
                    "Established",
                    ("False", "NotAccepted", "not all names are accepted"),
                    now,
                );
            }
        }
    }
    remember_stored(&mut accepted);
    replace_definition(state, definition, accepted, now);
}

/// The names that other definitions of the group have: of resources, and of kinds.
fn names_of_others(state: &State, definition: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut resources, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for other in state.store.collection(&collection()).values() {
        let names = &other["status"]["acceptedNames"];
        if meta::name(other) == meta::name(definition) || other["spec"]["group"] != definition["spec"]["group"] {
            continue;
        }
        let texts = [&names["plural"], &names["singular"]].into_iter().filter_map(Value::as_str);
        resources.extend(texts.chain(meta::texts(&names["shortNames"])).map(str::to_owned));
        kinds.extend([&names["kind"], &names["listKind"]].into_iter().filter_map(Value::as_str).map(str::to_owned));
    }
    (resources, kinds)
}

/// The wanted names that are free, and the condition for the last that is not.
fn acceptable(
    wanted: &Value,
    before: &Value,
    (resources, kinds): &(BTreeSet<String>, BTreeSet<String>),
) -> (Value, Option<(&'static str, String)>) {
    const SINGLE: [(&str, &str); 4] = [
        ("plural", "PluralConflict"),
        ("singular", "SingularConflict"),
        ("kind", "KindConflict"),
        ("listKind", "ListKindConflict"),
    ];
    let mut names = wanted.clone();
    let mut conflict = None;
    for (field, reason) in SINGLE {
        let taken = if field.to_lowercase().contains("kind") { kinds } else { resources };
        let Some(name) = wanted[field].as_str().filter(|name| taken.contains(*name)) else { continue };
        conflict = Some((reason, format!("{name:?} is already in use")));
        names[field] = before[field].clone();
    }
    if let Some(name) = meta::texts(&wanted["shortNames"]).find(|name| resources.contains(*name)) {
        conflict = Some(("ShortNamesConflict", format!("{name:?} is already in use")));
        names["shortNames"] = before["shortNames"].clone();
    }
    if let Some(names) = names.as_object_mut() {
        names.retain(|_, value| !value.is_null());
    }
    (names, conflict)
}

fn empty(state: &mut State, definition: &Arc<Value>, now: DateTime<Utc>) {
    let defined = defined(definition);
    if let Some(resource) = state.resource_of(&defined) {
        for object in state.store.collection(&defined).values().cloned().collect::<Vec<_>>() {
            let entry = Entry {
                resource: &resource,
                namespace: meta::namespace(&object),
                name: meta::name(&object),
                by: CONTROLLERS,
                at: now,
            };
            deletion::delete(state, entry, &object, DeleteOptions::default());
        }
    }
    finish(state, definition, now);
}

fn finish(state: &mut State, definition: &Value, now: DateTime<Utc>) {
    let Some(found) = state.store.get(&collection(), &key(None, meta::name(definition))).cloned() else { return };
    if state.store.collection(&defined(definition)).is_empty() && meta::has_finalizer(&found, CLEANUP) {
        let mut freed = Value::clone(&found);
        meta::set_finalizers(&mut freed, meta::without_finalizer(&found, CLEANUP));
        replace_definition(state, &found, freed, now);
    }
}

fn replace_definition(state: &mut State, old: &Arc<Value>, new: Value, now: DateTime<Utc>) {
    let resource = state.resource_of(&collection()).expect("definitions are built in");
    let entry = Entry { resource: &resource, namespace: None, name: meta::name(old), by: CONTROLLERS, at: now };
    replace(state, entry, old, new);
}
