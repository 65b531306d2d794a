//! Connections for gRPC: those of the injected connector, TLS on top where it is wanted, and one limit over both.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::address::Address;
use crate::http::connector::{BoxStream, Connector, HttpStream, OpenStream};

/// Opens connections to one peer.
#[derive(Clone)]
pub(crate) struct GrpcConnector {
    connector: Connector,
    tls: Option<(TlsConnector, String)>,
    limit: Duration,
}

impl GrpcConnector {
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

impl fmt::Debug for GrpcConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GrpcConnector")
    }
}

impl OpenStream for GrpcConnector {
    async fn open(self, uri: Uri) -> io::Result<HttpStream> {
        let stream = tokio::time::timeout(self.limit, self.connect(uri)).await??;
        Ok(HttpStream::direct(stream))
    }
}
