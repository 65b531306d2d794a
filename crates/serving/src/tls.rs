//! The TLS side of a server: 1.2 and later, HTTP/2 and HTTP/1.1, a serving certificate that may be replaced at any
//! time, and client certificates that are requested where the server needs them, but not verified here.

mod any_client;
mod serving_certificate;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::{ServerConfig, SupportedProtocolVersion};

use any_client::AnyClient;

pub use serving_certificate::{CertificateError, ServingCertificate};

pub(crate) const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

/// Whether connections use TLS.
#[derive(Clone, Debug)]
pub enum Security {
    /// HTTP/1.1 without TLS, for what holds no secret: probes and metrics.
    Plain,
    Tls(Tls),
}

/// The server side of the handshake.
#[derive(Clone, Debug)]
pub struct Tls {
    pub certificate: ServingCertificate,
    pub clients: ClientCertificates,
    pub protocols: TlsProtocols,
    /// The wall clock for the validity of certificates.
    pub wall_clock: Arc<dyn TimeProvider>,
}

impl Tls {
    /// Requests no client certificate, and uses the system clock.
    pub fn new(certificate: ServingCertificate) -> Self {
        let (clients, protocols) = (ClientCertificates::NotRequested, TlsProtocols::default());
        Self { certificate, clients, protocols, wall_clock: Arc::new(DefaultTimeProvider) }
    }
}

/// The TLS versions and the cryptography of a server.
#[derive(Clone, Debug)]
pub struct TlsProtocols {
    pub versions: Vec<&'static SupportedProtocolVersion>,
    pub provider: Arc<CryptoProvider>,
}

impl Default for TlsProtocols {
    /// All supported versions.
    fn default() -> Self {
        Self { versions: rustls::DEFAULT_VERSIONS.to_vec(), provider: provider() }
    }
}

/// Whether client certificates are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificates {
    NotRequested,
    /// A client may present one, and must hold its key. The handler verifies the issuer.
    Requested,
}

/// The cryptography provider. It is passed explicitly: the process-wide default is not ours to set.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

pub(crate) fn server_config(tls: Tls) -> Result<ServerConfig, rustls::Error> {
    let TlsProtocols { versions, provider } = tls.protocols;
    let builder =
        ServerConfig::builder_with_details(provider.clone(), tls.wall_clock).with_protocol_versions(&versions)?;
    let builder = match tls.clients {
        ClientCertificates::NotRequested => builder.with_no_client_auth(),
        ClientCertificates::Requested => builder.with_client_cert_verifier(Arc::new(AnyClient::new(provider))),
    };
    let mut config = builder.with_cert_resolver(Arc::new(tls.certificate));
    config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1.to_vec()];
    Ok(config)
}
