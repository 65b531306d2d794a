//! HTTP responses: bytes, JSON, errors, and the stream of a watch.

use bytes::Bytes;
use http::Response;
use http::header::CONTENT_TYPE;
use http_body_util::{Either, Full, StreamBody};
use serde_json::Value;

use crate::api::error::ApiError;
use crate::registry::watch::Frames;

/// The body of a response: buffered, or the frames of a watch.
pub type ResponseBody = Either<Full<Bytes>, StreamBody<Frames>>;

pub(crate) fn response(code: u16, content_type: &str, bytes: Vec<u8>) -> Response<ResponseBody> {
    let built =
        Response::builder().status(code).header(CONTENT_TYPE, content_type).body(Either::Left(Full::from(bytes)));
    built.expect("codes and types are of this crate's making")
}

pub(crate) fn json(code: u16, value: &Value) -> Response<ResponseBody> {
    response(code, "application/json", serde_json::to_vec(value).expect("JSON can be written"))
}

pub(crate) fn text(code: u16, text: &str) -> Response<ResponseBody> {
    response(code, "text/plain; charset=utf-8", text.as_bytes().to_vec())
}

pub(crate) fn refused(error: &ApiError) -> Response<ResponseBody> {
    json(error.code, &error.status())
}

pub(crate) fn page_not_found() -> Response<ResponseBody> {
    text(404, "404 page not found\n")
}

pub(crate) fn streamed(frames: Frames) -> Response<ResponseBody> {
    let built = Response::builder().status(200).header(CONTENT_TYPE, "application/json");
    built.body(Either::Right(StreamBody::new(frames))).expect("the headers are constant")
}
