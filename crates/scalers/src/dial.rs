//! Opening a connection to a server: by the injected connector, with TLS on top where it is wanted.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use crate::host_port::HostPort;
use crate::http::connector::{BoxStream, Connector};

/// How servers are reached.
#[derive(Clone)]
pub(crate) struct Dial {
    connector: Connector,
    tls: Option<Tls>,
}

/// TLS on top of a connection.
#[derive(Clone)]
pub(crate) struct Tls(TlsConnector);

impl Tls {
    pub(crate) fn new(config: ClientConfig) -> Self {
        Self(TlsConnector::from(Arc::new(config)))
    }

    /// Begins TLS on a connection to a host. Some protocols agree on it only after the connection is open.
    pub(crate) async fn begin(&self, host: &str, stream: BoxStream) -> io::Result<BoxStream> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Box::new(self.0.connect(name, stream).await?))
    }
}

impl Dial {
    pub(crate) fn new(connector: Connector, tls: Option<ClientConfig>) -> Self {
        Self { connector, tls: tls.map(Tls::new) }
    }

    /// The scheme of URLs that are reached so.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Opens a connection, for which the connector and its policy see the address of the server.
    pub(crate) async fn open(&self, server: &HostPort) -> io::Result<BoxStream> {
        let uri = server.uri(self.scheme()).ok_or_else(|| io::Error::other("the address is not a host and a port"))?;
        let stream = self.connector.clone().connect(uri).await?;
        self.upgrade(server, stream).await
    }

    /// Puts TLS, where it is wanted, on a connection that is open already.
    pub(crate) async fn upgrade(&self, server: &HostPort, stream: BoxStream) -> io::Result<BoxStream> {
        match &self.tls {
            None => Ok(stream),
            Some(tls) => tls.begin(&server.host, stream).await,
        }
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dial")
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
