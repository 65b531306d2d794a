//! Which requests go through a proxy, by the rules of Go's HTTP client, after which `HTTP_PROXY`, `HTTPS_PROXY` and
//! `NO_PROXY` are written for KEDA. `proxy_connector` connects through them.

mod exempt;

use std::fmt;

use http::Uri;
use http::header::HeaderValue;
use http::uri::Scheme;

use super::address::Address;
use crate::trigger::FieldError;
use exempt::Exempt;

/// The proxies of this process, and the hosts that are connected to directly. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    none_for: Exempt,
}

/// One proxy: its address and credentials.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proxy {
    uri: Uri,
    credentials: Option<HeaderValue>,
}

impl Proxies {
    /// Reads the values of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. What is blank is absent.
    pub fn parse(http: Option<&str>, https: Option<&str>, no_proxy: Option<&str>) -> Result<Self, FieldError> {
        Ok(Self {
            http: parse_proxy("HTTP_PROXY", http)?,
            https: parse_proxy("HTTPS_PROXY", https)?,
            none_for: Exempt::parse(no_proxy.unwrap_or_default()),
        })
    }

    /// The proxy for requests to this URI.
    pub(crate) fn for_uri(&self, uri: &Uri) -> Option<&Proxy> {
        let secure = uri.scheme() == Some(&Scheme::HTTPS);
        let proxy = if secure { self.https.as_ref() } else { self.http.as_ref() }?;
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        (!self.none_for.covers(uri.host()?, port)).then_some(proxy)
    }
}

impl Proxy {
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The value of `Proxy-Authorization`.
    pub(crate) fn credentials(&self) -> Option<&HeaderValue> {
        self.credentials.as_ref()
    }

    /// How messages name it: without its user.
    pub(crate) fn name(&self) -> String {
        let authority = self.uri.authority().map_or("", |authority| authority.as_str());
        format!("{}://{authority}", self.uri.scheme_str().unwrap_or("http"))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

fn parse_proxy(variable: &str, text: Option<&str>) -> Result<Option<Proxy>, FieldError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    // Go: an address without scheme is one of http.
    let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    match Address::parse(&url) {
        Ok(address) => Ok(Some(Proxy { credentials: address.credentials().cloned(), uri: address.uri })),
        // The text may hold a password, so it is not repeated.
        Err(problem) => Err(FieldError::new(
            variable,
            problem,
            "write it as http://HOST:PORT; other schemes than http and https are not spoken",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(proxies: &Proxies, url: &str) -> Option<String> {
        proxies.for_uri(&url.parse().unwrap()).map(Proxy::name)
    }

    #[test]
    fn each_scheme_has_its_proxy() {
        let both = Proxies::parse(Some("http://plain:3128"), Some("secure:3129"), None).unwrap();
        assert_eq!(used(&both, "http://prometheus:9090/").as_deref(), Some("http://plain:3128"));
        assert_eq!(used(&both, "https://prometheus/").as_deref(), Some("http://secure:3129"));
        let one = Proxies::parse(None, Some("https://secure"), None).unwrap();
        assert_eq!(used(&one, "http://prometheus/"), None);
        assert_eq!(used(&one, "https://prometheus/").as_deref(), Some("https://secure"));
        let none = Proxies::parse(Some(" "), None, Some("x")).unwrap();
        assert_eq!(used(&none, "http://prometheus/"), None);
        assert_eq!(used(&Proxies::default(), "https://prometheus/"), None);
    }

    #[test]
    fn some_hosts_are_reached_directly() {
        let proxies = Proxies::parse(Some("p:1"), Some("p:1"), Some("svc.cluster.local,10.0.0.0/8,only:8443")).unwrap();
        let rows = [
            ("http://prometheus.monitoring.svc.cluster.local:9090/", false),
            ("http://10.1.2.3/", false),
            ("https://only:8443/", false),
            ("https://only/", true),
            ("http://localhost:9090/", false),
            ("http://[::1]:9090/", false),
            ("https://aps.example.com/", true),
        ];
        for (url, proxied) in rows {
            assert_eq!(used(&proxies, url).is_some(), proxied, "{url}");
        }
    }

    #[test]
    fn a_user_signs_in_and_is_never_shown() {
        let proxies = Proxies::parse(Some("http://user:hunt%40er2@p:1"), None, None).unwrap();
        let proxy = proxies.for_uri(&"http://x/".parse().unwrap()).unwrap();
        assert_eq!(proxy.credentials().unwrap(), "Basic dXNlcjpodW50QGVyMg==");
        assert!(!format!("{proxies:?} {}", proxy.name()).contains("hunt"), "{proxies:?}");
    }

    #[test]
    fn what_is_no_address_is_named_and_not_shown() {
        for (http, https, field) in
            [(Some("socks5://hunter2@p"), None, "HTTP_PROXY"), (None, Some("http://"), "HTTPS_PROXY")]
        {
            let problem = Proxies::parse(http, https, None).unwrap_err();
            assert_eq!(problem.field, field);
            assert!(!problem.to_string().contains("hunter2"), "{problem}");
        }
    }
}
