//! What TLS may be spoken, by the names that KEDA's variables use, which are Go's.

use kedge_scalers::metadata::convert::{Converted, Flaw};

use super::reader::Reader;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tls {
    pub(crate) least: TlsVersion,
    /// The suites of TLS 1.2 to choose from; none means all that are there.
    pub(crate) suites: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TlsVersion {
    V12,
    V13,
}

/// The suites there are.
const SUITES: [&str; 9] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];

/// What scalers speak.
pub(super) fn of_scalers(read: &mut Reader<'_>) -> Tls {
    Tls {
        least: read.lenient("KEDA_HTTP_MIN_TLS_VERSION", version).unwrap_or(TlsVersion::V12),
        suites: suites(read, "KEDA_HTTP_TLS_CIPHER_LIST"),
    }
}

/// What servers speak. KEDA: a variable that is there, though empty, no longer follows that of the scalers.
pub(super) fn of_services(read: &mut Reader<'_>, scalers: &Tls) -> Tls {
    let least = match read.is_set("KEDA_SERVICE_MIN_TLS_VERSION") {
        true => read.lenient("KEDA_SERVICE_MIN_TLS_VERSION", version).unwrap_or(TlsVersion::V13),
        false => scalers.least,
    };
    let suites = match read.is_set("KEDA_SERVICE_TLS_CIPHER_LIST") {
        true => suites(read, "KEDA_SERVICE_TLS_CIPHER_LIST"),
        false => scalers.suites.clone(),
    };
    Tls { least, suites }
}

fn version(text: &str) -> Converted<TlsVersion> {
    match text {
        "TLS12" => Ok(TlsVersion::V12),
        "TLS13" => Ok(TlsVersion::V13),
        "TLS10" | "TLS11" => Err(Flaw::new("is no longer safe, and is not spoken", "use TLS12 or TLS13")),
        _ => Err(Flaw::new("is not a version of TLS", "use TLS12 or TLS13")),
    }
}

/// KEDA: unknown suites are told and left out.
fn suites(read: &mut Reader<'_>, name: &str) -> Vec<&'static str> {
    let text = read.text(name).unwrap_or_default();
    let mut known = Vec::new();
    for suite in text.split([':', ',']).map(str::trim).filter(|suite| !suite.is_empty()) {
        match SUITES.iter().find(|known| **known == suite) {
            Some(suite) => known.push(*suite),
            None => read.warn(format!("{name} names `{suite}`, which is not there; use some of {}", SUITES.join(", "))),
        }
    }
    known
}
