//! A HashiCorp Vault with one secret: the token that queries need.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::DuplexStream;

use super::{SourceResponse, Sources};
use crate::fault::SourceFault;

/// How its reads are recorded.
const QUERY: &str = "vault";

/// Serves one connection until it ends.
pub(super) async fn serve(sources: Sources, stream: DuplexStream) {
    let service = service_fn(move |request| respond(sources.clone(), request));
    // A broken connection may be an injected fault.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(sources: Sources, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
    let body = match sources.respond(QUERY, None) {
        SourceResponse::Faulty(SourceFault::Hangs) => match std::future::pending::<Infallible>().await {},
        SourceResponse::Faulty(SourceFault::Resets) => return Err(io::ErrorKind::ConnectionReset.into()),
        SourceResponse::Faulty(SourceFault::Fails) | SourceResponse::Unauthorized => return Ok(broken()),
        SourceResponse::Faulty(_) => "<html>sealed</html>".to_owned(),
        SourceResponse::Value(_) if request.uri().path().ends_with("/lookup-self") => json!({ "data": {} }).to_string(),
        SourceResponse::Value(_) => json!({ "data": { "data": { "token": sources.vault_token() } } }).to_string(),
    };
    Ok(Response::new(Full::new(body.into())))
}

fn broken() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
    response
}
