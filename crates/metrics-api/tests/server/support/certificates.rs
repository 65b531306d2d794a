//! CAs and the certificates that they issue.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub(crate) struct Ca(CertifiedIssuer<'static, KeyPair>);

#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Client,
    Server,
    /// A client's, but its time is over.
    ExpiredClient,
}

/// A certificate with its key.
pub(crate) struct Issued {
    pub(crate) chain_pem: String,
    pub(crate) key_pem: String,
    pub(crate) leaf: CertificateDer<'static>,
    key: KeyPair,
}

impl Ca {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name = names(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a CA"))
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// A certificate for a common name, also as a DNS name of servers, and organisations.
    pub(crate) fn issue(&self, name: &str, organizations: &[&str], purpose: Purpose) -> Issued {
        let alternatives = if matches!(purpose, Purpose::Server) { vec![name.to_owned()] } else { Vec::new() };
        let mut params = CertificateParams::new(alternatives).expect("a name");
        params.distinguished_name = names(name, organizations);
        params.extended_key_usages = match purpose {
            Purpose::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
            Purpose::Client | Purpose::ExpiredClient => vec![ExtendedKeyUsagePurpose::ClientAuth],
        };
        if matches!(purpose, Purpose::ExpiredClient) {
            params.not_after = date_time_ymd(2020, 1, 1);
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Issued { chain_pem: certificate.pem(), key_pem: key.serialize_pem(), leaf: certificate.der().clone(), key }
    }
}

impl Issued {
    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.serialize_der().into())
    }
}

fn names(common_name: &str, organizations: &[&str]) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    for organization in organizations {
        names.push(DnType::OrganizationName, *organization);
    }
    names.push(DnType::CommonName, common_name);
    names
}
