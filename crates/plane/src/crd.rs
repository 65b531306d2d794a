//! Custom resource definitions: what they make served, what is written into their status, and how they go.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use kedge_schema::FieldError;
use kedge_schema::Schema;
use kedge_schema::metadata::Scope;
use serde_json::{Value, json};

use crate::meta;
use crate::removal::{self, Manner};
use crate::resource::{Generation, GroupResource, Gvr, Kept, Origin, PutRules, Resource, ScalePaths, Selector};
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
pub(crate) fn check_change(new: &Value, old: &Value) -> Vec<FieldError> {
    let of_name = |problem: &FieldError| problem.field == "metadata.name";
    let mut problems: Vec<_> =
        kedge_schema::validate_definition(new).into_iter().filter(|problem| !of_name(problem)).collect();
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
            problems.push(FieldError::invalid(field, now.unwrap_or(&Value::Null), "field is immutable"));
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
    set_condition(definition, "Terminating", ("True", "InstanceDeletionPending", message), now);
}

/// What a change of a definition means.
pub(crate) fn follow(state: &mut State, change: &Change, now: DateTime<Utc>) {
    let definition = &change.after;
    match change.happened {
        Happened::Deleted => {
            state.customs_since.remove(&defined(definition));
            forget(state, definition);
            return offer_names(state, definition, now);
        }
        Happened::Added => drop(state.customs_since.insert(defined(definition), change.revision)),
        Happened::Modified => {}
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

/// Serves what a definition defines, unless its names are others'.
fn serve(state: &mut State, definition: &Value) {
    let taken = names_of_others(state, definition);
    let (_, conflict) = acceptable(&definition["spec"]["names"], &Value::Null, &taken);
    if conflict.is_none() || condition(definition, "Established") == Some("True") {
        let served = resources(definition).into_iter().map(|resource| (resource.gvr.clone(), Arc::new(resource)));
        state.customs.extend(served);
    }
}

/// Names that are free again may be what another definition of the group waits for.
fn offer_names(state: &mut State, gone: &Value, now: DateTime<Utc>) {
    let is_waiting = |other: &&Arc<Value>| {
        other["spec"]["group"] == gone["spec"]["group"] && condition(other, "NamesAccepted") == Some("False")
    };
    let waiting: Vec<Arc<Value>> = state.store.shelf(&shelf()).values().filter(is_waiting).cloned().collect();
    for other in waiting {
        serve(state, &other);
        accept(state, &other, now);
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
        origin: Origin::Custom { schema: Arc::new(schema(version)?), stored: stored_schema(spec, stored) },
        shelf: defined,
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

/// Names are accepted at once, unless others of the group have them.
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
    replace(state, definition, accepted, now);
}

/// The names that other definitions of the group have: of resources, and of kinds.
fn names_of_others(state: &State, definition: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut resources, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for other in state.store.shelf(&shelf()).values() {
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

/// Those of the wanted names that are free, and what is said of the last that is not.
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

/// The state of a condition.
fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a str> {
    let conditions = definition["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)?["status"].as_str()
}

/// Sets a condition: its state, reason and message. One that is in that state stays as it is.
fn set_condition(
    definition: &mut Value,
    kind: &str,
    (status, reason, message): (&str, &str, &str),
    now: DateTime<Utc>,
) {
    if condition(definition, kind) == Some(status) {
        return;
    }
    if !definition["status"]["conditions"].is_array() {
        definition["status"]["conditions"] = json!([]);
    }
    let Some(conditions) = definition["status"]["conditions"].as_array_mut() else { return };
    conditions.retain(|condition| condition["type"] != kind);
    let at = stamp(now);
    conditions.push(
        json!({ "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at }),
    );
}
