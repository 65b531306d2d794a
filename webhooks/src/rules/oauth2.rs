//! `oauth2` of an authentication.

use http::uri::Authority;
use kedge_api::authentication::OAuth2;

use crate::violation::{FieldPath, Rule, Severity, Violation};

pub static INVALID_OAUTH2: Rule = Rule {
    id: "invalid-oauth2",
    severity: Severity::Error,
    about: "oauth2 has no clientId, or its tokenUrl is not an http or https URL with a host",
    counted_as: None,
};

pub fn check(oauth2: &OAuth2) -> Vec<Violation> {
    let violation = |field: &str, problem: &str, remedy: &str| {
        let problem = format!("{field} of oauth2 {problem}");
        Violation::new(&INVALID_OAUTH2, FieldPath::new("spec.oauth2").key(field), problem, remedy)
    };
    let mut violations = Vec::new();
    if oauth2.client_id.is_empty() {
        violations.push(violation("clientId", "must not be empty", "give the id of this client at the token server"));
    }
    if let Some(problem) = token_url_problem(&oauth2.token_url) {
        violations.push(violation(
            "tokenUrl",
            problem,
            "write a complete URL, as in https://login.example.com/oauth2/token",
        ));
    }
    violations
}

/// Why no request to the URL could be sent, if so.
fn token_url_problem(url: &str) -> Option<&'static str> {
    if url.is_empty() {
        return Some("must not be empty");
    }
    if url.chars().any(|letter| letter.is_ascii_control()) {
        return Some("is not a URL");
    }
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Some("must begin with http:// or https://");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    match host.parse::<Authority>() {
        Ok(host) if !host.host().is_empty() && has_port_or_none(&host) => None,
        _ => Some("has no host that can be reached"),
    }
}

/// `Authority` accepts any text as a port.
fn has_port_or_none(host: &Authority) -> bool {
    let port = host.as_str().strip_prefix(host.host()).unwrap_or_default();
    port.trim_start_matches(':').is_empty() || host.port_u16().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_url_has_a_scheme_and_a_host() {
        let rows = [
            ("https://login.example.com/token", None),
            ("http://login:8080", None),
            ("HTTPS://login.example.com", None),
            ("", Some("must not be empty")),
            ("login.example.com/token", Some("must begin with")),
            ("/token", Some("must begin with")),
            ("ftp://login.example.com", Some("must begin with")),
            ("https://", Some("has no host")),
            ("https:///token", Some("has no host")),
            ("https:// space", Some("has no host")),
            ("https://login:x/", Some("has no host")),
            ("https://me:secret@login.example.com/ä?x={y}", None),
            ("https://[::1]:8080/t", None),
            ("https://login\n", Some("is not a URL")),
        ];
        for (url, expected) in rows {
            let found = token_url_problem(url);
            assert_eq!(found.is_some(), expected.is_some(), "{url}: {found:?}");
            assert!(found.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{url}: {found:?}");
        }
    }
}
