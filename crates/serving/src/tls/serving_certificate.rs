//! The serving certificate. Replacing it affects later handshakes; open connections continue.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;

use super::provider;

/// A certificate chain and its key, shared by all clones of this value.
#[derive(Clone)]
pub struct ServingCertificate(watch::Sender<Arc<CertifiedKey>>);

#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("the serving certificate is not a PEM chain: {0}")]
    ClientChain(String),
    #[error("the key of the serving certificate is not a PEM key")]
    Key,
    #[error("the serving certificate and its key cannot be used")]
    Pair(#[source] rustls::Error),
}

impl ServingCertificate {
    /// Reads a chain, leaf first, and the leaf's key.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, CertificateError> {
        Ok(Self(watch::Sender::new(parse(chain, key)?)))
    }

    /// Shows another certificate from now on. One that cannot be used changes nothing.
    pub fn replace_pem(&self, chain: &[u8], key: &[u8]) -> Result<(), CertificateError> {
        self.0.send_replace(parse(chain, key)?);
        Ok(())
    }

    /// The leaf that is served now.
    pub fn leaf(&self) -> CertificateDer<'static> {
        self.0.borrow().cert[0].clone()
    }
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.borrow().clone())
    }
}

impl fmt::Debug for ServingCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ServingCertificate(***)")
    }
}

fn parse(chain: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>, CertificateError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<_, _>>()
        .map_err(|error| CertificateError::ClientChain(error.to_string()))?;
    if chain.is_empty() {
        return Err(CertificateError::ClientChain("it holds no certificate".to_owned()));
    }
    // The cause is not reported: its text may contain parts of the key.
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| CertificateError::Key)?;
    CertifiedKey::from_der(chain, key, &provider()).map(Arc::new).map_err(CertificateError::Pair)
}

#[cfg(test)]
mod tests {
    use rcgen::generate_simple_self_signed;

    use super::*;

    #[test]
    fn only_a_chain_with_its_own_key_is_taken() {
        let one = generate_simple_self_signed(["one".to_owned()]).expect("a certificate");
        let other = generate_simple_self_signed(["other".to_owned()]).expect("a certificate");
        let (chain, key) = (one.cert.pem(), one.signing_key.serialize_pem());
        let serving = ServingCertificate::from_pem(chain.as_bytes(), key.as_bytes()).expect("a pair");
        let foreign = other.signing_key.serialize_pem();
        let rows = [
            ("no chain", "", key.as_str(), "the serving certificate is not a PEM chain: it holds no certificate"),
            ("no key", chain.as_str(), "", "the key of the serving certificate is not a PEM key"),
            ("another's key", chain.as_str(), foreign.as_str(), "the serving certificate and its key cannot be used"),
        ];
        for (name, chain, key, expected) in rows {
            let error = serving.replace_pem(chain.as_bytes(), key.as_bytes()).expect_err(name);
            assert_eq!(error.to_string(), expected, "{name}");
        }
        assert_eq!(serving.leaf(), *one.cert.der(), "what cannot be used changes nothing");
        assert_eq!(format!("{serving:?}"), "ServingCertificate(***)");
    }
}
