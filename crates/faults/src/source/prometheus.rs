//! As much of Prometheus as is asked: an instant query, answered with one number.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::DuplexStream;

use super::{Answer, Sources};
use crate::fault::SourceFault;

/// Answers on one connection until it ends.
pub(super) async fn serve(sources: Sources, stream: DuplexStream) {
    let service = service_fn(move |request| answer(sources.clone(), request));
    // A connection that breaks is what a test may have asked for.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(sources: Sources, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
    let query = request.uri().query().unwrap_or_default();
    let question = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "query");
    let question = question.map_or(String::new(), |(_, question)| question.into_owned());
    let token = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|text| text.strip_prefix("Bearer "));
    match sources.answer(&question, token) {
        Answer::Value(value) => Ok(with(200, success(value))),
        Answer::Refused => Ok(with(401, "who are you?".to_owned())),
        Answer::Wrong(SourceFault::Fails) => Ok(with(500, "broken".to_owned())),
        Answer::Wrong(SourceFault::Garbage) => Ok(with(200, "<html>busy</html>".to_owned())),
        Answer::Wrong(SourceFault::Hangs) => match std::future::pending::<Infallible>().await {},
        Answer::Wrong(SourceFault::Resets) => Err(io::ErrorKind::ConnectionReset.into()),
    }
}

fn success(value: f64) -> String {
    let result = json!([{ "metric": {}, "value": [0, value.to_string()] }]);
    json!({ "status": "success", "data": { "resultType": "vector", "result": result } }).to_string()
}

fn with(status: u16, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = http::StatusCode::from_u16(status).expect("a status");
    response
}
