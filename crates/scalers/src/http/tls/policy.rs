//! The allowed versions and cipher suites of TLS, as an administrator configures them for KEDA.

use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{ALL_CIPHER_SUITES, default_provider};
use rustls::{CipherSuite, SupportedProtocolVersion, version};

/// The oldest version of TLS that is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersion {
    #[default]
    Tls12,
    Tls13,
}

impl TlsVersion {
    /// Reads the value of `KEDA_HTTP_MIN_TLS_VERSION`. The sentence beside it, if any, is to be logged.
    pub fn parse(text: &str) -> (Self, Option<String>) {
        match text.trim() {
            "" | "TLS12" => (Self::Tls12, None),
            "TLS13" => (Self::Tls13, None),
            old @ ("TLS10" | "TLS11") => {
                (Self::Tls12, Some(format!("{old} is not spoken any more: connections have TLS 1.2 at least")))
            }
            other => {
                (Self::Tls12, Some(format!("{other:?} is no TLS version (TLS10, TLS11, TLS12, TLS13): TLS12 is used")))
            }
        }
    }

    /// The versions that are spoken.
    pub fn allowed(self) -> Vec<&'static SupportedProtocolVersion> {
        match self {
            Self::Tls12 => vec![&version::TLS12, &version::TLS13],
            Self::Tls13 => vec![&version::TLS13],
        }
    }
}

/// Reads the value of `KEDA_HTTP_TLS_CIPHER_LIST`: names as Go has them, between `:` or `,`. None means all that there
/// are. The sentences are to be logged.
pub fn parse_ciphers(text: &str) -> (Vec<CipherSuite>, Vec<String>) {
    let (mut suites, mut warnings) = (Vec::new(), Vec::new());
    for name in text.split([':', ',']).map(str::trim).filter(|name| !name.is_empty()) {
        match ALL_CIPHER_SUITES.iter().map(|known| known.suite()).find(|suite| go_name(*suite) == name) {
            Some(suite) => suites.push(suite),
            None => warnings.push(format!("the cipher suite {name:?} is unknown or no longer spoken, and is left out")),
        }
    }
    (suites, warnings)
}

/// Go does not name the version in the suites of TLS 1.3.
fn go_name(suite: CipherSuite) -> String {
    suite.as_str().unwrap_or_default().replacen("TLS13_", "TLS_", 1)
}

/// What cryptography is done with: the chosen suites of TLS 1.2, and all of TLS 1.3.
// KEDA: Go allows no choice among the suites of TLS 1.3.
pub fn provider(ciphers: &[CipherSuite]) -> CryptoProvider {
    let mut provider = default_provider();
    if !ciphers.is_empty() {
        provider.cipher_suites.retain(|known| {
            known.version().version == rustls::ProtocolVersion::TLSv1_3 || ciphers.contains(&known.suite())
        });
    }
    provider
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_by_kedas_names() {
        let rows = [
            ("", TlsVersion::Tls12, None),
            ("TLS12", TlsVersion::Tls12, None),
            (" TLS13 ", TlsVersion::Tls13, None),
            ("TLS10", TlsVersion::Tls12, Some("not spoken any more")),
            ("TLS11", TlsVersion::Tls12, Some("not spoken any more")),
            ("tls13", TlsVersion::Tls12, Some("\"tls13\" is no TLS version")),
        ];
        for (text, expected, part) in rows {
            let (version, warning) = TlsVersion::parse(text);
            assert_eq!(version, expected, "{text:?}");
            assert_eq!(warning.is_some(), part.is_some(), "{text:?}: {warning:?}");
            assert!(warning.unwrap_or_default().contains(part.unwrap_or_default()), "{text:?}");
        }
    }

    #[test]
    fn suites_are_read_by_gos_names() {
        let text = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256:TLS_AES_128_GCM_SHA256, TLS_RSA_WITH_RC4_128_SHA,x,";
        let (suites, warnings) = parse_ciphers(text);
        let expected = [CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, CipherSuite::TLS13_AES_128_GCM_SHA256];
        assert_eq!(suites, expected);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("TLS_RSA_WITH_RC4_128_SHA"), "{warnings:?}");
        assert_eq!(parse_ciphers(""), (vec![], vec![]));
    }

    #[test]
    fn chosen_suites_narrow_tls_1_2_and_none_is_all() {
        assert_eq!(provider(&[]).cipher_suites.len(), ALL_CIPHER_SUITES.len());
        let one = provider(&[CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]);
        assert_eq!(one.cipher_suites.len(), 4, "three of TLS 1.3 and the chosen one");
        assert_eq!(provider(&[CipherSuite::TLS13_AES_128_GCM_SHA256]).cipher_suites.len(), 3);
    }
}
