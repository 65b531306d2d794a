//! POST: creates an object.

use std::sync::Arc;

use serde_json::Value;

use crate::admission::{self, Operation, namespace_lifecycle};
use crate::api::error::ApiError;
use crate::api::meta::{self, stamp};
use crate::api::response::ApiResponse;
use crate::apiextensions::conversion;
use crate::lifecycle;
use crate::plane::RequestContext;
use crate::registry::strategy::{self, Part};
use crate::registry::{rewrite, strict_decoding};
use crate::storage::state::State;
use crate::storage::store::{Entry, key};

/// The length of a prefix that leaves five of 63 characters for the suffix.
const PREFIX_MAX: usize = 58;

pub(crate) async fn handle(context: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let body = context.call.body.clone().ok_or_else(|| ApiError::bad_request("the request has no body"))?;
    Ok(ApiResponse::created(create(context, body).await?))
}

/// Creates an object, and returns it in the served version.
pub(crate) async fn create(context: &RequestContext<'_>, object: Value) -> Result<Arc<Value>, ApiError> {
    let mut object = strict_decoding::read(context, object)?;
    place(context, &mut object)?;
    let mut object = conversion::to_stored(context.resource, object);
    name(context, &mut object)?;
    rewrite::check(context.resource, Part::Main, &object, None)?;
    rewrite::warn_of_finalizers(context, &object, None);
    admission::review(context, Operation::Create, Some(&object), None).await?;
    Ok(conversion::to_served(context.resource, &store(context, object)?))
}

/// The namespace is that of the path.
fn place(context: &RequestContext<'_>, object: &mut Value) -> Result<(), ApiError> {
    match (meta::namespace(object), context.namespace()) {
        (Some(given), Some(asked)) if given != asked => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        (_, Some(asked)) => {
            meta::set_text(object, "namespace", asked);
            Ok(())
        }
        (_, None) => Ok(()),
    }
}

/// Generates the name, if there is none, and sets the fields of a new object.
fn name(context: &RequestContext<'_>, object: &mut Value) -> Result<(), ApiError> {
    if !meta::resource_version(object).trim_start_matches('0').is_empty() {
        return Err(ApiError::new(500, "", "resourceVersion should not be set on objects to be created"));
    }
    let created_at = stamp(context.plane.now());
    let mut state = context.plane.state();
    namespace_lifecycle::admit_creation(&state, context.resource, context.namespace(), meta::name(object))?;
    let prefix = meta::text(object, "generateName");
    if meta::name(object).is_empty() && !prefix.is_empty() {
        let name = format!("{}{}", cut(prefix), state.next_suffix());
        meta::set_text(object, "name", &name);
    }
    let uid = state.next_uid();
    strategy::creation(context.resource, object, &uid, state.uids(), &created_at);
    Ok(())
}

fn cut(prefix: &str) -> &str {
    &prefix[..prefix.floor_char_boundary(PREFIX_MAX)]
}

fn store(context: &RequestContext<'_>, mut object: Value) -> Result<Arc<Value>, ApiError> {
    let (now, name) = (context.plane.now(), meta::name(&object).to_owned());
    meta::metadata_mut(&mut object).remove("resourceVersion");
    let entry = Entry {
        resource: context.resource,
        namespace: context.namespace(),
        name: &name,
        by: &context.call.user,
        at: now,
    };
    context.plane.write(|state| {
        refuse_taken(state, context, &object)?;
        if context.call.is_dry_run() {
            return Ok(Arc::new(object));
        }
        let created = state.store.put(entry, object);
        lifecycle::reconcile(state, now);
        Ok(created)
    })
}

fn refuse_taken(state: &State, context: &RequestContext<'_>, object: &Value) -> Result<(), ApiError> {
    let name = meta::name(object);
    let Some(taken) = state.store.get(&context.resource.collection, &key(context.namespace(), name)) else {
        return Ok(());
    };
    let mut error = ApiError::already_exists(&context.resource.group_resource(), name);
    if meta::is_deleting(taken) {
        error.message = format!("object is being deleted: {}", error.message);
    }
    Err(error)
}
