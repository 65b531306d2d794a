//! API services: groups that other servers serve behind this one. Requests to them are passed on, with the user's name in
//! headers; whether anybody answers is told in their status. Answers are passed back whole: no watches.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use http::header::{ACCEPT, HeaderValue};
use http::{Method, Request, Response};
use kube::client::Body;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::backend::service_host;
use crate::call::{Call, PatchKind, Verb};
use crate::error::ApiError;
use crate::http::{AnswerBody, response, text};
use crate::meta;
use crate::plane::Plane;
use crate::resource::{GroupResource, Gvr};
use crate::review::Identity;
use crate::state::{CONTROLLERS, State, stamp};
use crate::store::{Change, Entry, Happened};
use crate::write;

/// How long any request may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn shelf() -> GroupResource {
    GroupResource::new("apiregistration.k8s.io", "apiservices")
}

/// The service that serves a version of a group, if another server does.
fn service(plane: &Plane, group: &str, version: &str) -> Option<Value> {
    let state = plane.state();
    let services = state.store.shelf(&shelf());
    let found = if services.is_empty() { None } else { services.get(&format!("{version}.{group}")) }?;
    Some(found["spec"]["service"].clone()).filter(Value::is_object)
}

pub(crate) fn is_remote(plane: &Plane, group: &str, version: &str) -> bool {
    service(plane, group, version).is_some()
}

/// All versions of groups that other servers serve.
pub(crate) fn group_versions(plane: &Plane) -> Vec<(String, String)> {
    let state = plane.state();
    let remote = state.store.shelf(&shelf()).values().filter(|service| service["spec"]["service"].is_object());
    let text = |service: &Value, field: &str| service["spec"][field].as_str().unwrap_or("").to_owned();
    remote.map(|service| (text(service, "group"), text(service, "version"))).collect()
}

/// Passes a request on.
pub(crate) async fn forward(
    plane: &Plane,
    group: &str,
    version: &str,
    user: &str,
    mut request: Request<Body>,
) -> Response<AnswerBody> {
    let Some(backend) =
        service(plane, group, version).and_then(|service| plane.backends().get(&service_host(&service)))
    else {
        return text(503, "service unavailable\n");
    };
    set_user(&mut request, user);
    match tokio::time::timeout(PATIENCE, backend.call(request)).await {
        Ok(Ok(answer)) => whole(answer).await,
        Ok(Err(why)) => text(503, &format!("error trying to reach service: {why}\n")),
        Err(_) => text(504, "Timeout: request did not complete within the allotted timeout\n"),
    }
}

/// Names the user in headers. Whoever came over a connection may be in more groups than its name says.
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

async fn whole(answer: Response<Body>) -> Response<AnswerBody> {
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

/// The same for a call that is read already.
pub(crate) async fn call(plane: &Plane, call: &Call) -> Result<Answer, ApiError> {
    let request = written(call)?;
    let answer = forward(plane, &call.resource.group, &call.resource.version, &call.user, request).await;
    let (code, bytes) = read(answer).await;
    if code >= 400 {
        return Err(ApiError::received(code, &bytes));
    }
    serde_json::from_slice(&bytes).map(Answer::other).map_err(|e| ApiError::internal(&e.to_string()))
}

async fn read(answer: Response<AnswerBody>) -> (u16, Vec<u8>) {
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

/// What another server says it serves.
pub(crate) async fn resource_list(plane: &Plane, group: &str, version: &str) -> Option<Value> {
    let request =
        Request::get(format!("/apis/{group}/{version}")).header(ACCEPT, "application/json").body(Body::empty()).ok()?;
    let (code, bytes) = read(forward(plane, group, version, "system:aggregator", request).await).await;
    if code == 200 { serde_json::from_slice(&bytes).ok() } else { None }
}

/// Whether anybody answers is told in the status, whenever the object or the hosts change.
pub(crate) fn follow(state: &mut State, change: &Change, now: DateTime<Utc>) {
    if change.happened != Happened::Deleted {
        tell(state, &change.after, now);
    }
}

/// The hosts changed.
pub(crate) fn look_again(state: &mut State, now: DateTime<Utc>) {
    for service in state.store.shelf(&shelf()).values().cloned().collect::<Vec<_>>() {
        tell(state, &service, now);
    }
}

fn tell(state: &mut State, service: &Arc<Value>, now: DateTime<Utc>) {
    let (status, reason, message) = availability(state, &service["spec"]["service"]);
    let before = service["status"]["conditions"]
        .as_array()
        .and_then(|all| all.iter().find(|condition| condition["type"] == "Available"));
    if before.is_some_and(|before| before["status"] == status && before["reason"] == reason) {
        return;
    }
    let same_status = before.filter(|before| before["status"] == status);
    let since =
        same_status.and_then(|before| before["lastTransitionTime"].as_str()).map_or_else(|| stamp(now), str::to_owned);
    let mut told = Value::clone(service);
    told["status"]["conditions"] = json!([{ "type": "Available", "status": status, "reason": reason, "message": message, "lastTransitionTime": since }]);
    let resource = state.resource_of(&shelf()).expect("API services are built in");
    let entry = Entry { resource: &resource, namespace: None, name: meta::name(service), by: CONTROLLERS, at: now };
    write::replace(state, entry, service, told);
}

fn availability(state: &State, service: &Value) -> (&'static str, &'static str, String) {
    if !service.is_object() {
        return ("True", "Local", "Local APIServices are always available".to_owned());
    }
    match state.hosts.contains(&service_host(service)) {
        true => ("True", "Passed", "all checks passed".to_owned()),
        false => {
            let message = format!(
                "service/{} in {} is not present",
                service["name"].as_str().unwrap_or(""),
                service["namespace"]
            );
            ("False", "ServiceNotFound", message)
        }
    }
}
