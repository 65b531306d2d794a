//! HTTP in and out: from a request to a call, from an answer to bytes.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, WARNING};
use http::{Method, Request, Response};
use http_body_util::{Either, Full, StreamBody};
use kube::client::Body;
use serde_json::Value;

use crate::aggregate;
use crate::answer::Shape;
use crate::call::{AsOf, Call, Verb};
use crate::discovery;
use crate::error::ApiError;
use crate::openapi;
use crate::plane::Plane;
use crate::resource::Resource;
use crate::verbs::watch::Frames;
use crate::verbs::{self, Ask, Warnings, watch};

mod accept;
pub(crate) mod json;
pub(crate) mod path;
mod read;

pub(crate) use accept::Wants;
pub(crate) use read::unknown_format;

/// The body of an answer: whole, or the frames of a watch.
pub type AnswerBody = Either<Full<Bytes>, StreamBody<Frames>>;

/// Answers one request.
pub(crate) async fn serve(plane: &Plane, user: &str, request: Request<Body>) -> Response<AnswerBody> {
    if let Some(fixed) = health(request.uri().path()) {
        return text(200, fixed);
    }
    let wants = match Wants::read(header(request.headers(), &ACCEPT)) {
        Ok(wants) => wants,
        Err(refusal) => return refused(&refusal),
    };
    let (method, uri) = (request.method().clone(), request.uri().clone());
    if let Some(found) = discovery::answer(plane, &method, uri.path(), wants).await {
        return found;
    }
    if let Some(described) = openapi::answer(plane, &method, uri.path()) {
        return described;
    }
    if let Some((group, version)) = path::group_version(uri.path())
        && aggregate::is_remote(plane, group, version)
    {
        return aggregate::forward(plane, group, version, user, request).await;
    }
    let Some(target) = path::Target::read(uri.path()) else {
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
            let answered = answered(plane, &call, as_of, wants.shape(), &warnings).await;
            warned(answered.unwrap_or_else(|refusal| refused(&refusal)), warnings)
        }
        Err(refusal) => refused(&refusal),
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

/// The answer, with what the caller is warned of.
fn warned(mut answer: Response<AnswerBody>, warnings: Warnings) -> Response<AnswerBody> {
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
    as_of: AsOf,
    shape: Shape,
    warnings: &Warnings,
) -> Result<Response<AnswerBody>, ApiError> {
    if call.verb == Verb::Watch {
        let resource = plane.state().resource(&call.resource).ok_or_else(ApiError::unknown_path)?;
        return Ok(streamed(watch::start(&Ask { plane, call, resource: &resource, warnings }, shape)?));
    }
    let answer = verbs::answer(plane, call, as_of, warnings).await?;
    Ok(response(answer.code, "application/json", answer.to_bytes(shape)))
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

pub(crate) fn response(code: u16, content_type: &str, bytes: Vec<u8>) -> Response<AnswerBody> {
    let built =
        Response::builder().status(code).header(CONTENT_TYPE, content_type).body(Either::Left(Full::from(bytes)));
    built.expect("codes and types are of this crate's making")
}

pub(crate) fn json(code: u16, value: &Value) -> Response<AnswerBody> {
    response(code, "application/json", serde_json::to_vec(value).expect("JSON can be written"))
}

pub(crate) fn text(code: u16, text: &str) -> Response<AnswerBody> {
    response(code, "text/plain; charset=utf-8", text.as_bytes().to_vec())
}

pub(crate) fn refused(refusal: &ApiError) -> Response<AnswerBody> {
    json(refusal.code, &refusal.status())
}

fn page_not_found() -> Response<AnswerBody> {
    text(404, "404 page not found\n")
}

fn streamed(frames: Frames) -> Response<AnswerBody> {
    let built = Response::builder().status(200).header(CONTENT_TYPE, "application/json");
    built.body(Either::Right(StreamBody::new(frames))).expect("the headers are constant")
}
