//! Connections for gRPC: the injected way out, TLS on top of it where it is wanted, and one limit over both.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::address::Address;
use crate::http::connector::{BoxStream, Conduit, Connector};
use crate::scaler::BoxFuture;

/// Opens connections to one peer.
#[derive(Clone)]
pub(crate) struct Dial {
    connector: Connector,
    tls: Option<(TlsConnector, String)>,
    limit: Duration,
}

impl Dial {
    pub(super) fn new(connector: Connector, peer: &Address, tls: Option<ClientConfig>, limit: Duration) -> Self {
        let tls = tls.map(|mut config| {
            config.alpn_protocols = vec![b"h2".to_vec()];
            (TlsConnector::from(Arc::new(config)), peer.host.clone())
        });
        Self { connector, tls, limit }
    }

    /// The scheme that requests over these connections name.
    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    async fn connect(self, uri: Uri) -> io::Result<BoxStream> {
        let stream = self.connector.connect(uri).await?;
        match self.tls {
            None => Ok(stream),
            Some((tls, host)) => {
                let name = ServerName::try_from(host).map_err(io::Error::other)?;
                Ok(Box::new(tls.connect(name, stream).await?))
            }
        }
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dial")
    }
}

/// A [`Dial`] as hyper takes it.
impl Service<Uri> for Dial {
    type Response = TokioIo<Conduit>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<TokioIo<Conduit>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (limit, connecting) = (self.limit, self.clone().connect(uri));
        Box::pin(async move {
            let stream = tokio::time::timeout(limit, connecting).await??;
            Ok(TokioIo::new(Conduit::straight(stream)))
        })
    }
}
