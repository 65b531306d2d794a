//! Whom to trust, read from the keys that kube-apiserver publishes. Pure; the fetching is `trust`'s.

use std::collections::BTreeMap;

use http::HeaderName;

use super::certificate::CaPool;

/// The CAs and the requestheader settings that identify callers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrustConfig {
    /// The CAs of client certificates that name the caller themselves.
    pub(super) client_ca: Option<CaPool>,
    /// Absent in a cluster that has no aggregation set up.
    pub(super) front_proxy: Option<FrontProxyConfig>,
}

/// How to know the front proxy, and in which headers it names the caller.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FrontProxyConfig {
    pub(super) ca: CaPool,
    /// Allowed common names of its certificates; an empty list allows any.
    pub(super) names: Vec<String>,
    pub(super) user_headers: Vec<HeaderName>,
    pub(super) uid_headers: Vec<HeaderName>,
    pub(super) group_headers: Vec<HeaderName>,
    /// In lower case.
    pub(super) extra_prefixes: Vec<String>,
}

/// Why the published configuration is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {problem}")]
pub struct ConfigError {
    pub key: &'static str,
    pub problem: String,
}

impl TrustConfig {
    /// Reads the data of the ConfigMap. A key that is absent or empty is a thing not set up, not a mistake.
    pub fn parse(data: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let front_proxy = match parse_pool(data, "requestheader-client-ca-file")? {
            None => None,
            Some(ca) => Some(FrontProxyConfig {
                ca,
                names: parse_list(data, "requestheader-allowed-names")?,
                user_headers: parse_headers(data, "requestheader-username-headers")?,
                uid_headers: parse_headers(data, "requestheader-uid-headers")?,
                group_headers: parse_headers(data, "requestheader-group-headers")?,
                extra_prefixes: parse_list(data, "requestheader-extra-headers-prefix")?
                    .iter()
                    .map(|prefix| prefix.to_ascii_lowercase())
                    .collect(),
            }),
        };
        Ok(Self { client_ca: parse_pool(data, "client-ca-file")?, front_proxy })
    }
}

fn entry<'a>(data: &'a BTreeMap<String, String>, key: &str) -> Option<&'a str> {
    data.get(key).map(String::as_str).filter(|text| !text.trim().is_empty())
}

fn parse_pool(data: &BTreeMap<String, String>, key: &'static str) -> Result<Option<CaPool>, ConfigError> {
    let pool = entry(data, key).map(CaPool::parse).transpose();
    pool.map_err(|problem| ConfigError { key, problem })
}

fn parse_list(data: &BTreeMap<String, String>, key: &'static str) -> Result<Vec<String>, ConfigError> {
    let Some(text) = entry(data, key) else { return Ok(Vec::new()) };
    serde_json::from_str(text)
        .map_err(|error| ConfigError { key, problem: format!("is not a JSON array of strings: {error}") })
}

fn parse_headers(data: &BTreeMap<String, String>, key: &'static str) -> Result<Vec<HeaderName>, ConfigError> {
    let names = parse_list(data, key)?;
    let headers = names.iter().map(|name| {
        HeaderName::try_from(name)
            .map_err(|_| ConfigError { key, problem: format!("holds {name:?}, which cannot be a header") })
    });
    headers.collect()
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    fn ca_pem() -> String {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.self_signed(&KeyPair::generate().expect("a key")).expect("a certificate").pem()
    }

    fn data(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn everything_published_is_read() {
        let (clients, proxies) = (ca_pem(), ca_pem());
        let config = TrustConfig::parse(&data(&[
            ("client-ca-file", &clients),
            ("requestheader-client-ca-file", &proxies),
            ("requestheader-allowed-names", r#"["front-proxy-client"]"#),
            ("requestheader-username-headers", r#"["X-Remote-User"]"#),
            ("requestheader-uid-headers", r#"["X-Remote-Uid"]"#),
            ("requestheader-group-headers", r#"["X-Remote-Group","X-Other-Group"]"#),
            ("requestheader-extra-headers-prefix", r#"["X-Remote-Extra-"]"#),
        ]))
        .expect("a configuration");
        assert_eq!(config.client_ca, Some(CaPool::parse(&clients).expect("a pool")));
        let proxy = config.front_proxy.expect("a front proxy");
        assert_eq!(proxy.ca, CaPool::parse(&proxies).expect("a pool"));
        assert_eq!(proxy.names, ["front-proxy-client"]);
        assert_eq!(proxy.user_headers, ["x-remote-user"]);
        assert_eq!(proxy.uid_headers, ["x-remote-uid"]);
        assert_eq!(proxy.group_headers, ["x-remote-group", "x-other-group"]);
        assert_eq!(proxy.extra_prefixes, ["x-remote-extra-"]);
    }

    #[test]
    fn absent_settings_stay_disabled() {
        assert_eq!(TrustConfig::parse(&data(&[])), Ok(TrustConfig::default()));
        let without_proxy = data(&[("requestheader-allowed-names", "[]"), ("client-ca-file", "\n")]);
        assert_eq!(TrustConfig::parse(&without_proxy), Ok(TrustConfig::default()));
        let proxy = TrustConfig::parse(&data(&[("requestheader-client-ca-file", &ca_pem())]))
            .expect("a configuration")
            .front_proxy
            .expect("a front proxy");
        assert!(proxy.names.is_empty() && proxy.user_headers.is_empty() && proxy.uid_headers.is_empty());
    }

    #[test]
    fn errors_name_their_key() {
        let ca = ca_pem();
        let ca = ("requestheader-client-ca-file", ca.as_str());
        let rows = [
            (data(&[("client-ca-file", "rubbish")]), "`client-ca-file` holds no usable certificate"),
            (
                data(&[("requestheader-client-ca-file", "rubbish")]),
                "`requestheader-client-ca-file` holds no usable certificate",
            ),
            (
                data(&[ca, ("requestheader-allowed-names", "front-proxy-client")]),
                "`requestheader-allowed-names` is not a JSON array of strings: expected ident at line 1 column 2",
            ),
            (
                data(&[ca, ("requestheader-username-headers", r#"["X Remote User"]"#)]),
                r#"`requestheader-username-headers` holds "X Remote User", which cannot be a header"#,
            ),
        ];
        for (data, expected) in rows {
            assert_eq!(TrustConfig::parse(&data).expect_err(expected).to_string(), expected);
        }
    }
}
