//! The aggregation layer: API groups that other servers serve. Requests are forwarded, with the user's name in
//! headers. Responses are buffered, so watches are not streamed.

use std::time::Duration;

use http::header::{ACCEPT, HeaderValue};
use http::{Method, Request, Response};
use kube::client::Body;
use serde_json::Value;

use crate::api::error::ApiError;
use crate::api::identity::Identity;
use crate::api::request::{Call, PatchKind, Verb};
use crate::api::resource::{Gvr, service_host};
use crate::api::response::ApiResponse;
use crate::lifecycle::api_services::collection;
use crate::plane::Plane;
use crate::server::response::{ResponseBody, response, text};

/// How long any request may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The service that serves a version of a group, if another server does.
fn service(plane: &Plane, group: &str, version: &str) -> Option<Value> {
    let state = plane.state();
    let services = state.store.collection(&collection());
    let found = if services.is_empty() { None } else { services.get(&format!("{version}.{group}")) }?;
    Some(found["spec"]["service"].clone()).filter(Value::is_object)
}

pub(crate) fn is_remote(plane: &Plane, group: &str, version: &str) -> bool {
    service(plane, group, version).is_some()
}

/// All versions of groups that other servers serve.
pub(crate) fn group_versions(plane: &Plane) -> Vec<(String, String)> {
    let state = plane.state();
    let remote =
        state.store.collection(&collection()).values().filter(|service| service["spec"]["service"].is_object());
    let text = |service: &Value, field: &str| service["spec"][field].as_str().unwrap_or("").to_owned();
    remote.map(|service| (text(service, "group"), text(service, "version"))).collect()
}

/// Forwards a request.
pub(crate) async fn forward(
    plane: &Plane,
    group: &str,
    version: &str,
    user: &str,
    mut request: Request<Body>,
) -> Response<ResponseBody> {
    let Some(backend) =
        service(plane, group, version).and_then(|service| plane.backends().get(&service_host(&service)))
    else {
        return text(503, "service unavailable\n");
    };
    set_user(&mut request, user);
    match tokio::time::timeout(TIMEOUT, backend.call(request)).await {
        Ok(Ok(answer)) => whole(answer).await,
        Ok(Err(why)) => text(503, &format!("error trying to reach service: {why}\n")),
        Err(_) => text(504, "Timeout: request did not complete within the allotted timeout\n"),
    }
}

/// Sets the headers of the user. A user that was authenticated by a connection may be in more groups.
pub(crate) fn set_user(request: &mut Request<Body>, user: &str) {
    let identity = request.extensions_mut().remove::<Identity>();
    let Identity { name, groups } = identity.unwrap_or_else(|| Identity::named(user));
    let headers = request.headers_mut();
    headers.remove("authorization");
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert("x-remote-user", name);
    }
    for group in groups.iter().filter_map(|group| HeaderValue::from_str(group).ok()) {
        headers.append("x-remote-group", group);
    }
}

async fn whole(answer: Response<Body>) -> Response<ResponseBody> {
    let (parts, body) = answer.into_parts();
    match body.collect_bytes().await {
        Ok(bytes) => {
            let mut passed = response(200, "", bytes.to_vec());
            *passed.status_mut() = parts.status;
            *passed.headers_mut() = parts.headers;
            passed
        }
        Err(why) => text(503, &format!("error trying to reach service: {why}\n")),
    }
}

/// Forwards a call that is parsed already.
pub(crate) async fn call(plane: &Plane, call: &Call) -> Result<ApiResponse, ApiError> {
    let request = written(call)?;
    let answer = forward(plane, &call.resource.group, &call.resource.version, &call.user, request).await;
    let (code, bytes) = read(answer).await;
    if code >= 400 {
        return Err(ApiError::received(code, &bytes));
    }
    serde_json::from_slice(&bytes).map(ApiResponse::other).map_err(|e| ApiError::internal(&e.to_string()))
}

async fn read(answer: Response<ResponseBody>) -> (u16, Vec<u8>) {
    use http_body_util::BodyExt;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    (code, bytes)
}

fn written(call: &Call) -> Result<Request<Body>, ApiError> {
    let method = match call.verb {
        Verb::Get | Verb::List | Verb::Watch => Method::GET,
        Verb::Create => Method::POST,
        Verb::Update => Method::PUT,
        Verb::Patch(_) => Method::PATCH,
        Verb::Delete | Verb::DeleteCollection => Method::DELETE,
    };
    let content_type = match call.verb {
        Verb::Patch(PatchKind::Json) => "application/json-patch+json",
        Verb::Patch(PatchKind::Merge) => "application/merge-patch+json",
        Verb::Patch(PatchKind::StrategicMerge) => "application/strategic-merge-patch+json",
        Verb::Patch(PatchKind::Apply) => "application/apply-patch+yaml",
        _ => "application/json",
    };
    let body = call.body.as_ref().map_or_else(Body::empty, |body| Body::from(body.to_string().into_bytes()));
    let request = Request::builder()
        .method(method)
        .uri(path(call))
        .header(ACCEPT, "application/json")
        .header("content-type", content_type);
    request.body(body).map_err(|e| ApiError::bad_request(e.to_string()))
}

fn path(call: &Call) -> String {
    let Gvr { group, version, plural } = &call.resource;
    let mut path = format!("/apis/{group}/{version}");
    if let Some(namespace) = &call.namespace {
        path += &format!("/namespaces/{namespace}");
    }
    for part in [Some(plural), call.name.as_ref(), call.subresource.as_ref()].into_iter().flatten() {
        path += &format!("/{part}");
    }
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&call.params).finish();
    if query.is_empty() { path } else { format!("{path}?{query}") }
}

/// The resource list of an aggregated API server.
pub(crate) async fn resource_list(plane: &Plane, group: &str, version: &str) -> Option<Value> {
    let request =
        Request::get(format!("/apis/{group}/{version}")).header(ACCEPT, "application/json").body(Body::empty()).ok()?;
    let (code, bytes) = read(forward(plane, group, version, "system:aggregator", request).await).await;
    if code == 200 { serde_json::from_slice(&bytes).ok() } else { None }
}
