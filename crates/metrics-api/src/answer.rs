//! What all answers share: their headers, and documents that never change with a tag to know them by.
//!
//! No answer ever carries Retry-After: the HPA's client would sleep on it inside one of its few workers.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use sha2::{Digest, Sha512};

use crate::status::Status;

pub(crate) type Answer = Response<Full<Bytes>>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const PRIVATE: HeaderValue = HeaderValue::from_static("no-cache, private");

/// An object as JSON, with the newline that Kubernetes ends it with.
pub(crate) fn json(code: StatusCode, object: &impl Serialize) -> Answer {
    let mut body = serde_json::to_vec(object).expect("what is served has only text keys and no map fails to serialise");
    body.push(b'\n');
    build(code, JSON, PRIVATE, body.into())
}

pub(crate) fn text(code: StatusCode, text: String) -> Answer {
    build(code, TEXT, PRIVATE, text.into())
}

pub(crate) fn failure(status: &Status) -> Answer {
    let mut answer = json(status.code(), status);
    if status.code() == StatusCode::METHOD_NOT_ALLOWED {
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    answer
}

/// Takes the body away from an answer to HEAD; its length stays.
pub(crate) fn for_method(mut answer: Answer, method: &Method) -> Answer {
    if method == Method::HEAD {
        *answer.body_mut() = Full::default();
    }
    answer
}

fn build(code: StatusCode, content_type: HeaderValue, cache: HeaderValue, body: Bytes) -> Answer {
    let length = body.len();
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = code;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(CACHE_CONTROL, cache);
    headers.insert(CONTENT_LENGTH, length.into());
    answer
}

/// A JSON document that stays the same for as long as this process lives.
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

    /// The same as another kind of JSON, which anyone may keep.
    pub(crate) fn published_as(self, content_type: &'static str) -> Self {
        let cache = HeaderValue::from_static("public");
        Self { content_type: HeaderValue::from_static(content_type), cache, ..self }
    }

    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// The document, or word that the caller has it already.
    pub(crate) fn answer(&self, headers: &HeaderMap) -> Answer {
        let tag = format!("\"{}\"", self.hash);
        let mut answer = if is_known(headers, &tag) {
            let mut answer = Response::new(Full::default());
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
            answer.headers_mut().insert(CACHE_CONTROL, self.cache.clone());
            answer
        } else {
            build(StatusCode::OK, self.content_type.clone(), self.cache.clone(), self.body.clone())
        };
        let headers = answer.headers_mut();
        headers.insert(ETAG, HeaderValue::try_from(tag).expect("hexadecimal digits in quotes are a header"));
        headers.insert(VARY, HeaderValue::from_static("Accept"));
        answer
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
            let answer = document.answer(&headers);
            assert_eq!(answer.status().as_u16(), code, "{known:?}");
            assert_eq!(answer.headers()[ETAG], tag.as_str());
            assert_eq!(answer.headers()[VARY], "Accept");
            assert_eq!(answer.headers().contains_key(CONTENT_TYPE), code == 200);
        }
    }

    #[test]
    fn errors_are_json_and_never_ask_for_a_retry() {
        let answer = failure(&Status::method_not_allowed());
        assert_eq!(answer.headers()[CONTENT_TYPE], "application/json");
        assert_eq!(answer.headers()[ALLOW], "GET, HEAD");
        assert_eq!(answer.headers()[CACHE_CONTROL], "no-cache, private");
        assert!(!answer.headers().contains_key(http::header::RETRY_AFTER));
    }
}
