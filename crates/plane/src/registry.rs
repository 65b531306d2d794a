//! The registry: one handler per verb and subresource, between the HTTP layer and the storage.

use crate::api::error::ApiError;
use crate::api::request::{AsOf, Call, Verb};
use crate::api::resource::{Persistence, Resource};
use crate::api::response::ApiResponse;
use crate::plane::{Plane, RequestContext, Warnings};
use crate::registry::strategy::Part;

pub(crate) mod apply;
mod binding;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod delete_collection;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod patch;
mod reviews;
pub(crate) mod rewrite;
mod scale;
pub(crate) mod strategy;
mod strict_decoding;
mod token;
pub(crate) mod update;
pub(crate) mod watch;
pub(crate) mod write_options;

/// Handles everything but watches.
pub(crate) async fn handle(
    plane: &Plane,
    call: &Call,
    as_of: AsOf,
    warnings: &Warnings,
) -> Result<ApiResponse, ApiError> {
    let resource = plane.state().resource(&call.resource).ok_or_else(ApiError::unknown_path)?;
    let context = RequestContext { plane, call, resource: &resource, warnings };
    check_scope(&resource, call.namespace.as_deref(), call.verb)?;
    write_options::check(call)?;
    match call.subresource.as_deref() {
        None if resource.persistence == Persistence::Virtual => reviews::handle(&context),
        None => whole(&context, as_of).await,
        Some("status") if resource.has_status => part(&context, Part::Status, as_of).await,
        Some("finalize") if resource.is("", "namespaces") => part(&context, Part::Finalize, as_of).await,
        Some("scale") if resource.scale.is_some() => scale::handle(&context, as_of).await,
        Some("binding") if resource.is("", "pods") => binding::handle(&context),
        Some("token") if resource.is("", "serviceaccounts") => token::handle(&context),
        Some(_) if resource.is_custom() => Err(context.not_found()),
        Some(_) => Err(ApiError::unknown_path()),
    }
}

/// Namespaced objects are written in one namespace; lists may span all.
pub(crate) fn check_scope(resource: &Resource, namespace: Option<&str>, verb: Verb) -> Result<(), ApiError> {
    let across = resource.is_namespaced() && namespace.is_none();
    match across && !matches!(verb, Verb::List | Verb::Watch) {
        true => Err(ApiError::method_not_allowed()),
        false => Ok(()),
    }
}

async fn whole(context: &RequestContext<'_>, as_of: AsOf) -> Result<ApiResponse, ApiError> {
    match context.call.verb {
        Verb::Get => get::handle(context, as_of).await,
        Verb::List | Verb::Watch => list::handle(context, as_of).await,
        Verb::Create => create::handle(context).await,
        Verb::Update => update::handle(context, Part::Main).await,
        Verb::Patch(kind) => patch::handle(context, kind, Part::Main).await,
        Verb::Delete => delete::handle(context).await,
        Verb::DeleteCollection => delete_collection::handle(context).await,
    }
}

async fn part(context: &RequestContext<'_>, part: Part, as_of: AsOf) -> Result<ApiResponse, ApiError> {
    match context.call.verb {
        Verb::Get if part == Part::Status => get::handle(context, as_of).await,
        Verb::Update => update::handle(context, part).await,
        Verb::Patch(kind) if part == Part::Status => patch::handle(context, kind, part).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}
