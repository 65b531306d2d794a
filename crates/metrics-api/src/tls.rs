//! The TLS side of the server: 1.2 and later, HTTP/2 and HTTP/1.1, a serving certificate that may be replaced at any
//! time, and client certificates that are asked for but not yet believed.

mod any_client;
mod serving_certificate;

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::time_provider::TimeProvider;

use any_client::AnyClient;

pub use serving_certificate::{CertificateError, ServingCertificate};

pub(crate) const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

/// The cryptography in use. It is passed around and never set for the whole process, which belongs to others.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

pub(crate) fn server_config(
    certificate: ServingCertificate,
    wall_clock: Arc<dyn TimeProvider>,
) -> Result<ServerConfig, rustls::Error> {
    let provider = provider();
    let mut config = ServerConfig::builder_with_details(provider.clone(), wall_clock)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(Arc::new(AnyClient::new(provider)))
        .with_cert_resolver(Arc::new(certificate));
    config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1.to_vec()];
    Ok(config)
}
