//! A Prometheus server that serves instant queries with one number.

use std::convert::Infallible;
use std::io;
use std::sync::LazyLock;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::json;

use super::{SourceResponse, Sources};
use crate::fault::SourceFault;
use crate::scenario::{SLOW_FOR, SLOW_QUERY};

const PARTIAL: &str =
    r#"{"status":"success","warnings":["a store timed out"],"data":{"resultType":"vector","result":[]}}"#;
const ERROR: &str = r#"{"status":"error","errorType":"timeout","error":"query timed out"}"#;

static TOO_MANY: LazyLock<Bytes> = LazyLock::new(|| {
    let values = vec![r#"{"metric":{},"value":[0,"18446744073709551615"]}"#; 100_000].join(",");
    format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{values}]}}}}"#).into()
});

static TOO_LARGE: LazyLock<Bytes> = LazyLock::new(|| vec![b' '; 11 * 1024 * 1024].into());

pub(super) async fn respond(sources: Sources, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
    let query = request.uri().query().unwrap_or_default();
    let query = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "query");
    let query = query.map_or(String::new(), |(_, query)| query.into_owned());
    let token = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|text| text.strip_prefix("Bearer "));
    match sources.respond(&query, token) {
        SourceResponse::Value(value) => {
            if query == SLOW_QUERY {
                tokio::time::sleep(SLOW_FOR).await;
            }
            Ok(response(200, success(value)))
        }
        SourceResponse::Unauthorized => Ok(response(401, "unauthorized".to_owned())),
        SourceResponse::Faulty(SourceFault::Fails) => Ok(response(500, "broken".to_owned())),
        SourceResponse::Faulty(SourceFault::Garbage) => Ok(response(200, "<html>busy</html>".to_owned())),
        SourceResponse::Faulty(SourceFault::Partial) => Ok(response(200, PARTIAL.to_owned())),
        SourceResponse::Faulty(SourceFault::NamesError) => Ok(response(200, ERROR.to_owned())),
        SourceResponse::Faulty(SourceFault::TooMany) => Ok(Response::new(Full::new(TOO_MANY.clone()))),
        SourceResponse::Faulty(SourceFault::TooLarge) => Ok(Response::new(Full::new(TOO_LARGE.clone()))),
        SourceResponse::Faulty(SourceFault::Hangs) => match std::future::pending::<Infallible>().await {},
        SourceResponse::Faulty(SourceFault::Resets) => Err(io::ErrorKind::ConnectionReset.into()),
    }
}

fn success(value: f64) -> String {
    let result = json!([{ "metric": {}, "value": [0, value.to_string()] }]);
    json!({ "status": "success", "data": { "resultType": "vector", "result": result } }).to_string()
}

pub(super) fn response(status: u16, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = http::StatusCode::from_u16(status).expect("a status");
    response
}
