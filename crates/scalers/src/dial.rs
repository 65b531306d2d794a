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
    tls: Option<TlsConnector>,
}

impl Dial {
    pub(crate) fn new(connector: Connector, tls: Option<ClientConfig>) -> Self {
        Self { connector, tls: tls.map(|config| TlsConnector::from(Arc::new(config))) }
    }

    /// The scheme of URLs that are reached so.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Opens a connection, for which the connector and its policy see the address of the server.
    pub(crate) async fn open(&self, server: &HostPort) -> io::Result<BoxStream> {
        let uri = server.uri(self.scheme()).ok_or_else(|| io::Error::other("the address is not a host and a port"))?;
        let stream = self.connector.clone().connect(uri).await?;
        match &self.tls {
            None => Ok(stream),
            Some(tls) => {
                let name = ServerName::try_from(server.host.clone()).map_err(io::Error::other)?;
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
