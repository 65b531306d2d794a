//! The headers in which the front proxy names the caller. Whether it is the front proxy was settled before.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::AuthenticationError;
use super::config::FrontProxyConfig;
use crate::identity::Identity;
use crate::target::decode_percent;

impl FrontProxyConfig {
    /// Whether a certificate with this common name may speak for others.
    pub(super) fn allows(&self, common_name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name == common_name)
    }

    /// The caller, if the headers name one.
    pub(super) fn identify(&self, headers: &HeaderMap) -> Result<Option<Identity>, AuthenticationError> {
        let Some(user) = first_text(headers, &self.user_headers)? else { return Ok(None) };
        let uid = first_text(headers, &self.uid_headers)?;
        let mut groups = Vec::new();
        for name in &self.group_headers {
            for value in headers.get_all(name) {
                groups.push(text(name, value)?.to_owned());
            }
        }
        groups.retain(|group| !group.is_empty());
        Ok(Some(Identity { user, uid, groups, extra: self.read_extra(headers)? }))
    }

    fn read_extra(&self, headers: &HeaderMap) -> Result<BTreeMap<String, Vec<String>>, AuthenticationError> {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            for rest in self.extra_prefixes.iter().filter_map(|prefix| name.as_str().strip_prefix(prefix.as_str())) {
                let key = decode_percent(rest).unwrap_or_else(|| rest.to_owned());
                extra.entry(key).or_default().push(text(name, value)?.to_owned());
            }
        }
        Ok(extra)
    }
}

/// The first header of the list that is not empty.
fn first_text(headers: &HeaderMap, names: &[HeaderName]) -> Result<Option<String>, AuthenticationError> {
    for name in names {
        let Some(value) = headers.get(name) else { continue };
        let value = text(name, value)?.trim();
        if !value.is_empty() {
            return Ok(Some(value.to_owned()));
        }
    }
    Ok(None)
}

/// Go sends names outside of ASCII as they are. Invalid UTF-8 is rejected: a lossy conversion could yield the name of another user.
fn text<'a>(name: &HeaderName, value: &'a HeaderValue) -> Result<&'a str, AuthenticationError> {
    std::str::from_utf8(value.as_bytes()).map_err(|_| AuthenticationError::Header(name.to_string()))
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;
    use crate::authentication::certificate::CaPool;

    fn config(names: &[&str]) -> FrontProxyConfig {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = params.self_signed(&KeyPair::generate().expect("a key")).expect("a certificate");
        let header = HeaderName::from_static;
        FrontProxyConfig {
            ca: CaPool::parse(&ca.pem()).expect("a pool"),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            user_headers: vec![header("x-remote-user"), header("x-second-user")],
            uid_headers: vec![header("x-remote-uid")],
            group_headers: vec![header("x-remote-group")],
            extra_prefixes: vec!["x-remote-extra-".to_owned()],
        }
    }

    fn headers(entries: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in entries {
            let value = HeaderValue::from_bytes(value.as_bytes()).expect("a value");
            headers.append(HeaderName::try_from(*name).expect("a name"), value);
        }
        headers
    }

    #[test]
    fn only_listed_names_speak_for_others_unless_none_is_listed() {
        assert!(config(&[]).allows("anyone"));
        assert!(config(&["a", "front-proxy-client"]).allows("front-proxy-client"));
        assert!(!config(&["front-proxy-client"]).allows("Front-Proxy-Client"));
        assert!(!config(&["front-proxy-client"]).allows(""));
    }

    #[test]
    fn headers_become_an_identity() {
        let identity = config(&[])
            .identify(&headers(&[
                ("X-Remote-User", "zoë"),
                ("X-Remote-Uid", "42"),
                ("X-Remote-Group", "dev"),
                ("X-Remote-Group", ""),
                ("X-Remote-Group", "ops, and more"),
                ("X-Remote-Extra-Scopes", "read"),
                ("X-Remote-Extra-Scopes", "write"),
                ("X-Remote-Extra-example.org%2Fkind", "x"),
                ("X-Remote-Extra-50%", "kept as it is"),
                ("X-Unrelated", "y"),
            ]))
            .expect("text")
            .expect("an identity");
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(identity.user, "zoë");
        assert_eq!(identity.uid.as_deref(), Some("42"));
        assert_eq!(identity.groups, ["dev", "ops, and more"]);
        let expected = BTreeMap::from([
            ("50%".to_owned(), texts(&["kept as it is"])),
            ("example.org/kind".to_owned(), texts(&["x"])),
            ("scopes".to_owned(), texts(&["read", "write"])),
        ]);
        assert_eq!(identity.extra, expected);
    }

    #[test]
    fn the_first_user_header_that_is_not_empty_counts() {
        type Row<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);
        let rows: [Row<'_>; 4] = [
            (&[("x-remote-group", "dev")], None),
            (&[("x-remote-user", " ")], None),
            (&[("x-remote-user", ""), ("x-second-user", "second")], Some("second")),
            (&[("x-remote-user", "first"), ("x-second-user", "second")], Some("first")),
        ];
        for (entries, expected) in rows {
            let identity = config(&[]).identify(&headers(entries)).expect("text");
            assert_eq!(identity.map(|identity| identity.user).as_deref(), expected, "{entries:?}");
        }
    }

    #[test]
    fn headers_that_are_not_text_are_rejected() {
        let mut headers = headers(&[("x-remote-user", "ann")]);
        headers.insert("x-remote-group", HeaderValue::from_bytes(b"\xff").expect("a value"));
        let error = config(&[]).identify(&headers).expect_err("must not pass");
        assert_eq!(error.to_string(), "the header x-remote-group is not text");
    }
}
