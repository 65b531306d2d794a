//! Issues keys and certificates as planned.
//!
//! Keys are ECDSA on P-256, written as PKCS#8. KEDA's are RSA of 2048 bits; every client that can speak TLS 1.2 to a Kubernetes API server
//! supports both, and a P-256 key is generated in less than a millisecond where an RSA key takes up to seconds, has smaller signatures, and
//! is no weaker.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use time::OffsetDateTime;

use crate::contents::SecretContents;
use crate::parse::{self, CaCertificate, Signer};
use crate::plan::{Plan, delta, plan};
use crate::spec::{CertificateSpec, backdating};

// KEDA: the subject of its CA.
const COMMON_NAME: &str = "KEDA";
const ORGANIZATION: &str = "KEDAORG";

#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error("cannot issue a certificate")]
    Issue(#[from] rcgen::Error),
    #[error("{0} is not a time that a certificate can hold")]
    Time(DateTime<Utc>),
}

/// The contents of the Secret after the planned step. `remembered` is its last usable contents: where the Secret lost its leaf,
/// servers still present that one.
pub fn apply(
    plan: Plan,
    found: &SecretContents,
    remembered: Option<&SecretContents>,
    spec: &CertificateSpec,
    now: DateTime<Utc>,
) -> Result<SecretContents, IssueError> {
    match plan {
        Plan::Keep { .. } => Ok(found.clone()),
        Plan::DropOldCas => Ok(without_old_cas(found)),
        Plan::ReplaceLeaf { .. } | Plan::RenewLeaf { .. } => match renew_leaf(found, spec, now)? {
            Some(renewed) => Ok(renewed),
            None => renew_ca(found, remembered, spec, now),
        },
        Plan::RenewCa { .. } => renew_ca(found, remembered, spec, now),
    }
}

fn without_old_cas(found: &SecretContents) -> SecretContents {
    match parse::signer(found) {
        Ok((signer, _)) => SecretContents { ca_bundle: pem(&signer.ca).into_bytes(), ..found.clone() },
        Err(_) => found.clone(),
    }
}

/// Issues a new leaf by the present CA; none if that CA cannot issue a usable one.
fn renew_leaf(
    found: &SecretContents,
    spec: &CertificateSpec,
    now: DateTime<Utc>,
) -> Result<Option<SecretContents>, IssueError> {
    let Ok((signer, _)) = parse::signer(found) else { return Ok(None) };
    let (chain, key) = issue_leaf(signer, spec, now)?;
    let renewed = SecretContents { chain: chain.into_bytes(), key: key.into_bytes(), ..found.clone() };
    let is_usable = matches!(plan(&renewed, spec, now), Plan::Keep { .. } | Plan::DropOldCas);
    Ok(is_usable.then_some(renewed))
}

/// Issues a new CA certificate. The served leaf stays while its own CA is trusted beside the new one; without a usable leaf, the new
/// CA issues one at once.
fn renew_ca(
    found: &SecretContents,
    remembered: Option<&SecretContents>,
    spec: &CertificateSpec,
    now: DateTime<Utc>,
) -> Result<SecretContents, IssueError> {
    let (signer, own) = issue_ca(spec, now)?;
    let ca_key = signer.key.serialize_pem().into_bytes();
    if let Some((served, old)) = with_valid_leaf(found, remembered, now) {
        let ca_bundle = (own + &pem(&old)).into_bytes();
        let (chain, key) = (served.chain.clone(), served.key.clone());
        return Ok(SecretContents { ca_bundle, ca_key, chain, key });
    }
    let (chain, key) = issue_leaf(signer, spec, now)?;
    Ok(SecretContents { ca_bundle: own.into_bytes(), ca_key, chain: chain.into_bytes(), key: key.into_bytes() })
}

/// The contents with a leaf that is still valid, and the CA that issued it.
fn with_valid_leaf<'a>(
    found: &'a SecretContents,
    remembered: Option<&'a SecretContents>,
    now: DateTime<Utc>,
) -> Option<(&'a SecretContents, CaCertificate)> {
    let all = [Some(found), remembered];
    let known: Vec<CaCertificate> = all.iter().copied().flatten().flat_map(parse::ca_certificates).collect();
    let issuer = |contents: &'a SecretContents| {
        let leaf = parse::leaf(contents).ok().filter(|leaf| leaf.validity.contains(now))?;
        let mut valid = known.iter().filter(|one| one.validity.contains(now));
        Some((contents, valid.find(|one| leaf.is_issued_by(one, now))?.clone()))
    };
    all.into_iter().flatten().find_map(issuer)
}

/// A CA with its key, and its certificate as PEM.
fn issue_ca(spec: &CertificateSpec, now: DateTime<Utc>) -> Result<(Signer, String), IssueError> {
    let lifetime = spec.lifetimes.ca;
    let mut params = CertificateParams::new([COMMON_NAME.to_owned()])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
    params.distinguished_name.push(DnType::CommonName, COMMON_NAME);
    params.distinguished_name.push(DnType::OrganizationName, ORGANIZATION);
    params.not_before = begin(now, lifetime)?;
    params.not_after = instant(now + delta(lifetime))?;
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let ca = CaCertificate::parse(certificate.der().clone()).expect("a certificate of rcgen can be parsed");
    Ok((Signer { ca, key }, certificate.pem()))
}

/// A leaf and its key as PEM. It does not outlive its CA.
fn issue_leaf(signer: Signer, spec: &CertificateSpec, now: DateTime<Utc>) -> Result<(String, String), IssueError> {
    let lifetime = spec.lifetimes.leaf;
    let mut params = CertificateParams::new(spec.names.clone())?;
    params.distinguished_name.push(DnType::CommonName, spec.names.first().map_or(COMMON_NAME, String::as_str));
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = begin(now, lifetime)?;
    params.not_after = instant((now + delta(lifetime)).min(signer.ca.validity.not_after))?;
    let key = KeyPair::generate()?;
    let issuer = Issuer::from_ca_cert_der(&signer.ca.der, signer.key)?;
    Ok((params.signed_by(&key, &issuer)?.pem(), key.serialize_pem()))
}

fn begin(now: DateTime<Utc>, lifetime: Duration) -> Result<OffsetDateTime, IssueError> {
    instant(now - delta(backdating(lifetime)))
}

fn instant(at: DateTime<Utc>) -> Result<OffsetDateTime, IssueError> {
    OffsetDateTime::from_unix_timestamp(at.timestamp()).map_err(|_| IssueError::Time(at))
}

fn pem(ca: &CaCertificate) -> String {
    let text = STANDARD.encode(&ca.der);
    // PEM: 64 characters a line.
    let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}
