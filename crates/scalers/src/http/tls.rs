//! TLS settings: trusted CAs, client certificates, allowed versions.

pub(crate) mod failure;
mod policy;
mod verify;

use std::sync::{Arc, LazyLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::Settings;
use crate::trigger::{FieldError, Secret};
pub use policy::{TlsVersion, parse_ciphers, provider};
use verify::{FixedTrust, IgnoreName, Trust, TrustGivenCertificates};

/// What sets one client apart from another. Triggers with the same profile share connections and TLS sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TlsProfile {
    pub(crate) verification: Verification,
    /// CAs that are trusted in addition, PEM.
    pub(crate) ca: Option<Secret>,
    /// Client certificate and key, PEM.
    pub(crate) identity: Option<(Secret, Secret)>,
}

/// Whether the certificate of the source is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Verification {
    #[default]
    Full,
    /// Only the CAs of the profile are trusted.
    OnlyGivenCas,
    /// The name in the certificate does not matter. Only the CAs of the profile are trusted where it has any.
    AnyName,
    Off,
}

impl TlsProfile {
    /// Without credentials: many triggers have it.
    pub(crate) fn is_ordinary(&self) -> bool {
        self.ca.is_none() && self.identity.is_none()
    }
}

/// The CAs of the machine. Reading them takes milliseconds, and they do not change while a process runs.
static SYSTEM_ROOTS: LazyLock<RootCertStore> = LazyLock::new(|| {
    let native = rustls_native_certs::load_native_certs();
    for error in &native.errors {
        tracing::warn!(%error, "some CA certificates of this machine cannot be read");
    }
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(native.certs);
    store
});

/// The trusted CAs.
#[derive(Clone, Debug)]
pub(crate) struct Roots {
    store: RootCertStore,
    /// Those of them that an administrator gave.
    given: Vec<CertificateDer<'static>>,
}

impl Roots {
    /// Those of the machine, and the given ones.
    pub(crate) fn load(extra: &[CertificateDer<'static>]) -> Self {
        let mut store = SYSTEM_ROOTS.clone();
        store.add_parsable_certificates(extra.iter().cloned());
        Self { store, given: extra.to_vec() }
    }

    fn none() -> Self {
        Self { store: RootCertStore::empty(), given: Vec::new() }
    }

    fn with(&self, ca: &Secret) -> Result<Self, FieldError> {
        let given: Vec<_> = CertificateDer::pem_slice_iter(ca.reveal().as_bytes()).filter_map(Result::ok).collect();
        let mut roots = self.clone();
        let (usable, _) = roots.store.add_parsable_certificates(given.iter().cloned());
        if usable == 0 {
            return Err(FieldError::new("ca", "holds no usable certificate", "give a CA certificate as PEM text"));
        }
        roots.given.extend(given);
        Ok(roots)
    }
}

/// The settings for one profile.
pub(crate) fn client_config(
    profile: &TlsProfile,
    roots: &Roots,
    settings: &Settings,
) -> Result<ClientConfig, FieldError> {
    let provider = Arc::new(provider(&settings.ciphers));
    let verifier = verifier(profile, roots, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&settings.tls_min.allowed())
        .expect("TLS 1.3 is always allowed, with all of its cipher suites")
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match &profile.identity {
        None => Ok(builder.with_no_client_auth()),
        Some((cert, key)) => {
            let (chain, key) = (parse_chain(cert)?, parse_key(key)?);
            builder.with_client_auth_cert(chain, key).map_err(|_| {
                FieldError::new(
                    "key",
                    "does not fit the certificate in `cert`",
                    "give the key that the certificate was made for",
                )
            })
        }
    }
}

fn verifier(
    profile: &TlsProfile,
    roots: &Roots,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, FieldError> {
    let roots = match (&profile.ca, profile.verification) {
        (Some(ca), Verification::OnlyGivenCas | Verification::AnyName) => Roots::none().with(ca)?,
        (Some(ca), Verification::Full | Verification::Off) => roots.with(ca)?,
        (None, _) => roots.clone(),
    };
    if profile.verification == Verification::Off {
        return Ok(Arc::new(FixedTrust::new(Trust::All, provider)));
    }
    match WebPkiServerVerifier::builder_with_provider(Arc::new(roots.store), Arc::clone(provider)).build() {
        Ok(usual) => {
            let trust = TrustGivenCertificates::new(usual, roots.given);
            Ok(match profile.verification {
                Verification::AnyName => Arc::new(IgnoreName(trust)),
                _ => Arc::new(trust),
            })
        }
        // It cannot be built without CAs; a machine that has none trusts no server.
        Err(_) => Ok(Arc::new(FixedTrust::new(Trust::None, provider))),
    }
}

fn parse_chain(cert: &Secret) -> Result<Vec<CertificateDer<'static>>, FieldError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(cert.reveal().as_bytes()).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        _ => Err(FieldError::new("cert", "holds no usable certificate", "give a client certificate as PEM text")),
    }
}

fn parse_key(key: &Secret) -> Result<PrivateKeyDer<'static>, FieldError> {
    PrivateKeyDer::from_pem_slice(key.reveal().as_bytes()).map_err(|_| {
        FieldError::new("key", "holds no usable private key", "give an unencrypted private key as PEM text")
    })
}
