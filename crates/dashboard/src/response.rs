//! Responses, and the headers that all of them have.

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use serde_json::json;

pub type HttpResponse = Response<Full<Bytes>>;

/// Nothing but the page's own files, no frames, no forms, nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Something to show.
pub fn content(content_type: &'static str, body: impl Into<Bytes>) -> HttpResponse {
    respond(StatusCode::OK, content_type, body.into())
}

pub(crate) fn json(value: &impl Serialize) -> HttpResponse {
    let body = serde_json::to_vec(value).expect("a view is plain data");
    respond(StatusCode::OK, "application/json", body.into())
}

/// An error, with what is wrong in words.
pub fn error(code: StatusCode, message: &str) -> HttpResponse {
    let mut response = respond(code, "application/json", json!({ "error": message }).to_string().into());
    match code {
        StatusCode::METHOD_NOT_ALLOWED => {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
        }
        StatusCode::UNAUTHORIZED => {
            response.headers_mut().insert(http::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        _ => {}
    }
    response
}

fn respond(code: StatusCode, content_type: &'static str, body: Bytes) -> HttpResponse {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, content_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
