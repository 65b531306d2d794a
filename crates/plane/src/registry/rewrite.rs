//! Updates an existing object: decode, change, apply the strategy, validate, call webhooks, store.
//! An update that lost a race against another write is retried.

use std::sync::Arc;

use kedge_schema::metadata::validate_metadata;
use kedge_schema::{FieldError, Schema};
use serde_json::{Value, json};

use crate::admission::{self, Operation};
use crate::api::error::ApiError;
use crate::api::meta;
use crate::api::request::AsOf;
use crate::api::resource::{Origin, Resource};
use crate::apiextensions::conversion;
use crate::builtin::validation::event::{self, Group};
use crate::builtin::{self, definition, scale, service};
use crate::lifecycle;
use crate::plane::RequestContext;
use crate::registry::strategy::{self, Part};
use crate::registry::{get, strict_decoding};
use crate::storage::replace::replace;
use crate::storage::store::{Entry, key};

/// How a uid that is not the object's is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UidRule {
    /// As a failed precondition: another object has the name now.
    Precondition,
    /// As a field that cannot change.
    Immutable,
}

/// Updates an object. The closure makes the new object from the current one, both in the requested version.
pub(crate) async fn rewrite(
    context: &RequestContext<'_>,
    part: Part,
    uid: UidRule,
    change: impl Fn(&Value) -> Result<Value, ApiError>,
) -> Result<Arc<Value>, ApiError> {
    loop {
        let old = get::find(&context.plane.state(), context, AsOf::default())?;
        let new = drafted(context, part, uid, &old, change(&conversion::to_served(context.resource, &old))?)?;
        admission::review(context, Operation::Update, Some(&new), Some(&old)).await?;
        if let Some(done) = store(context, &old, new) {
            return Ok(conversion::to_served(context.resource, &done));
        }
    }
}

/// The object as it will be stored.
fn drafted(context: &RequestContext<'_>, part: Part, uid: UidRule, old: &Value, new: Value) -> Result<Value, ApiError> {
    let mut new = strict_decoding::read(context, new)?;
    check_name(context, &new)?;
    if uid == UidRule::Precondition {
        check_uid(context, &new, old)?;
    }
    check_version(context, &mut new, old)?;
    let mut new = conversion::to_stored(context.resource, new);
    strategy::update(context.resource, part, &mut new, old);
    check(context.resource, part, &new, Some(old))?;
    warn_of_finalizers(context, &new, Some(old));
    Ok(new)
}

/// Warns of finalizers of custom resources without a domain.
pub(crate) fn warn_of_finalizers(context: &RequestContext<'_>, new: &Value, old: Option<&Value>) {
    const STANDARD: [&str; 2] = ["foregroundDeletion", "orphan"];
    let is_plain = |name: &&str| !name.contains('/') && !STANDARD.contains(name);
    let is_new = |name: &&str| old.is_none_or(|old| !meta::has_finalizer(old, name));
    for name in meta::finalizers(new).filter(is_plain).filter(is_new).filter(|_| context.resource.is_custom()) {
        context.warnings.add(format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"
        ));
    }
}

pub(crate) fn check_name(context: &RequestContext<'_>, object: &Value) -> Result<(), ApiError> {
    let (given, asked) = (meta::name(object), context.name());
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
    match (meta::namespace(object), context.namespace()) {
        (Some(given), Some(asked)) if given != asked => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        _ => Ok(()),
    }
}

fn check_uid(context: &RequestContext<'_>, new: &Value, old: &Value) -> Result<(), ApiError> {
    let (wanted, found) = (meta::uid(new), meta::uid(old));
    match wanted.is_empty() || wanted == found {
        true => Ok(()),
        false => {
            let key = context.resource.storage_key(context.namespace(), context.name());
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
            );
            Err(ApiError::conflict(&context.resource.group_resource(), context.name(), &why))
        }
    }
}

/// A given resourceVersion must be the current one. Some kinds require it.
fn check_version(context: &RequestContext<'_>, new: &mut Value, old: &Value) -> Result<(), ApiError> {
    let wanted = meta::resource_version(new);
    if wanted.is_empty() || wanted == "0" {
        if !context.resource.put.unconditional {
            let problem = FieldError::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            return Err(ApiError::invalid(
                &context.resource.gvr.group,
                &context.resource.gvr.plural,
                context.name(),
                &[problem],
            ));
        }
        meta::copy(new, old, "resourceVersion");
    }
    match meta::resource_version(new) == meta::resource_version(old) {
        true => Ok(()),
        false => Err(ApiError::modified(&context.resource.group_resource(), context.name())),
    }
}

/// Validates an object.
pub(crate) fn check(resource: &Resource, part: Part, new: &Value, old: Option<&Value>) -> Result<(), ApiError> {
    let mut errors = old.map(|old| validate_common(resource, new, old)).unwrap_or_default();
    errors.extend(match &resource.origin {
        Origin::BuiltIn => builtin::check(&resource.stored, new, old),
        Origin::Custom { schema, .. } => validate_custom(resource, schema, part, new, old),
    });
    errors.extend(validate_special(resource, part, new, old));
    match errors.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid(&resource.collection.group, &resource.kind, meta::name(new), &errors)),
    }
}

/// Validation that only some kinds have.
fn validate_special(resource: &Resource, part: Part, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    match (resource.collection.group.as_str(), resource.collection.plural.as_str(), old) {
        ("apiextensions.k8s.io", "customresourcedefinitions", Some(old)) => definition::check_change(new, old),
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

/// On update, the API server validates metadata before the kind's own validation, so errors occur twice.
fn validate_common(resource: &Resource, new: &Value, old: &Value) -> Vec<FieldError> {
    /// These validate the object a third time.
    const CHECKED_WHOLE: [&str; 5] = ["ConfigMap", "Secret", "Service", "ServiceAccount", "Role"];
    let check = |old| validate_metadata(new, resource.scope, old);
    let again = if CHECKED_WHOLE.contains(&resource.kind.as_str()) { check(None) } else { Vec::new() };
    [check(None), check(Some(old)), again].concat()
}

fn validate_custom(
    resource: &Resource,
    schema: &Schema,
    part: Part,
    new: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut errors = validate_metadata(new, resource.scope, old);
    errors.extend(resource.scale.iter().flat_map(|paths| scale::check_custom(paths, new)));
    let of_schema = schema.validate(new, old).into_iter();
    errors.extend(of_schema.map(|problem| if part == Part::Status { seen_from_status(problem) } else { problem }));
    errors
}

/// A status subresource is validated alone: paths in messages start at the status.
fn seen_from_status(mut problem: FieldError) -> FieldError {
    if problem.field.starts_with("status.") {
        problem.message = problem.message.replacen(": status.", ": ", 1);
    }
    problem
}

/// Stores the new object if the old one is still there; none if not.
fn store(context: &RequestContext<'_>, old: &Arc<Value>, new: Value) -> Option<Arc<Value>> {
    let now = context.plane.now();
    let entry = Entry {
        resource: context.resource,
        namespace: context.namespace(),
        name: context.name(),
        by: &context.call.user,
        at: now,
    };
    context.plane.write(|state| {
        let found = state.store.get(&context.resource.collection, &key(entry.namespace, entry.name))?;
        if !Arc::ptr_eq(found, old) {
            return None;
        }
        if context.call.is_dry_run() {
            return Some(Arc::new(new));
        }
        let done = replace(state, entry, old, new);
        lifecycle::reconcile(state, now);
        Some(done)
    })
}
