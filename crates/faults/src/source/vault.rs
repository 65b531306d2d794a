//! A HashiCorp Vault with one secret: the token that queries need.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::json;

use super::prometheus::response;
use super::{SourceResponse, Sources};
use crate::fault::SourceFault;

/// How its reads are recorded.
const QUERY: &str = "vault";

pub(super) async fn respond(sources: Sources, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
    let body = match sources.respond(QUERY, None) {
        SourceResponse::Faulty(SourceFault::Hangs) => match std::future::pending::<Infallible>().await {},
        SourceResponse::Faulty(SourceFault::Resets) => return Err(io::ErrorKind::ConnectionReset.into()),
        SourceResponse::Faulty(SourceFault::Fails) | SourceResponse::Unauthorized => {
            return Ok(response(500, String::new()));
        }
        SourceResponse::Faulty(_) => "<html>sealed</html>".to_owned(),
        SourceResponse::Value(_) if request.uri().path().ends_with("/lookup-self") => json!({ "data": {} }).to_string(),
        SourceResponse::Value(_) => json!({ "data": { "data": { "token": sources.vault_token() } } }).to_string(),
    };
    Ok(response(200, body))
}
