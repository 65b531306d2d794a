//! The certificate of the metrics API.

use std::fs;
use std::path::Path;

use anyhow::Context;
use kedge_metrics_api::ServingCertificate;

use super::Args;

/// Reads the certificate and its key.
pub(super) fn certificate(args: &Args) -> anyhow::Result<ServingCertificate> {
    let read = |flag: &str, path: &Path| {
        fs::read(path).with_context(|| format!("cannot read {}; name another file with {flag}", path.display()))
    };
    let chain = read("--tls-cert-file", &args.tls_cert_file)?;
    let key = read("--tls-private-key-file", &args.tls_private_key_file)?;
    ServingCertificate::from_pem(&chain, &key).with_context(|| {
        format!(
            "{} and {} do not make a certificate",
            args.tls_cert_file.display(),
            args.tls_private_key_file.display()
        )
    })
}
