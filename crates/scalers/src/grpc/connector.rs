//! Connections for gRPC to one peer, with one limit over connecting and TLS.

use std::fmt;
use std::io;
use std::time::Duration;

use http::Uri;
use rustls::ClientConfig;

use crate::dial::Dial;
use crate::host_port::HostPort;
use crate::http::connector::{Connector, HttpStream, OpenStream};

/// Opens connections to one peer.
#[derive(Clone)]
pub(crate) struct GrpcConnector {
    dial: Dial,
    peer: HostPort,
    limit: Duration,
}

impl GrpcConnector {
    pub(super) fn new(connector: Connector, peer: &HostPort, tls: Option<ClientConfig>, limit: Duration) -> Self {
        let tls = tls.map(|mut config| {
            config.alpn_protocols = vec![b"h2".to_vec()];
            config
        });
        Self { dial: Dial::new(connector, tls), peer: peer.clone(), limit }
    }

    /// The scheme that requests over these connections name.
    pub(super) fn scheme(&self) -> &'static str {
        self.dial.scheme()
    }
}

impl fmt::Debug for GrpcConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GrpcConnector")
    }
}

impl OpenStream for GrpcConnector {
    /// Requests name the peer, and no other server.
    async fn open(self, _: Uri) -> io::Result<HttpStream> {
        let stream = tokio::time::timeout(self.limit, self.dial.open(&self.peer)).await??;
        Ok(HttpStream::direct(stream))
    }
}
