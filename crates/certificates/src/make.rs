//! Keys and certificates, made as a plan says.
//!
//! Keys are ECDSA on P-256, written as PKCS#8. KEDA's are RSA of 2048 bits; every client that can speak TLS 1.2 to a Kubernetes API server
//! knows both, and a P-256 key is made in less than a millisecond where an RSA key takes up to seconds, has smaller signatures, and
//! is no weaker.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use time::OffsetDateTime;

use crate::contents::Contents;
use crate::plan::{Plan, delta, plan};
use crate::reading::{self, Authority, Signer};
use crate::wanted::{Wanted, backdating};

// KEDA: the names of its authority.
const COMMON_NAME: &str = "KEDA";
const ORGANIZATION: &str = "KEDAORG";

#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    #[error("a certificate cannot be made")]
    Make(#[from] rcgen::Error),
    #[error("{0} is not a time that a certificate can hold")]
    Time(DateTime<Utc>),
}

/// What the Secret is to hold once the plan is carried out. `remembered` is what it held when it was last of use: where the Secret lost
/// its leaf, servers still show that one.
pub fn apply(
    plan: Plan,
    found: &Contents,
    remembered: Option<&Contents>,
    wanted: &Wanted,
    now: DateTime<Utc>,
) -> Result<Contents, MakeError> {
    match plan {
        Plan::Keep { .. } => Ok(found.clone()),
        Plan::DropOldAuthorities => Ok(without_old_authorities(found)),
        Plan::Follow { .. } | Plan::RenewLeaf { .. } => match renew_leaf(found, wanted, now)? {
            Some(renewed) => Ok(renewed),
            None => renew_authority(found, remembered, wanted, now),
        },
        Plan::RenewAuthority { .. } => renew_authority(found, remembered, wanted, now),
    }
}

fn without_old_authorities(found: &Contents) -> Contents {
    match reading::signer(found) {
        Ok((signer, _)) => Contents { authorities: pem(&signer.authority).into_bytes(), ..found.clone() },
        Err(_) => found.clone(),
    }
}

/// A new leaf of the authority that is there; nothing if that authority cannot issue one that is of use.
fn renew_leaf(found: &Contents, wanted: &Wanted, now: DateTime<Utc>) -> Result<Option<Contents>, MakeError> {
    let Ok((signer, _)) = reading::signer(found) else { return Ok(None) };
    let (chain, key) = make_leaf(signer, wanted, now)?;
    let renewed = Contents { chain: chain.into_bytes(), key: key.into_bytes(), ..found.clone() };
    let is_of_use = matches!(plan(&renewed, wanted, now), Plan::Keep { .. } | Plan::DropOldAuthorities);
    Ok(is_of_use.then_some(renewed))
}

/// A new authority. The leaf that servers show stays for as long as its own authority is trusted, which stands beside the new one; where
/// there is none of use, the new authority issues one at once.
fn renew_authority(
    found: &Contents,
    remembered: Option<&Contents>,
    wanted: &Wanted,
    now: DateTime<Utc>,
) -> Result<Contents, MakeError> {
    let (signer, own) = make_authority(wanted, now)?;
    let authority_key = signer.key.serialize_pem().into_bytes();
    if let Some((shown, old)) = worth_keeping(found, remembered, now) {
        let authorities = (own + &pem(&old)).into_bytes();
        let (chain, key) = (shown.chain.clone(), shown.key.clone());
        return Ok(Contents { authorities, authority_key, chain, key });
    }
    let (chain, key) = make_leaf(signer, wanted, now)?;
    Ok(Contents { authorities: own.into_bytes(), authority_key, chain: chain.into_bytes(), key: key.into_bytes() })
}

/// The contents with a leaf that can still be shown, and the authority it leads to.
fn worth_keeping<'a>(
    found: &'a Contents,
    remembered: Option<&'a Contents>,
    now: DateTime<Utc>,
) -> Option<(&'a Contents, Authority)> {
    let all = [Some(found), remembered];
    let known: Vec<Authority> = all.iter().copied().flatten().flat_map(reading::authorities).collect();
    let issuer = |contents: &'a Contents| {
        let leaf = reading::leaf(contents).ok().filter(|leaf| leaf.validity.holds_at(now))?;
        let mut valid = known.iter().filter(|one| one.validity.holds_at(now));
        Some((contents, valid.find(|one| leaf.is_issued_by(one, now))?.clone()))
    };
    all.into_iter().flatten().find_map(issuer)
}

/// An authority, ready to sign, and its certificate as PEM.
fn make_authority(wanted: &Wanted, now: DateTime<Utc>) -> Result<(Signer, String), MakeError> {
    let lifetime = wanted.lifetimes.authority;
    let mut params = CertificateParams::new([COMMON_NAME.to_owned()])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
    params.distinguished_name.push(DnType::CommonName, COMMON_NAME);
    params.distinguished_name.push(DnType::OrganizationName, ORGANIZATION);
    params.not_before = begin(now, lifetime)?;
    params.not_after = instant(now + delta(lifetime))?;
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let authority = Authority::read(certificate.der().clone()).expect("what was just made can be read");
    Ok((Signer { authority, key }, certificate.pem()))
}

/// A leaf and its key as PEM. It does not outlive its authority.
fn make_leaf(signer: Signer, wanted: &Wanted, now: DateTime<Utc>) -> Result<(String, String), MakeError> {
    let lifetime = wanted.lifetimes.leaf;
    let mut params = CertificateParams::new(wanted.names.clone())?;
    params.distinguished_name.push(DnType::CommonName, wanted.names.first().map_or(COMMON_NAME, String::as_str));
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = begin(now, lifetime)?;
    params.not_after = instant((now + delta(lifetime)).min(signer.authority.validity.not_after))?;
    let key = KeyPair::generate()?;
    let issuer = Issuer::from_ca_cert_der(&signer.authority.der, signer.key)?;
    Ok((params.signed_by(&key, &issuer)?.pem(), key.serialize_pem()))
}

fn begin(now: DateTime<Utc>, lifetime: Duration) -> Result<OffsetDateTime, MakeError> {
    instant(now - delta(backdating(lifetime)))
}

fn instant(at: DateTime<Utc>) -> Result<OffsetDateTime, MakeError> {
    OffsetDateTime::from_unix_timestamp(at.timestamp()).map_err(|_| MakeError::Time(at))
}

fn pem(authority: &Authority) -> String {
    let text = STANDARD.encode(&authority.der);
    // PEM: 64 characters a line.
    let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}
