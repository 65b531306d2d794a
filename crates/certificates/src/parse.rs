//! Parses stored certificates and keys, and verifies them against each other.

mod private_key;

use chrono::{DateTime, TimeDelta, Utc};
use rcgen::KeyPair;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::contents::SecretContents;
use crate::reason::Reason;

/// The validity period of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) not_before: DateTime<Utc>,
    pub(crate) not_after: DateTime<Utc>,
}

impl Validity {
    pub(crate) fn contains(&self, now: DateTime<Utc>) -> bool {
        self.not_before <= now && now < self.not_after
    }

    /// When two thirds of it have passed.
    pub(crate) fn renew_at(&self) -> DateTime<Utc> {
        let seconds = (self.not_after - self.not_before).num_seconds();
        self.not_before + TimeDelta::seconds(seconds - seconds / 3)
    }

    fn from_certificate(certificate: &X509Certificate<'_>) -> Option<Self> {
        let validity = certificate.validity();
        Some(Self {
            not_before: DateTime::from_timestamp(validity.not_before.timestamp(), 0)?,
            not_after: DateTime::from_timestamp(validity.not_after.timestamp(), 0)?,
        })
    }
}

/// The certificate of a CA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CaCertificate {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) validity: Validity,
    public_key: Vec<u8>,
}

impl CaCertificate {
    pub(crate) fn parse(der: CertificateDer<'static>) -> Result<Self, Reason> {
        let (_, certificate) = X509Certificate::from_der(&der).map_err(|_| Reason::Unreadable)?;
        if !certificate.is_ca() {
            return Err(Reason::NotACa);
        }
        let validity = Validity::from_certificate(&certificate).ok_or(Reason::Unreadable)?;
        let public_key = certificate.public_key().subject_public_key.data.to_vec();
        Ok(Self { validity, public_key, der: der.clone() })
    }
}

/// The CA that signs, with its key.
#[derive(Debug)]
pub(crate) struct Signer {
    pub(crate) ca: CaCertificate,
    pub(crate) key: KeyPair,
}

/// The certificates of a PEM text.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Reason> {
    if pem.is_empty() {
        return Err(Reason::Missing);
    }
    let read: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|_| Reason::Unreadable)?;
    if read.is_empty() { Err(Reason::Unreadable) } else { Ok(read) }
}

/// All CA certificates that can be parsed.
pub(crate) fn ca_certificates(contents: &SecretContents) -> Vec<CaCertificate> {
    let found = certificates(&contents.ca_bundle).unwrap_or_default();
    found.into_iter().filter_map(|der| CaCertificate::parse(der).ok()).collect()
}

/// The CA whose key is present, and the others. All must parse: the API server rejects a bundle with one bad certificate.
pub(crate) fn signer(contents: &SecretContents) -> Result<(Signer, Vec<CaCertificate>), Reason> {
    let found = certificates(&contents.ca_bundle)?;
    let mut found: Vec<CaCertificate> = found.into_iter().map(CaCertificate::parse).collect::<Result<_, _>>()?;
    let key = private_key::parse(&contents.ca_key)?;
    let position = found.iter().position(|one| one.public_key == key.public_key_raw());
    let ca = found.remove(position.ok_or(Reason::KeyMismatch)?);
    Ok((Signer { ca, key }, found))
}

/// The leaf certificate with its chain.
#[derive(Debug)]
pub(crate) struct Leaf {
    chain: Vec<CertificateDer<'static>>,
    pub(crate) validity: Validity,
}

/// The leaf, if its key matches.
pub(crate) fn leaf(contents: &SecretContents) -> Result<Leaf, Reason> {
    let chain = certificates(&contents.chain)?;
    if contents.key.is_empty() {
        return Err(Reason::Missing);
    }
    let key = PrivateKeyDer::from_pem_slice(&contents.key).map_err(|_| Reason::Unreadable)?;
    let validity = {
        let (_, certificate) = X509Certificate::from_der(&chain[0]).map_err(|_| Reason::Unreadable)?;
        Validity::from_certificate(&certificate).ok_or(Reason::Unreadable)?
    };
    let provider = kedge_serving::tls::provider();
    CertifiedKey::from_der(chain.clone(), key, &provider).map_err(|_| Reason::KeyMismatch)?;
    Ok(Leaf { chain, validity })
}

/// The leaf, if it is valid and issued by a CA of the bundle.
pub(crate) fn usable_leaf(contents: &SecretContents, now: DateTime<Utc>) -> Option<Leaf> {
    let leaf = leaf(contents).ok().filter(|leaf| leaf.validity.contains(now))?;
    ca_certificates(contents).iter().any(|ca| leaf.is_issued_by(ca, now)).then_some(leaf)
}

/// Whether servers can present the leaf: it is valid, and a CA of the bundle issued it.
pub fn has_usable_leaf(contents: &SecretContents, now: DateTime<Utc>) -> bool {
    usable_leaf(contents, now).is_some()
}

impl Leaf {
    /// Whether this CA issued it, for server authentication, and it is valid now.
    pub(crate) fn is_issued_by(&self, ca: &CaCertificate, now: DateTime<Utc>) -> bool {
        let Ok(anchor) = anchor_from_trusted_cert(&ca.der) else { return false };
        let Ok(leaf) = EndEntityCert::try_from(&self.chain[0]) else { return false };
        let Ok(seconds) = u64::try_from(now.timestamp()) else { return false };
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let provider = kedge_serving::tls::provider();
        let algorithms = provider.signature_verification_algorithms.all;
        let usage = KeyUsage::server_auth();
        leaf.verify_for_usage(algorithms, &[anchor], &self.chain[1..], now, usage, None, None).is_ok()
    }

    /// Whether it is valid for all these names.
    pub(crate) fn covers(&self, names: &[String]) -> bool {
        let Ok(leaf) = EndEntityCert::try_from(&self.chain[0]) else { return false };
        let is_valid_for = |name: &String| {
            ServerName::try_from(name.as_str()).is_ok_and(|name| leaf.verify_is_valid_for_subject_name(&name).is_ok())
        };
        names.iter().all(is_valid_for)
    }
}
