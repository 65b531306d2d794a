//! What TLS may be spoken, by the names that KEDA's variables use, which are Go's.

use std::sync::Arc;

use kedge_scalers::{CipherSuite, TlsVersion, parse_ciphers};
use kedge_serving::Spoken;

use super::reader::Reader;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tls {
    pub(crate) least: TlsVersion,
    /// The suites of TLS 1.2 to choose from; none means all that are there.
    pub(crate) suites: Vec<CipherSuite>,
}

impl Tls {
    /// The same, for a server.
    pub(in crate::operator) fn spoken(&self) -> Spoken {
        Spoken { versions: self.least.allowed(), provider: Arc::new(kedge_scalers::provider(&self.suites)) }
    }
}

/// What scalers speak.
pub(super) fn of_scalers(read: &mut Reader<'_>) -> Tls {
    Tls {
        least: version(read, "KEDA_HTTP_MIN_TLS_VERSION", TlsVersion::Tls12),
        suites: suites(read, "KEDA_HTTP_TLS_CIPHER_LIST"),
    }
}

/// What servers speak. KEDA: a variable that is there, though empty, no longer follows that of the scalers.
pub(super) fn of_services(read: &mut Reader<'_>, scalers: &Tls) -> Tls {
    let least = match read.is_set("KEDA_SERVICE_MIN_TLS_VERSION") {
        true => version(read, "KEDA_SERVICE_MIN_TLS_VERSION", TlsVersion::Tls13),
        false => scalers.least,
    };
    let suites = match read.is_set("KEDA_SERVICE_TLS_CIPHER_LIST") {
        true => suites(read, "KEDA_SERVICE_TLS_CIPHER_LIST"),
        false => scalers.suites.clone(),
    };
    Tls { least, suites }
}

fn version(read: &mut Reader<'_>, name: &str, default: TlsVersion) -> TlsVersion {
    let Some(text) = read.text(name) else { return default };
    let (version, warning) = TlsVersion::parse(&text);
    warning.into_iter().for_each(|warning| read.warn(format!("{name}: {warning}")));
    version
}

/// KEDA: unknown suites are told and left out.
fn suites(read: &mut Reader<'_>, name: &str) -> Vec<CipherSuite> {
    let (suites, warnings) = parse_ciphers(&read.text(name).unwrap_or_default());
    warnings.into_iter().for_each(|warning| read.warn(format!("{name}: {warning}")));
    suites
}
