//! Client certificates: verifies a chain against a CA pool, and parses its subject.

use std::fmt;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use x509_parser::prelude::{FromDer, X509Certificate};

/// CAs for client certificates.
#[derive(Clone)]
pub(crate) struct CaPool {
    pem: Arc<str>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl CaPool {
    /// Reads a PEM bundle. A CA certificate that cannot be used is ignored, as long as one remains.
    pub(crate) fn parse(pem: &str) -> Result<Self, String> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| format!("is not a PEM bundle: {error}"))?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates);
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), kedge_serving::tls::provider())
            .build()
            .map_err(|_| "holds no usable certificate".to_owned())?;
        Ok(Self { pem: pem.into(), verifier })
    }

    /// The address of the bundle, which its clones share.
    pub(crate) fn addr(&self) -> usize {
        self.pem.as_ptr().addr()
    }

    /// Verifies signatures, validity, and that the certificate allows client authentication.
    pub(crate) fn verify(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        self.verifier.verify_client_cert(leaf, intermediates, now).map(drop)
    }
}

impl PartialEq for CaPool {
    fn eq(&self, other: &Self) -> bool {
        self.pem == other.pem
    }
}

impl fmt::Debug for CaPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CaPool").finish_non_exhaustive()
    }
}

/// The names in a certificate that Kubernetes reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) common_name: String,
    pub(crate) organizations: Vec<String>,
}

impl Subject {
    /// Of several common names the last one counts, as in Go. Obsolete string encodings are ignored.
    pub(crate) fn parse(leaf: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(leaf).ok()?;
        let subject = certificate.subject();
        let common_name = subject.iter_common_name().last().map(|name| name.as_str()).transpose().ok()?;
        let organizations: Result<_, _> =
            subject.iter_organization().map(|name| name.as_str().map(str::to_owned)).collect();
        Some(Self { common_name: common_name.unwrap_or_default().to_owned(), organizations: organizations.ok()? })
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    #[test]
    fn names_are_read_from_the_subject() {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "system:masters");
        params.distinguished_name.push(DnType::CommonName, "anna");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let subject = Subject::parse(certificate.der()).expect("a subject");
        let expected = Subject { common_name: "anna".to_owned(), organizations: vec!["system:masters".to_owned()] };
        assert_eq!(subject, expected);
        assert_eq!(Subject::parse(&CertificateDer::from(vec![1, 2, 3])), None);
    }

    #[test]
    fn a_pool_needs_one_usable_ca() {
        assert_eq!(CaPool::parse("").expect_err("empty"), "holds no usable certificate");
        let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
        assert!(CaPool::parse(broken).expect_err("broken").starts_with("is not a PEM bundle"));
    }
}
