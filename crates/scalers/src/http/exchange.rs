//! Requests that are not questions to a source: to the stores that credentials are taken from. They go the same way out,
//! with the same trust and the same limits, but any method, no redirects, and every status is an answer.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;

use super::call::explain;
use super::connector::Connector;
use super::{HttpClients, Roots, TlsProfile, tls};
use crate::error::{Endpoint, ReadError};

const BODY_BYTES_MAX: usize = 1024 * 1024;

type Client = legacy::Client<HttpsConnector<Connector>, Full<Bytes>>;

/// Makes such requests. Clones share connections.
#[derive(Clone)]
pub struct Exchange {
    clients: Arc<HttpClients>,
    client: Arc<OnceLock<Client>>,
}

impl Exchange {
    pub(crate) fn new(clients: Arc<HttpClients>) -> Self {
        Self { clients, client: Arc::default() }
    }

    /// The status and the body of the answer, whatever they are.
    pub async fn send(&self, request: Request<Bytes>) -> Result<(StatusCode, Bytes), ReadError> {
        let endpoint = Endpoint::of(request.uri());
        let limit = self.clients.settings().limit(None);
        match tokio::time::timeout(limit, self.ask(request, &endpoint)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ReadError::Timeout { endpoint, limit }),
        }
    }

    async fn ask(&self, request: Request<Bytes>, endpoint: &Endpoint) -> Result<(StatusCode, Bytes), ReadError> {
        let client = self.client(endpoint)?;
        let answer = client.request(request.map(Full::new)).await.map_err(|error| explain(&error, endpoint))?;
        let status = answer.status();
        match Limited::new(answer.into_body(), BODY_BYTES_MAX).collect().await {
            Ok(body) => Ok((status, body.to_bytes())),
            // The error may quote the body.
            Err(_) => Err(ReadError::Malformed {
                endpoint: endpoint.clone(),
                problem: format!("it broke off, or is longer than {BODY_BYTES_MAX} bytes"),
            }),
        }
    }

    fn client(&self, endpoint: &Endpoint) -> Result<&Client, ReadError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let roots = self.clients.roots.get_or_init(|| Roots::load(&self.clients.settings.extra_roots));
        let tls = tls::client_config(&TlsProfile::default(), roots)
            .map_err(|problem| ReadError::Untrusted { endpoint: endpoint.clone(), problem: problem.to_string() })?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(self.clients.connector.clone());
        Ok(self.client.get_or_init(|| legacy::Client::builder(TokioExecutor::new()).build(connector)))
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exchange")
    }
}
