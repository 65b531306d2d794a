//! Responses: their common headers, and static documents with an ETag.
//!
//! No response carries Retry-After: the HPA's client would sleep on it inside one of its few workers.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use sha2::{Digest, Sha512};

use crate::status::Status;

pub(crate) type HttpResponse = Response<Full<Bytes>>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const PRIVATE: HeaderValue = HeaderValue::from_static("no-cache, private");

/// An object as JSON, with the newline that Kubernetes ends it with.
pub(crate) fn json(code: StatusCode, object: &impl Serialize) -> HttpResponse {
    let mut body = serde_json::to_vec(object).expect("maps with text keys serialise");
    body.push(b'\n');
    build(code, JSON, PRIVATE, body.into())
}

pub(crate) fn text(code: StatusCode, text: String) -> HttpResponse {
    build(code, TEXT, PRIVATE, text.into())
}

pub(crate) fn failure(status: &Status) -> HttpResponse {
    let mut response = json(status.code(), status);
    if status.code() == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

/// Removes the body of a response to HEAD; its length stays.
pub(crate) fn for_method(mut response: HttpResponse, method: &Method) -> HttpResponse {
    if method == Method::HEAD {
        *response.body_mut() = Full::default();
    }
    response
}

fn build(code: StatusCode, content_type: HeaderValue, cache: HeaderValue, body: Bytes) -> HttpResponse {
    let length = body.len();
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(CACHE_CONTROL, cache);
    headers.insert(CONTENT_LENGTH, length.into());
    response
}

/// A JSON document that does not change while this process runs.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    body: Bytes,
    content_type: HeaderValue,
    cache: HeaderValue,
    hash: String,
}

impl Document {
    pub(crate) fn new(body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let hash = Sha512::digest(&body).iter().map(|byte| format!("{byte:02X}")).collect();
        Self { body, content_type: JSON, cache: PRIVATE, hash }
    }

    /// Serves it with another content type, as publicly cacheable.
    pub(crate) fn published_as(self, content_type: &'static str) -> Self {
        let cache = HeaderValue::from_static("public");
        Self { content_type: HeaderValue::from_static(content_type), cache, ..self }
    }

    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// The document, or 304 if the caller has it already.
    pub(crate) fn respond(&self, headers: &HeaderMap) -> HttpResponse {
        let tag = format!("\"{}\"", self.hash);
        let mut response = if is_known(headers, &tag) {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response.headers_mut().insert(CACHE_CONTROL, self.cache.clone());
            response
        } else {
            build(StatusCode::OK, self.content_type.clone(), self.cache.clone(), self.body.clone())
        };
        let headers = response.headers_mut();
        headers.insert(ETAG, HeaderValue::try_from(tag).expect("hexadecimal digits in quotes are a header"));
        headers.insert(VARY, HeaderValue::from_static("Accept"));
        response
    }
}

fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_document_is_not_sent_again() {
        let document = Document::new("{}\n");
        let tag = format!("\"{}\"", document.hash());
        assert_eq!(tag.len(), 130, "SHA-512 in hexadecimal, in quotes");
        let rows = [
            (None, 200),
            (Some("\"other\"".to_owned()), 200),
            (Some(document.hash().to_owned()), 200),
            (Some(tag.clone()), 304),
            (Some(format!("\"other\", W/{tag}")), 304),
            (Some("*".to_owned()), 304),
        ];
        for (known, code) in rows {
            let mut headers = HeaderMap::new();
            if let Some(known) = &known {
                headers.insert(IF_NONE_MATCH, known.parse().expect("a header"));
            }
            let response = document.respond(&headers);
            assert_eq!(response.status().as_u16(), code, "{known:?}");
            assert_eq!(response.headers()[ETAG], tag.as_str());
            assert_eq!(response.headers()[VARY], "Accept");
            assert_eq!(response.headers().contains_key(CONTENT_TYPE), code == 200);
        }
    }

    #[test]
    fn errors_are_json_without_retry_after() {
        let response = failure(&Status::method_not_allowed());
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        assert_eq!(response.headers()[ALLOW], "GET, HEAD");
        assert_eq!(response.headers()[CACHE_CONTROL], "no-cache, private");
        assert!(!response.headers().contains_key(http::header::RETRY_AFTER));
    }
}
