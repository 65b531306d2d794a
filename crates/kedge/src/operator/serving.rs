//! The certificate of the metrics API.

use std::fs;
use std::path::Path;

use anyhow::Context;
use kedge_serving::ServingCertificate;

use super::settings::Serving;

/// Reads the certificate and its key.
pub(super) fn certificate(serving: &Serving) -> anyhow::Result<ServingCertificate> {
    let read = |flag: &str, path: &Path| {
        fs::read(path).with_context(|| format!("cannot read {}; name another file with {flag}", path.display()))
    };
    let chain = read("--tls-cert-file", &serving.certificate)?;
    let key = read("--tls-private-key-file", &serving.key)?;
    ServingCertificate::from_pem(&chain, &key).with_context(|| {
        format!("{} and {} do not make a certificate", serving.certificate.display(), serving.key.display())
    })
}
