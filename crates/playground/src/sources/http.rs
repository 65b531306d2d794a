//! Stand-ins over HTTP: a Prometheus that answers instant queries, and an API with a number in it.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kedge_scalers::http::connector::BoxStream;
use serde_json::{Value, json};

use super::{Answer, Sources, answer};
use crate::dials::{authority_of, path_id, query_id};

/// Serves one connection until it ends.
pub(super) async fn serve(sources: Sources, authority: String, stream: BoxStream) {
    let service = service_fn(|request| respond(&sources, &authority, request));
    // A client that goes away breaks its connection.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(sources: &Sources, authority: &str, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
    let query = request.uri().query().unwrap_or_default();
    let expression = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "query");
    let path = request.uri().path();
    let (id, render): (String, Box<dyn Fn(f64) -> Value + Send>) = match expression {
        Some((_, expression)) if path.ends_with("/api/v1/query") => {
            (query_id(authority, &expression), Box::new(vector))
        }
        _ => {
            let location = location(sources, authority, path);
            (path_id(authority, path), Box::new(move |value| nested(&location, value)))
        }
    };
    match answer(sources.dials.get(&id)) {
        Answer::Value(value) => Ok(response(StatusCode::OK, &render(value))),
        Answer::Error => Ok(response(StatusCode::INTERNAL_SERVER_ERROR, &json!({ "error": "the source is broken" }))),
        Answer::Nothing => match std::future::pending::<Infallible>().await {},
    }
}

/// A vector of one sample.
fn vector(value: f64) -> Value {
    let result = json!([{ "metric": {}, "value": [0, value.to_string()] }]);
    json!({ "status": "success", "data": { "resultType": "vector", "result": result } })
}

/// Where the trigger that asks looks for its number.
fn location(sources: &Sources, authority: &str, path: &str) -> String {
    let asks = |trigger: &Value| {
        let url = trigger["metadata"]["url"].as_str();
        let uri = url.and_then(|url| url.parse::<http::Uri>().ok());
        url.and_then(authority_of).as_deref() == Some(authority) && uri.is_some_and(|uri| uri.path() == path)
    };
    let trigger = sources.triggers(|trigger| trigger["type"] == "metrics-api" && asks(trigger)).unwrap_or_default();
    trigger["metadata"]["valueLocation"].as_str().unwrap_or("value").to_owned()
}

/// A document that has the value at a path of names and indexes.
fn nested(location: &str, value: f64) -> Value {
    location.rsplit('.').fold(json!(value), |inner, part| match part.parse::<usize>() {
        Ok(index) => Value::Array((0..=index.min(100)).map(|_| inner.clone()).collect()),
        Err(_) => json!({ part: inner }),
    })
}

fn response(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.to_string().into()));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_where_the_trigger_looks_for_it() {
        assert_eq!(nested("value", 3.0), json!({ "value": 3.0 }));
        assert_eq!(nested("a.b.c", 3.5), json!({ "a": { "b": { "c": 3.5 } } }));
        assert_eq!(nested("items.1.n", 1.0), json!({ "items": [{ "n": 1.0 }, { "n": 1.0 }] }));
    }
}
