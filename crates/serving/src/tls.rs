//! The TLS side of a server: 1.2 and later, HTTP/2 and HTTP/1.1, a serving certificate that may be replaced at any
//! time, and client certificates that are asked for, where the server wants them, but not yet believed.

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

/// Whether what is said on a connection is hidden from others.
#[derive(Clone, Debug)]
pub enum Security {
    /// HTTP/1.1 without TLS, for what holds no secret: probes and metrics.
    Plain,
    Tls(Tls),
}

/// What a server shows and asks in the handshake.
#[derive(Clone, Debug)]
pub struct Tls {
    pub certificate: ServingCertificate,
    pub clients: ClientCertificates,
    pub spoken: Spoken,
    /// Says what day it is, which certificates depend on.
    pub wall_clock: Arc<dyn TimeProvider>,
}

impl Tls {
    /// Asks no client for a certificate, and believes the machine's clock.
    pub fn new(certificate: ServingCertificate) -> Self {
        let (clients, spoken) = (ClientCertificates::NotAsked, Spoken::default());
        Self { certificate, clients, spoken, wall_clock: Arc::new(DefaultTimeProvider) }
    }
}

/// The versions of TLS and the cryptography that a server speaks.
#[derive(Clone, Debug)]
pub struct Spoken {
    pub versions: Vec<&'static SupportedProtocolVersion>,
    pub provider: Arc<CryptoProvider>,
}

impl Default for Spoken {
    /// All that there is.
    fn default() -> Self {
        Self { versions: rustls::DEFAULT_VERSIONS.to_vec(), provider: provider() }
    }
}

/// Whether clients are asked for a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificates {
    NotAsked,
    /// They may show one or none. They must hold its key; who issued it is for the handler to judge.
    Asked,
}

/// The cryptography in use. It is passed around and never set for the whole process, which belongs to others.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

pub(crate) fn server_config(tls: Tls) -> Result<ServerConfig, rustls::Error> {
    let Spoken { versions, provider } = tls.spoken;
    let builder =
        ServerConfig::builder_with_details(provider.clone(), tls.wall_clock).with_protocol_versions(&versions)?;
    let builder = match tls.clients {
        ClientCertificates::NotAsked => builder.with_no_client_auth(),
        ClientCertificates::Asked => builder.with_client_cert_verifier(Arc::new(AnyClient::new(provider))),
    };
    let mut config = builder.with_cert_resolver(Arc::new(tls.certificate));
    config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1.to_vec()];
    Ok(config)
}
