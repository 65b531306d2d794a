//! How an object that is there already becomes another one: read, changed, prepared, checked, reviewed by webhooks, stored.
//! Whoever was overtaken by another writer meanwhile starts again.

use std::sync::Arc;

use kedge_schema::metadata::validate_metadata;
use kedge_schema::{FieldError, Schema};
use serde_json::{Value, json};

use crate::admission::{self, Operation};
use crate::builtin;
use crate::builtin::check::event::{self, Group};
use crate::call::AsOf;
use crate::convert;
use crate::crd;
use crate::error::ApiError;
use crate::meta;
use crate::namespace;
use crate::prepare::{self, Part};
use crate::resource::{Origin, Resource};
use crate::service;
use crate::settle;
use crate::state::State;
use crate::store::{Entry, key};
use crate::strict;
use crate::subresource::scale;
use crate::verbs::{Ask, get};

/// How a uid that is not the object's is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UidRule {
    /// As a precondition: somebody else's object has the name now.
    Precondition,
    /// As a field that cannot change.
    Immutable,
}

/// Changes an object. What it shall be is made from what it is, both in the version that is asked for.
pub(crate) async fn rewrite(
    ask: &Ask<'_>,
    part: Part,
    uid: UidRule,
    change: impl Fn(&Value) -> Result<Value, ApiError>,
) -> Result<Arc<Value>, ApiError> {
    loop {
        let old = get::find(&ask.plane.state(), ask, AsOf::default())?;
        let new = drafted(ask, part, uid, &old, change(&convert::to_served(ask.resource, &old))?)?;
        admission::review(ask, Operation::Update, Some(&new), Some(&old)).await?;
        if let Some(done) = store(ask, &old, new) {
            return Ok(convert::to_served(ask.resource, &done));
        }
    }
}

/// The object as it will be stored.
fn drafted(ask: &Ask<'_>, part: Part, uid: UidRule, old: &Value, new: Value) -> Result<Value, ApiError> {
    let mut new = strict::read(ask, new)?;
    check_name(ask, &new)?;
    if uid == UidRule::Precondition {
        check_uid(ask, &new, old)?;
    }
    check_version(ask, &mut new, old)?;
    let mut new = convert::to_stored(ask.resource, new);
    prepare::update(ask.resource, part, &mut new, old);
    check(ask.resource, part, &new, Some(old))?;
    warn_of_finalizers(ask, &new, Some(old));
    Ok(new)
}

/// Finalizers of custom resources that anybody might use.
pub(crate) fn warn_of_finalizers(ask: &Ask<'_>, new: &Value, old: Option<&Value>) {
    const STANDARD: [&str; 2] = ["foregroundDeletion", "orphan"];
    let is_plain = |name: &&str| !name.contains('/') && !STANDARD.contains(name);
    let is_new = |name: &&str| old.is_none_or(|old| !meta::has_finalizer(old, name));
    for name in meta::finalizers(new).filter(is_plain).filter(is_new).filter(|_| ask.resource.is_custom()) {
        ask.warnings.add(format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"
        ));
    }
}

pub(crate) fn check_name(ask: &Ask<'_>, object: &Value) -> Result<(), ApiError> {
    let (given, asked) = (meta::name(object), ask.name());
    if given.is_empty() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({asked} based on URL) was undeterminable: name must be provided"
        )));
    }
    if given != asked {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({asked})"
        )));
    }
    match (meta::namespace(object), ask.namespace()) {
        (Some(given), Some(asked)) if given != asked => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        _ => Ok(()),
    }
}

fn check_uid(ask: &Ask<'_>, new: &Value, old: &Value) -> Result<(), ApiError> {
    let (wanted, found) = (meta::uid(new), meta::uid(old));
    match wanted.is_empty() || wanted == found {
        true => Ok(()),
        false => {
            let key = ask.resource.storage_key(ask.namespace(), ask.name());
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
            );
            Err(ApiError::conflict(&ask.resource.group_resource(), ask.name(), &why))
        }
    }
}

/// Whoever names a version means that one. Some kinds must be told one.
fn check_version(ask: &Ask<'_>, new: &mut Value, old: &Value) -> Result<(), ApiError> {
    let wanted = meta::resource_version(new);
    if wanted.is_empty() || wanted == "0" {
        if !ask.resource.put.unconditional {
            let problem = FieldError::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            return Err(ApiError::invalid(&ask.resource.gvr.group, &ask.resource.gvr.plural, ask.name(), &[problem]));
        }
        meta::copy(new, old, "resourceVersion");
    }
    match meta::resource_version(new) == meta::resource_version(old) {
        true => Ok(()),
        false => Err(ApiError::modified(&ask.resource.group_resource(), ask.name())),
    }
}

/// Everything that is wrong with an object.
pub(crate) fn check(resource: &Resource, part: Part, new: &Value, old: Option<&Value>) -> Result<(), ApiError> {
    let mut problems = old.map(|old| common_problems(resource, new, old)).unwrap_or_default();
    problems.extend(match &resource.origin {
        Origin::BuiltIn => builtin::check(&resource.stored, new, old),
        Origin::Custom { schema, .. } => custom_problems(resource, schema, part, new, old),
    });
    problems.extend(special_problems(resource, part, new, old));
    match problems.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid(&resource.shelf.group, &resource.kind, meta::name(new), &problems)),
    }
}

/// What only some kinds are asked for.
fn special_problems(resource: &Resource, part: Part, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    match (resource.shelf.group.as_str(), resource.shelf.plural.as_str(), old) {
        ("apiextensions.k8s.io", "customresourcedefinitions", Some(old)) => crd::check_change(new, old),
        ("apiextensions.k8s.io", "customresourcedefinitions", None) => kedge_schema::validate_definition(new),
        ("apps", "deployments", Some(_)) if part == Part::Status => builtin::check_deployment_status(new),
        ("", "services", Some(old)) => service::check_change(new, old),
        ("", "events", old) => {
            let group = if resource.gvr.group.is_empty() { Group::Core } else { Group::Events };
            event::check(group, new, old)
        }
        _ => Vec::new(),
    }
}

/// The metadata of every object that is changed is looked at before its kind is: so the same is said again.
fn common_problems(resource: &Resource, new: &Value, old: &Value) -> Vec<FieldError> {
    /// These look at the whole object once more.
    const CHECKED_WHOLE: [&str; 5] = ["ConfigMap", "Secret", "Service", "ServiceAccount", "Role"];
    let check = |old| validate_metadata(new, resource.scope, old);
    let again = if CHECKED_WHOLE.contains(&resource.kind.as_str()) { check(None) } else { Vec::new() };
    [check(None), check(Some(old)), again].concat()
}

fn custom_problems(
    resource: &Resource,
    schema: &Schema,
    part: Part,
    new: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut problems = validate_metadata(new, resource.scope, old);
    problems.extend(resource.scale.iter().flat_map(|paths| scale::check_custom(paths, new)));
    let of_schema = schema.validate(new, old).into_iter();
    problems.extend(of_schema.map(|problem| if part == Part::Status { seen_from_status(problem) } else { problem }));
    problems
}

/// A status that is written by itself is looked at by itself: its values are named from there.
fn seen_from_status(mut problem: FieldError) -> FieldError {
    if problem.field.starts_with("status.") {
        problem.message = problem.message.replacen(": status.", ": ", 1);
    }
    problem
}

/// Stores the new object if the old one is still there; none if not.
fn store(ask: &Ask<'_>, old: &Arc<Value>, new: Value) -> Option<Arc<Value>> {
    let now = ask.plane.now();
    let entry =
        Entry { resource: ask.resource, namespace: ask.namespace(), name: ask.name(), by: &ask.call.user, at: now };
    ask.plane.write(|state| {
        let found = state.store.get(&ask.resource.shelf, &key(entry.namespace, entry.name))?;
        if !Arc::ptr_eq(found, old) {
            return None;
        }
        if ask.call.is_dry_run() {
            return Some(Arc::new(new));
        }
        let done = replace(state, entry, old, new);
        settle::settle(state, now);
        Some(done)
    })
}

/// Puts one object in the place of another. If nothing differs, nothing happens; if only the last finalizer kept it, it
/// goes.
pub(crate) fn replace(state: &mut State, entry: Entry<'_>, old: &Arc<Value>, new: Value) -> Arc<Value> {
    if new == **old {
        return old.clone();
    }
    if is_let_go(entry.resource, &new, old) {
        state.store.remove(entry);
        return Arc::new(new);
    }
    state.store.put(entry, new)
}

fn is_let_go(resource: &Resource, new: &Value, old: &Value) -> bool {
    let no_grace = old["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0;
    let held = resource.is("", "namespaces") && namespace::is_held(new);
    meta::is_deleting(old) && no_grace && !held && meta::finalizers(new).next().is_none()
}
