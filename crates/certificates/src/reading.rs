//! Certificates and keys as they are found: read, and held against each other.

mod private_key;

use chrono::{DateTime, TimeDelta, Utc};
use rcgen::KeyPair;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::contents::Contents;
use crate::plan::Reason;

/// From when until when a certificate holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) not_before: DateTime<Utc>,
    pub(crate) not_after: DateTime<Utc>,
}

impl Validity {
    pub(crate) fn holds_at(&self, now: DateTime<Utc>) -> bool {
        self.not_before <= now && now < self.not_after
    }

    /// When two thirds of it are over.
    pub(crate) fn renew_at(&self) -> DateTime<Utc> {
        let seconds = (self.not_after - self.not_before).num_seconds();
        self.not_before + TimeDelta::seconds(seconds - seconds / 3)
    }

    fn of(certificate: &X509Certificate<'_>) -> Option<Self> {
        let validity = certificate.validity();
        Some(Self {
            not_before: DateTime::from_timestamp(validity.not_before.timestamp(), 0)?,
            not_after: DateTime::from_timestamp(validity.not_after.timestamp(), 0)?,
        })
    }
}

/// A certificate that issues others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) validity: Validity,
    public_key: Vec<u8>,
}

impl Authority {
    pub(crate) fn read(der: CertificateDer<'static>) -> Result<Self, Reason> {
        let (_, certificate) = X509Certificate::from_der(&der).map_err(|_| Reason::Unreadable)?;
        if !certificate.is_ca() {
            return Err(Reason::NotAnAuthority);
        }
        let validity = Validity::of(&certificate).ok_or(Reason::Unreadable)?;
        let public_key = certificate.public_key().subject_public_key.data.to_vec();
        Ok(Self { validity, public_key, der: der.clone() })
    }
}

/// The authority that signs, with its key.
#[derive(Debug)]
pub(crate) struct Signer {
    pub(crate) authority: Authority,
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

/// All authorities; those that cannot be read are left out.
pub(crate) fn authorities(contents: &Contents) -> Vec<Authority> {
    let found = certificates(&contents.authorities).unwrap_or_default();
    found.into_iter().filter_map(|der| Authority::read(der).ok()).collect()
}

/// The authority whose key is there, and the others. All must be of use: the API server takes a bundle whole.
pub(crate) fn signer(contents: &Contents) -> Result<(Signer, Vec<Authority>), Reason> {
    let found = certificates(&contents.authorities)?;
    let mut found: Vec<Authority> = found.into_iter().map(Authority::read).collect::<Result<_, _>>()?;
    let key = private_key::read(&contents.authority_key)?;
    let place = found.iter().position(|one| one.public_key == key.public_key_raw());
    let authority = found.remove(place.ok_or(Reason::KeyDoesNotFit)?);
    Ok((Signer { authority, key }, found))
}

/// What servers show.
#[derive(Debug)]
pub(crate) struct Leaf {
    chain: Vec<CertificateDer<'static>>,
    pub(crate) validity: Validity,
}

/// The leaf, if servers can show it.
pub(crate) fn leaf(contents: &Contents) -> Result<Leaf, Reason> {
    let chain = certificates(&contents.chain)?;
    if contents.key.is_empty() {
        return Err(Reason::Missing);
    }
    let key = PrivateKeyDer::from_pem_slice(&contents.key).map_err(|_| Reason::Unreadable)?;
    let validity = {
        let (_, certificate) = X509Certificate::from_der(&chain[0]).map_err(|_| Reason::Unreadable)?;
        Validity::of(&certificate).ok_or(Reason::Unreadable)?
    };
    let provider = kedge_serving::tls::provider();
    CertifiedKey::from_der(chain.clone(), key, &provider).map_err(|_| Reason::KeyDoesNotFit)?;
    Ok(Leaf { chain, validity })
}

/// The leaf, if it is within its time and leads to an authority beside it.
pub(crate) fn leaf_of_use(contents: &Contents, now: DateTime<Utc>) -> Option<Leaf> {
    let leaf = leaf(contents).ok().filter(|leaf| leaf.validity.holds_at(now))?;
    authorities(contents).iter().any(|authority| leaf.is_issued_by(authority, now)).then_some(leaf)
}

impl Leaf {
    /// Whether it leads to this authority, now, as a server's.
    pub(crate) fn is_issued_by(&self, authority: &Authority, now: DateTime<Utc>) -> bool {
        let Ok(anchor) = anchor_from_trusted_cert(&authority.der) else { return false };
        let Ok(leaf) = EndEntityCert::try_from(&self.chain[0]) else { return false };
        let Ok(seconds) = u64::try_from(now.timestamp()) else { return false };
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let provider = kedge_serving::tls::provider();
        let algorithms = provider.signature_verification_algorithms.all;
        let usage = KeyUsage::server_auth();
        leaf.verify_for_usage(algorithms, &[anchor], &self.chain[1..], now, usage, None, None).is_ok()
    }

    /// Whether a server of each of these names can show it.
    pub(crate) fn names_all(&self, names: &[String]) -> bool {
        let Ok(leaf) = EndEntityCert::try_from(&self.chain[0]) else { return false };
        let named = |name: &String| {
            ServerName::try_from(name.as_str()).is_ok_and(|name| leaf.verify_is_valid_for_subject_name(&name).is_ok())
        };
        names.iter().all(named)
    }
}
