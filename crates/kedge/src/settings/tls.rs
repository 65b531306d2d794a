//! TLS versions and cipher suites, by the names of KEDA's variables, which are Go's.

use std::sync::Arc;

use kedge_scalers::{CipherSuite, TlsVersion, parse_ciphers};
use kedge_serving::TlsProtocols;

use super::reader::SettingsReader;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tls {
    pub(crate) min_version: TlsVersion,
    /// The cipher suites of TLS 1.2; empty means all.
    pub(crate) suites: Vec<CipherSuite>,
}

impl Tls {
    /// The TLS settings of a server.
    pub(crate) fn protocols(&self) -> TlsProtocols {
        TlsProtocols { versions: self.min_version.allowed(), provider: Arc::new(kedge_scalers::provider(&self.suites)) }
    }
}

/// The TLS settings of scalers.
pub(super) fn for_scalers(read: &mut SettingsReader<'_>) -> Tls {
    Tls {
        min_version: version(read, "KEDA_HTTP_MIN_TLS_VERSION", TlsVersion::Tls12),
        suites: suites(read, "KEDA_HTTP_TLS_CIPHER_LIST"),
    }
}

/// The TLS settings of servers. KEDA: a set variable, even empty, overrides that of the scalers.
pub(super) fn for_services(read: &mut SettingsReader<'_>, scalers: &Tls) -> Tls {
    let min_version = match read.is_set("KEDA_SERVICE_MIN_TLS_VERSION") {
        true => version(read, "KEDA_SERVICE_MIN_TLS_VERSION", TlsVersion::Tls13),
        false => scalers.min_version,
    };
    let suites = match read.is_set("KEDA_SERVICE_TLS_CIPHER_LIST") {
        true => suites(read, "KEDA_SERVICE_TLS_CIPHER_LIST"),
        false => scalers.suites.clone(),
    };
    Tls { min_version, suites }
}

fn version(read: &mut SettingsReader<'_>, name: &str, default: TlsVersion) -> TlsVersion {
    let Some(text) = read.text(name) else { return default };
    let (version, warning) = TlsVersion::parse(&text);
    warning.into_iter().for_each(|warning| read.warn(format!("{name}: {warning}")));
    version
}

/// KEDA: unknown suites are ignored with a warning.
fn suites(read: &mut SettingsReader<'_>, name: &str) -> Vec<CipherSuite> {
    let (suites, warnings) = parse_ciphers(&read.text(name).unwrap_or_default());
    warnings.into_iter().for_each(|warning| read.warn(format!("{name}: {warning}")));
    suites
}
