//! HTTP: routes requests by their paths, and parses them into calls.

use std::sync::Arc;

use http::header::{ACCEPT, HeaderMap, HeaderValue, WARNING};
use http::{Method, Request, Response};
use kube::client::Body;

use crate::api::error::ApiError;
use crate::api::request::{AsOf, Call, Verb};
use crate::api::resource::Resource;
use crate::api::table::{IncludedObject, Printer};
use crate::plane::{Plane, RequestContext, Warnings};
use crate::registry::watch;
use crate::server::accept::Wants;
use crate::server::response::{ResponseBody, page_not_found, refused, response, streamed, text};
use crate::server::{aggregation, discovery, dispatch, openapi};

pub(crate) mod path;
mod read;

/// Handles one request.
pub(crate) async fn serve(plane: &Plane, user: &str, request: Request<Body>) -> Response<ResponseBody> {
    if let Some(fixed) = health(request.uri().path()) {
        return text(200, fixed);
    }
    let wants = match Wants::parse(header(request.headers(), &ACCEPT)) {
        Ok(wants) => wants,
        Err(error) => return refused(&error),
    };
    let (method, uri) = (request.method().clone(), request.uri().clone());
    if let Some(found) = discovery::handle(plane, &method, uri.path(), wants).await {
        return found;
    }
    if let Some(described) = openapi::handle(plane, &method, uri.path()) {
        return described;
    }
    if let Some((group, version)) = path::group_version(uri.path())
        && aggregation::is_remote(plane, group, version)
    {
        return aggregation::forward(plane, group, version, user, request).await;
    }
    let Some(target) = path::Target::parse(uri.path()) else {
        let is_ours = path::group_version(uri.path()).is_some_and(|(group, _)| discovery::is_built_in(group));
        return if is_ours { refused(&ApiError::unknown_path()) } else { page_not_found() };
    };
    let found = plane.state().resource(&target.resource);
    let Some(resource) = found else {
        let is_ours = discovery::is_built_in(&target.resource.group);
        return if is_ours { refused(&ApiError::unknown_path()) } else { page_not_found() };
    };
    if resource.is_custom() && !is_served(&resource, &target, &method) {
        return page_not_found();
    }
    let as_of = request.extensions().get::<AsOf>().copied().unwrap_or_default();
    let warnings = Warnings::default();
    match read::call(user, &resource, target, request, &warnings).await {
        Ok(call) => {
            let answered = answered(plane, &call, &resource, as_of, wants, &warnings).await;
            warned(answered.unwrap_or_else(|error| refused(&error)), warnings)
        }
        Err(error) => refused(&error),
    }
}

/// Custom resources are served in namespaces or without, and across namespaces only lists are.
fn is_served(resource: &Resource, target: &path::Target, method: &Method) -> bool {
    match (resource.is_namespaced(), &target.namespace) {
        (true, None) => target.name.is_none() && method == Method::GET,
        (false, Some(_)) => false,
        _ => true,
    }
}

/// Adds the warnings to a response.
fn warned(mut answer: Response<ResponseBody>, warnings: Warnings) -> Response<ResponseBody> {
    for text in warnings.into_texts() {
        if let Ok(value) = HeaderValue::from_str(&format!("299 - {text:?}")) {
            answer.headers_mut().append(WARNING, value);
        }
    }
    answer
}

async fn answered(
    plane: &Plane,
    call: &Call,
    resource: &Arc<Resource>,
    as_of: AsOf,
    wants: Wants,
    warnings: &Warnings,
) -> Result<Response<ResponseBody>, ApiError> {
    let printer = match wants {
        Wants::Table => Some(Printer::new(resource.columns(), included_object(call)?)),
        Wants::Json | Wants::Metadata | Wants::AggregatedDiscovery => None,
    };
    if call.verb == Verb::Watch {
        let context = RequestContext { plane, call, resource, warnings };
        return Ok(streamed(watch::start(&context, wants.projection(), printer)?));
    }
    let mut answer = dispatch::handle(plane, call, as_of, warnings).await?;
    if let Some(printer) = printer {
        answer = answer.into_table(&printer, plane.now());
    }
    Ok(response(answer.code, "application/json", answer.to_bytes(wants.projection())))
}

/// How much of each object the rows of a table have.
fn included_object(call: &Call) -> Result<IncludedObject, ApiError> {
    match call.param("includeObject").unwrap_or("Metadata") {
        "None" => Ok(IncludedObject::None),
        "Metadata" => Ok(IncludedObject::Metadata),
        "Object" => Ok(IncludedObject::Object),
        other => Err(ApiError::bad_request(format!("unrecognized includeObject value: {other:?}"))),
    }
}

fn health(path: &str) -> Option<&'static str> {
    let is_health = ["/healthz", "/readyz", "/livez"]
        .iter()
        .any(|root| path == *root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/')));
    is_health.then_some("ok")
}

pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
}
