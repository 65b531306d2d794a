//! The certificate of what is served over TLS.

use std::fs;
use std::path::Path;

use anyhow::Context;
use kedge_serving::ServingCertificate;

/// Reads the certificate and its key.
pub(super) fn certificate(certificate: &Path, key: &Path) -> anyhow::Result<ServingCertificate> {
    let read = |flag: &str, path: &Path| {
        fs::read(path).with_context(|| format!("cannot read {}; name another file with {flag}", path.display()))
    };
    let chain = read("--tls-cert-file or --cert-dir", certificate)?;
    let secret = read("--tls-private-key-file or --cert-dir", key)?;
    ServingCertificate::from_pem(&chain, &secret)
        .with_context(|| format!("{} and {} do not make a certificate", certificate.display(), key.display()))
}
