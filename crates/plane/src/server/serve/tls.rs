//! TLS settings: certificates, keys and CAs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

/// A certificate chain and its key.
#[derive(Debug)]
pub struct KeyedCertificate {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// Why there can be no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{what} is not PEM: {problem}")]
    NotPem { what: String, problem: String },
    #[error("no client can be verified: {0}")]
    NoAuthority(String),
    #[error(transparent)]
    Unusable(#[from] rustls::Error),
}

impl KeyedCertificate {
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = certificates(&read(certificate)?, &certificate.display().to_string())?;
        Ok(Self { chain, key: private_key(&read(key)?, &key.display().to_string())? })
    }

    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        Ok(Self { chain: certificates(certificate, "the certificate")?, key: private_key(key, "the key")? })
    }
}

impl Clone for KeyedCertificate {
    fn clone(&self) -> Self {
        Self { chain: self.chain.clone(), key: self.key.clone_key() }
    }
}

pub fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })
}

/// A server with this certificate for every client.
pub fn open_server_config(shown: KeyedCertificate) -> Result<ServerConfig, TlsError> {
    let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
    Ok(builder.with_no_client_auth().with_single_cert(shown.chain, shown.key)?)
}

/// A server with this certificate that requests client certificates of this CA.
pub fn server_config(shown: KeyedCertificate, client_authority: &[u8]) -> Result<ServerConfig, TlsError> {
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots(client_authority, "client authority")?), provider())
            .allow_unauthenticated()
            .build()
            .map_err(|error| TlsError::NoAuthority(error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(shown.chain, shown.key)?;
    config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1.to_vec()];
    Ok(config)
}

/// A client with an optional certificate, for servers of this CA.
pub(super) fn client_config(authority: &[u8], shown: Option<KeyedCertificate>) -> Result<ClientConfig, TlsError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots(authority, "authority")?);
    Ok(match shown {
        Some(shown) => builder.with_client_auth_cert(shown.chain, shown.key)?,
        None => builder.with_no_client_auth(),
    })
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots(pem: &[u8], what: &str) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(pem, what)?);
    Ok(roots)
}

fn private_key(pem: &[u8], what: &str) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(pem)
        .map_err(|error| TlsError::NotPem { what: what.to_owned(), problem: error.to_string() })
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| TlsError::NotPem { what: what.to_owned(), problem: error.to_string() })
}
