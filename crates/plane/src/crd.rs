//! Custom resource definitions: what they make served, what is written into their status, and how they go.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::error::FieldProblem;
use crate::meta;
use crate::removal::{self, Manner};
use crate::resource::{Generation, GroupResource, Gvr, Kept, Origin, PutRules, Resource, ScalePaths, Scope, Selector};
use crate::schema::{self, Schema};
use crate::state::{CONTROLLERS, State, stamp};
use crate::store::{Change, Entry, Happened, key};
use crate::write;

/// The finalizer that keeps a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(crate) fn is_definition(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}

fn shelf() -> GroupResource {
    GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Names and conversion that a definition leaves out.
pub(crate) fn complete(definition: &mut Value) {
    let Some(kind) = definition["spec"]["names"]["kind"].as_str().map(str::to_owned) else { return };
    let names = &mut definition["spec"]["names"];
    for (field, filled) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
        if names[field].as_str().is_none_or(str::is_empty) {
            names[field] = json!(filled);
        }
    }
    if definition["spec"]["conversion"].is_null() {
        definition["spec"]["conversion"] = json!({ "strategy": "None" });
    }
}

/// What is wrong with a definition that is changed: some things must stay.
pub(crate) fn check_change(new: &Value, old: &Value) -> Vec<FieldProblem> {
    let of_name = |problem: &FieldProblem| problem.field == "metadata.name";
    let mut problems: Vec<_> = schema::check_definition(new).into_iter().filter(|problem| !of_name(problem)).collect();
    let established = old["status"]["conditions"].as_array().into_iter().flatten();
    let is_established = established.into_iter().any(|one| one["type"] == "Established" && one["status"] == "True");
    let fixed: &[&str] = if is_established {
        &["/scope", "/names/kind", "/group", "/names/plural"]
    } else {
        &["/group", "/names/plural"]
    };
    for path in fixed {
        let (now, before) = (new["spec"].pointer(path), old["spec"].pointer(path));
        if now != before {
            let field = format!("spec{}", path.replace('/', "."));
            problems.push(FieldProblem::invalid(field, now.unwrap_or(&Value::Null), "field is immutable"));
        }
    }
    problems
}

/// What the status of a new definition says before anybody has looked at it.
pub(crate) fn begin(definition: &mut Value) {
    definition["status"] = json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" } });
    remember_stored(definition);
}

/// Said of a definition that is deleted.
pub(crate) fn mark_terminating(definition: &mut Value, now: DateTime<Utc>) {
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(definition, "Terminating", "InstanceDeletionPending", message, now);
}

/// What a change of a definition means.
pub(crate) fn follow(state: &mut State, change: &Change, now: DateTime<Utc>) {
    let definition = &change.after;
    match change.happened {
        Happened::Deleted => {
            state.customs_since.remove(&defined(definition));
            return forget(state, definition);
        }
        Happened::Added => drop(state.customs_since.insert(defined(definition), change.revision)),
        Happened::Modified => {}
    }
    if change.before.as_ref().is_none_or(|before| before["spec"] != definition["spec"]) {
        forget(state, definition);
        state
            .customs
            .extend(resources(definition).into_iter().map(|resource| (resource.gvr.clone(), Arc::new(resource))));
    }
    match meta::is_deleting(definition) {
        true => empty(state, definition, now),
        false => accept(state, definition, now),
    }
}

/// A definition that waits for its last object may go with it.
pub(crate) fn follow_object(state: &mut State, change: &Change, now: DateTime<Utc>) {
    let name = format!("{}.{}", change.resource.plural, change.resource.group);
    if change.happened == Happened::Deleted
        && let Some(definition) = state.store.get(&shelf(), &name).cloned()
        && meta::is_deleting(&definition)
    {
        finish(state, &definition, now);
    }
}

fn defined(definition: &Value) -> GroupResource {
    let spec = &definition["spec"];
    GroupResource::new(spec["group"].as_str().unwrap_or(""), spec["names"]["plural"].as_str().unwrap_or(""))
}

/// The revision since which a custom resource is there; 0 for built-in kinds.
pub(crate) fn defined_at(state: &State, resource: &Resource) -> u64 {
    state.customs_since.get(&resource.shelf).copied().unwrap_or(0)
}

fn forget(state: &mut State, definition: &Value) {
    let defined = defined(definition);
    state.customs.retain(|_, resource| resource.shelf != defined);
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
        kept: Kept::Stored,
        generation: Generation::Content,
        put: PutRules { creates: false, unconditional: false },
        has_status: !version["subresources"]["status"].is_null(),
        scale: scale(&version["subresources"]["scale"]),
        selectable: selectable(version),
        returns_deleted: false,
        origin: Origin::Custom { schema: Arc::new(schema(version)?) },
        shelf: defined,
    })
}

/// The fields that a version lets be selected by: `spec.color`.
fn selectable(version: &Value) -> Vec<String> {
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    fields.filter_map(|field| field["jsonPath"].as_str()?.strip_prefix('.')).map(str::to_owned).collect()
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

/// Names are accepted at once; nobody else has them.
fn accept(state: &mut State, definition: &Arc<Value>, now: DateTime<Utc>) {
    let mut accepted = Value::clone(definition);
    accepted["status"]["acceptedNames"] = definition["spec"]["names"].clone();
    set_condition(&mut accepted, "NamesAccepted", "NoConflicts", "no conflicts found", now);
    set_condition(&mut accepted, "Established", "InitialNamesAccepted", "the initial names have been accepted", now);
    remember_stored(&mut accepted);
    replace(state, definition, accepted, now);
}

/// A version once stored in stays listed.
fn remember_stored(definition: &mut Value) {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let Some(stored) =
        versions.filter(|version| version["storage"] == true).find_map(|version| version["name"].as_str())
    else {
        return;
    };
    let mut listed: Vec<String> = meta::texts(&definition["status"]["storedVersions"]).map(str::to_owned).collect();
    if !listed.iter().any(|version| version == stored) {
        listed.push(stored.to_owned());
    }
    definition["status"]["storedVersions"] = json!(listed);
}

fn empty(state: &mut State, definition: &Arc<Value>, now: DateTime<Utc>) {
    let defined = defined(definition);
    if let Some(resource) = state.resource_of(&defined) {
        for object in state.store.shelf(&defined).values().cloned().collect::<Vec<_>>() {
            let entry = Entry {
                resource: &resource,
                namespace: meta::namespace(&object),
                name: meta::name(&object),
                by: CONTROLLERS,
                at: now,
            };
            removal::remove(state, entry, &object, Manner::default());
        }
    }
    finish(state, definition, now);
}

fn finish(state: &mut State, definition: &Value, now: DateTime<Utc>) {
    let Some(found) = state.store.get(&shelf(), &key(None, meta::name(definition))).cloned() else { return };
    if state.store.shelf(&defined(definition)).is_empty() && meta::has_finalizer(&found, CLEANUP) {
        let mut freed = Value::clone(&found);
        meta::set_finalizers(&mut freed, meta::without_finalizer(&found, CLEANUP));
        replace(state, &found, freed, now);
    }
}

fn replace(state: &mut State, old: &Arc<Value>, new: Value, now: DateTime<Utc>) {
    let resource = state.resource_of(&shelf()).expect("definitions are built in");
    let entry = Entry { resource: &resource, namespace: None, name: meta::name(old), by: CONTROLLERS, at: now };
    write::replace(state, entry, old, new);
}

/// Sets a condition to true, unless it is.
fn set_condition(definition: &mut Value, kind: &str, reason: &str, message: &str, now: DateTime<Utc>) {
    if !definition["status"]["conditions"].is_array() {
        definition["status"]["conditions"] = json!([]);
    }
    let Some(conditions) = definition["status"]["conditions"].as_array_mut() else { return };
    if !conditions.iter().any(|condition| condition["type"] == kind && condition["status"] == "True") {
        conditions.retain(|condition| condition["type"] != kind);
        let at = stamp(now);
        conditions.push(
            json!({ "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": at }),
        );
    }
}
