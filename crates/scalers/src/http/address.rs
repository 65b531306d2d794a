//! URLs as manifests and redirects have them, made into what can be sent: escaped where needed, without user info.

use base64::Engine;
use http::header::HeaderValue;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Uri, header};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// What a request line cannot have; everything else is sent as it was written.
const ESCAPED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');

/// Where to send a request, and the credentials in the URL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Address {
    pub(crate) uri: Uri,
    credentials: Option<HeaderValue>,
}

impl Address {
    /// The host and the port.
    pub(crate) fn host(&self) -> Option<String> {
        self.uri.authority().map(ToString::to_string)
    }

    /// Reads an absolute URL. The error does not repeat it.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text.split_once("://").ok_or("does not begin with http:// or https://")?;
        let scheme = match scheme {
            http if http.eq_ignore_ascii_case("http") => Scheme::HTTP,
            https if https.eq_ignore_ascii_case("https") => Scheme::HTTPS,
            _ => return Err("does not begin with http:// or https://"),
        };
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        // The last `@` ends the user info: a password may hold another one.
        let (user_info, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        let authority: Authority = host.parse().map_err(|_| "has no usable host")?;
        if authority.host().is_empty() {
            return Err("has no host");
        }
        let mut uri = http::uri::Parts::default();
        uri.scheme = Some(scheme);
        uri.authority = Some(authority);
        uri.path_and_query = Some(path_and_query(tail)?);
        let uri = Uri::from_parts(uri).map_err(|_| "is not a URL")?;
        Ok(Self { uri, credentials: user_info.and_then(basic_of_user_info) })
    }

    /// The address that a `Location` header means, relative to this one.
    pub(crate) fn resolve(&self, location: &str) -> Result<Self, &'static str> {
        Self::parse(&resolve(&self.uri, location))
    }

    /// Replaces the query by one that is escaped already.
    pub(crate) fn set_query(&mut self, query: &str) -> Result<(), &'static str> {
        self.uri = self.uri_with(&format!("{}?{query}", self.uri.path()))?;
        Ok(())
    }

    /// The same URL with another path and query.
    fn uri_with(&self, tail: &str) -> Result<Uri, &'static str> {
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = Some(path_and_query(tail)?);
        Uri::from_parts(parts).map_err(|_| "is not a URL")
    }

    /// The same address with these texts at its end.
    pub(crate) fn with_more(&self, texts: &[&str]) -> Result<Self, &'static str> {
        let length = texts.iter().map(|text| text.len()).sum::<usize>();
        let begin = self.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let mut whole = String::with_capacity(begin.len() + length);
        whole.push_str(begin);
        texts.iter().for_each(|text| whole.push_str(text));
        Ok(Self { uri: self.uri_with(&whole)?, credentials: self.credentials.clone() })
    }

    /// The credentials in the URL.
    pub(crate) fn credentials(&self) -> Option<&HeaderValue> {
        self.credentials.as_ref()
    }

    /// Signs in with the credentials of the URL, unless the headers do so already.
    pub(crate) fn sign(&self, headers: &mut HeaderMap) {
        if let (Some(credentials), false) = (&self.credentials, headers.contains_key(header::AUTHORIZATION)) {
            headers.insert(header::AUTHORIZATION, credentials.clone());
        }
    }

    /// Whether what is meant for one may be shown to the other: the same host, and no step back from TLS.
    pub(crate) fn may_hand_credentials_to(&self, next: &Address) -> bool {
        let same_host = match (self.uri.host(), next.uri.host()) {
            (Some(here), Some(there)) => here.eq_ignore_ascii_case(there),
            _ => false,
        };
        let downgrade = self.uri.scheme() == Some(&Scheme::HTTPS) && next.uri.scheme() == Some(&Scheme::HTTP);
        same_host && !downgrade
    }
}

fn path_and_query(tail: &str) -> Result<PathAndQuery, &'static str> {
    let tail = tail.split('#').next().unwrap_or_default();
    let mut escaped = String::with_capacity(tail.len() + 1);
    if !tail.starts_with('/') {
        escaped.push('/');
    }
    escaped.extend(utf8_percent_encode(tail, ESCAPED));
    PathAndQuery::try_from(escaped).map_err(|_| "has a path or query that cannot be sent")
}

/// `Basic` credentials; anything can be written in them, so there is always a header value.
pub(crate) fn basic(username: &[u8], password: &[u8]) -> Option<HeaderValue> {
    let pair = base64::engine::general_purpose::STANDARD.encode([username, b":", password].concat());
    let mut value = HeaderValue::try_from(format!("Basic {pair}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn basic_of_user_info(user_info: &str) -> Option<HeaderValue> {
    let (username, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    let decode = |text| percent_decode_str(text).collect::<Vec<u8>>();
    basic(&decode(username), &decode(password))
}

/// A reference made absolute, by RFC 3986, section 5.2.
fn resolve(base: &Uri, reference: &str) -> String {
    let scheme = base.scheme_str().unwrap_or("http");
    let authority = base.authority().map_or("", Authority::as_str);
    if has_scheme(reference) {
        reference.to_owned()
    } else if reference.starts_with("//") {
        format!("{scheme}:{reference}")
    } else if reference.starts_with('?') {
        format!("{scheme}://{authority}{}{reference}", base.path())
    } else {
        let (path, query) = reference.split_at(reference.find(['?', '#']).unwrap_or(reference.len()));
        let path = match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("{}{path}", &base.path()[..base.path().rfind('/').map_or(0, |slash| slash + 1)]),
        };
        format!("{scheme}://{authority}{}{query}", without_dots(&path))
    }
}

fn has_scheme(reference: &str) -> bool {
    let scheme = reference.split([':', '/', '?', '#']).next().unwrap_or_default();
    reference[scheme.len()..].starts_with(':') && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            other => kept.push(other),
        }
    }
    let ends_in_folder = path.ends_with("/.") || path.ends_with("/..");
    format!("/{}{}", kept.join("/"), if ends_in_folder && !kept.is_empty() { "/" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_authorization(url: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        Address::parse(url).unwrap().sign(&mut headers);
        headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn urls_are_sent_as_they_are_written() {
        let rows = [
            ("http://p:9090/api/v1/query?query=up", Ok("http://p:9090/api/v1/query?query=up")),
            ("http://p//api/v1/query?query=up", Ok("http://p//api/v1/query?query=up")),
            ("HTTPS://p", Ok("https://p/")),
            ("http://p?x=1", Ok("http://p/?x=1")),
            ("http://p/a#b", Ok("http://p/a")),
            ("http://[::1]:9090/a", Ok("http://[::1]:9090/a")),
            ("http://p/a b?n=x y&é", Ok("http://p/a%20b?n=x%20y&%C3%A9")),
            ("http://p/a%2Fb?q=1%25", Ok("http://p/a%2Fb?q=1%25")),
            ("http://user:pass@p/a", Ok("http://p/a")),
            ("p:9090/a", Err("does not begin with http:// or https://")),
            ("ftp://p/a", Err("does not begin with http:// or https://")),
            ("http:///a", Err("has no usable host")),
            ("http://:9090/a", Err("has no host")),
            ("http://a b/c", Err("has no usable host")),
        ];
        for (url, expected) in rows {
            let sent = Address::parse(url).map(|address| address.uri.to_string());
            assert_eq!(sent.as_deref().map_err(|error| *error), expected, "{url}");
        }
    }

    #[test]
    fn user_info_signs_in() {
        assert_eq!(sent_authorization("http://p/"), None);
        assert_eq!(sent_authorization("http://u:p@p/").as_deref(), Some("Basic dTpw"));
        assert_eq!(sent_authorization("http://u:a%40b@p/").as_deref(), Some("Basic dTphQGI="));
        assert_eq!(sent_authorization("http://u@p/").as_deref(), Some("Basic dTo="));
    }

    #[test]
    fn redirects_are_relative_to_their_origin() {
        let base = Address::parse("https://h:1/a/b/c?q=1").unwrap();
        let rows = [
            ("http://other/x", "http://other/x"),
            ("//other/x", "https://other/x"),
            ("/x?y=/../z", "https://h:1/x?y=/../z"),
            ("?y=2", "https://h:1/a/b/c?y=2"),
            ("d", "https://h:1/a/b/d"),
            ("./d/", "https://h:1/a/b/d/"),
            ("../d", "https://h:1/a/d"),
            ("../../../d", "https://h:1/d"),
            ("..", "https://h:1/a/"),
            ("/a/./b/../c", "https://h:1/a/c"),
        ];
        for (location, expected) in rows {
            assert_eq!(base.resolve(location).unwrap().uri.to_string(), expected, "{location}");
        }
        assert!(base.resolve("ftp://other/").is_err());
        assert!(base.resolve("mailto:someone").is_err());
    }

    #[test]
    fn credentials_stay_with_their_host() {
        let rows = [
            ("http://a/x", "http://a/y", true),
            ("http://a/x", "https://A:8443/y", true),
            ("https://a/x", "http://a/y", false),
            ("http://a/x", "http://b/x", false),
            ("http://a/x", "http://sub.a/x", false),
        ];
        for (from, to, expected) in rows {
            let (from, to) = (Address::parse(from).unwrap(), Address::parse(to).unwrap());
            assert_eq!(from.may_hand_credentials_to(&to), expected, "{from:?} {to:?}");
        }
    }
}
