//! The request to Prometheus: its URL and its headers.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use form_urlencoded::byte_serialize;
use http::HeaderMap;
use http::header::{self, HeaderName, HeaderValue};

use crate::auth::Auth;
use crate::http::{Address, basic};
use crate::trigger::FieldError;

/// The parts of the URL. Users put credentials in all of them.
#[derive(Clone)]
pub(super) struct QueryRequest {
    pub(super) server: String,
    pub(super) query: String,
    pub(super) namespace: Option<String>,
    pub(super) parameters: Vec<(String, String)>,
}

impl QueryRequest {
    /// The host of the server; empty if the address is invalid.
    pub(super) fn host(&self) -> String {
        let address = Address::parse(&self.server).ok();
        address.and_then(|address| address.uri.host().map(str::to_owned)).unwrap_or_default()
    }
}

impl fmt::Debug for QueryRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryRequest").finish_non_exhaustive()
    }
}

/// The instant query. `serverAddress` and `namespace` are used as they are.
pub(super) fn url(query_request: &QueryRequest, now: DateTime<Utc>) -> String {
    let time = now.to_rfc3339_opts(SecondsFormat::Secs, true);
    let mut url = format!("{}/api/v1/query?query={}&time={time}", query_request.server, escape(&query_request.query));
    if let Some(namespace) = &query_request.namespace {
        // KEDA: not escaped, so that further parameters can follow.
        url.push_str("&namespace=");
        url.push_str(namespace);
    }
    for (name, value) in &query_request.parameters {
        url.push_str(&format!("&{}={}", escape(name), escape(value)));
    }
    url
}

fn escape(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

/// Custom headers first; then the one that signs in, which replaces a custom one of its name.
pub(super) fn headers(custom: &[(String, String)], auth: Option<&Auth>) -> Result<HeaderMap, FieldError> {
    let mut headers = HeaderMap::new();
    for (name, value) in custom {
        let error = || {
            FieldError::new(
                "customHeaders",
                "has a name or value that no header can have",
                "use visible ASCII characters",
            )
        };
        let (name, value) = header(name, value).ok_or_else(error)?;
        if !is_ours(&name) {
            headers.append(name, value);
        }
    }
    if let Some((name, value)) = auth.map(credentials).transpose()?.flatten() {
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The one header that signs in: bearer, else basic, else custom.
fn credentials(auth: &Auth) -> Result<Option<(HeaderName, HeaderValue)>, FieldError> {
    let unusable = |field: &str| {
        FieldError::new(field, "has characters that no header can have", "look for line ends and blanks in the secret")
    };
    match auth {
        Auth { bearer: Some(token), .. } => header("authorization", &format!("Bearer {}", token.reveal()))
            .ok_or_else(|| unusable("bearerToken"))
            .map(Some),
        Auth { basic: Some(user), .. } => basic(user.username.reveal().as_bytes(), user.password.reveal().as_bytes())
            .ok_or_else(|| unusable("username"))
            .map(|value| Some((header::AUTHORIZATION, value))),
        Auth { custom: Some(custom), .. } => {
            header(custom.header.reveal(), custom.value.reveal()).ok_or_else(|| unusable("customAuthHeader")).map(Some)
        }
        _ => Ok(None),
    }
}

fn header(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::try_from(name).ok()?;
    let mut value = HeaderValue::try_from(value).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

/// KEDA: Go's client writes these by itself and drops those it is given.
fn is_ours(name: &HeaderName) -> bool {
    [header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::TRAILER].contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Basic, Custom};
    use crate::trigger::Secret;

    fn query_request(server: &str, query: &str) -> QueryRequest {
        QueryRequest { server: server.to_owned(), query: query.to_owned(), namespace: None, parameters: Vec::new() }
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn now() -> DateTime<Utc> {
        "2026-08-20T10:11:12.9Z".parse().unwrap()
    }

    #[test]
    fn urls_are_those_of_keda() {
        let plain = query_request("http://p:9090", "sum(rate(x{a=\"b c\"}[2m])) + 1");
        let rows = [
            (
                "the query is escaped as a form, the time has whole seconds",
                plain.clone(),
                "http://p:9090/api/v1/query?query=sum%28rate%28x%7Ba%3D%22b+c%22%7D%5B2m%5D%29%29+%2B+1\
                 &time=2026-08-20T10:11:12Z",
            ),
            (
                "the server stays as it is",
                query_request("http://p/", "up"),
                "http://p//api/v1/query?query=up&time=2026-08-20T10:11:12Z",
            ),
            (
                "the namespace is not escaped, parameters are",
                QueryRequest {
                    namespace: Some("a&b=c".to_owned()),
                    parameters: pairs(&[("x y", "1/2"), ("z", "")]),
                    ..query_request("http://p", "up")
                },
                "http://p/api/v1/query?query=up&time=2026-08-20T10:11:12Z&namespace=a&b=c&x+y=1%2F2&z=",
            ),
        ];
        for (name, query_request, expected) in rows {
            assert_eq!(url(&query_request, now()), expected, "{name}");
        }
    }

    #[test]
    fn one_header_signs_in() {
        let bearer = Auth { bearer: Some(Secret::new("t")), ..Auth::default() };
        let user = Basic { username: Secret::new("u"), password: Secret::new("p") };
        let basic = Auth { basic: Some(user), ..Auth::default() };
        let custom = Custom { header: Secret::new("X-Key"), value: Secret::new("v") };
        let both = Auth { custom: Some(custom.clone()), ..bearer.clone() };
        let custom = Auth { custom: Some(custom), ..Auth::default() };
        let rows = [
            ("bearer", &bearer, vec![("authorization", "Bearer t")]),
            ("basic", &basic, vec![("authorization", "Basic dTpw")]),
            ("custom", &custom, vec![("x-key", "v")]),
            ("bearer goes before custom", &both, vec![("authorization", "Bearer t")]),
            ("nothing to sign in with", &Auth::default(), vec![]),
        ];
        for (name, auth, expected) in rows {
            let headers = headers(&[], Some(auth)).unwrap();
            let sent: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
            assert_eq!(sent, expected, "{name}");
        }
    }

    #[test]
    fn custom_headers_are_added_and_give_way_to_signing_in() {
        let bearer = Auth { bearer: Some(Secret::new("t")), ..Auth::default() };
        let custom =
            pairs(&[("X-Scope-OrgID", "a"), ("Authorization", "mine"), ("Host", "other"), ("x-scope-orgid", "b")]);
        let headers = headers(&custom, Some(&bearer)).unwrap();
        let scopes: Vec<_> = headers.get_all("x-scope-orgid").iter().map(|value| value.to_str().unwrap()).collect();
        assert_eq!(scopes, ["a", "b"]);
        assert_eq!(headers.get("authorization").unwrap(), "Bearer t");
        assert!(!headers.contains_key("host"));
    }

    #[test]
    fn what_cannot_be_a_header_is_a_problem_and_not_shown() {
        let token = Auth { bearer: Some(Secret::new("hunter2\nx")), ..Auth::default() };
        let problem = headers(&[], Some(&token)).unwrap_err().to_string();
        assert!(problem.contains("`bearerToken`") && !problem.contains("hunter2"), "{problem}");
        let problem = headers(&pairs(&[("a b", "hunter2")]), None).unwrap_err().to_string();
        assert!(problem.contains("`customHeaders`") && !problem.contains("hunter2"), "{problem}");
        assert!(!format!("{:?}", headers(&pairs(&[("a", "hunter2")]), None)).contains("hunter2"));
    }
}
