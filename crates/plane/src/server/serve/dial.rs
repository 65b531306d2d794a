//! Calls to backends over the network, with a connection pool.

use std::error::Error;
use std::iter;

use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::Body;
use rustls::pki_types::ServerName;

use super::tls::{self, KeyedCertificate, TlsError};
use crate::plane::Backend;

/// The address of a server, and how its certificate is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BackendAddress {
    /// `localhost:443`.
    pub(super) authority: String,
    /// The name on its certificate.
    pub(super) server_name: String,
    /// The CA of the certificate, PEM.
    pub(super) signed_by: Vec<u8>,
}

/// Why a server cannot be called.
#[derive(Debug, thiserror::Error)]
pub(super) enum BackendError {
    #[error("{0:?} is no name of a server")]
    Name(String),
    #[error("{0:?} is no address")]
    Address(String),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// The backend at an address, with an optional client certificate.
pub(super) fn backend(address: &BackendAddress, shown: Option<KeyedCertificate>) -> Result<Backend, BackendError> {
    let invalid_name = || BackendError::Name(address.server_name.clone());
    let server_name = ServerName::try_from(address.server_name.clone()).map_err(|_| invalid_name())?;
    let invalid_address = || BackendError::Address(address.authority.clone());
    let authority: Authority = address.authority.parse().map_err(|_| invalid_address())?;
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls::client_config(&address.signed_by, shown)?)
        .https_only()
        .with_server_name_resolver(FixedServerNameResolver::new(server_name))
        .enable_http1()
        .build();
    let client = Client::builder(TokioExecutor::new()).build(connector);
    Ok(Backend::new(move |request| call(client.clone(), authority.clone(), request)))
}

async fn call(
    client: Client<HttpsConnector<HttpConnector>, Body>,
    authority: Authority,
    mut request: Request<Body>,
) -> Result<Response<Body>, String> {
    let mut parts = request.uri().clone().into_parts();
    parts.scheme = Some(Scheme::HTTPS);
    parts.authority = Some(authority);
    *request.uri_mut() = Uri::from_parts(parts).map_err(|error| error.to_string())?;
    // The connection decides on both.
    *request.version_mut() = http::Version::HTTP_11;
    request.headers_mut().remove(http::header::HOST);
    let answer = client.request(request).await.map_err(|error| error_chain(&error))?;
    let (head, body) = answer.into_parts();
    let body = body.collect().await.map_err(|error| error_chain(&error))?;
    Ok(Response::from_parts(head, Body::from(body.to_bytes())))
}

/// An error and what it comes from.
fn error_chain(error: &(dyn Error + 'static)) -> String {
    let causes = iter::successors(Some(error), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
