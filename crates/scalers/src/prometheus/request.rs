//! The request to Prometheus: its URL and its headers.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use form_urlencoded::byte_serialize;
use http::HeaderMap;
use http::header::{self, HeaderName, HeaderValue};

use crate::auth::Auth;
use crate::http::{Address, basic};
use crate::trigger::FieldError;

/// The parts of the URL of a query.
#[derive(Clone, Default)]
pub(super) struct QueryParts {
    pub(super) server: String,
    pub(super) query: String,
    pub(super) namespace: Option<String>,
    pub(super) parameters: Vec<(String, String)>,
}

/// An instant query, ready but for its time. Users put credentials in all parts of its URL.
#[derive(Clone)]
pub(super) struct QueryRequest {
    address: Address,
    after_time: String,
}

impl QueryRequest {
    /// `serverAddress` and `namespace` are used as they are. The error does not repeat them.
    pub(super) fn new(parts: &QueryParts) -> Result<Self, &'static str> {
        let before_time = format!("{}/api/v1/query?query={}&time=", parts.server, escape(&parts.query));
        let mut after_time = String::new();
        if let Some(namespace) = &parts.namespace {
            // KEDA: not escaped, so that further parameters can follow.
            after_time = format!("&namespace={namespace}");
        }
        for (name, value) in &parts.parameters {
            after_time.push_str(&format!("&{}={}", escape(name), escape(value)));
        }
        let request = Self { address: Address::parse(&before_time)?, after_time };
        // The time does not matter: only the rest of the URL can be invalid.
        request.address_at(DateTime::UNIX_EPOCH)?;
        Ok(request)
    }

    /// Where the query is sent at this time.
    pub(super) fn address_at(&self, now: DateTime<Utc>) -> Result<Address, &'static str> {
        let time = now.to_rfc3339_opts(SecondsFormat::Secs, true);
        self.address.with_more(&[&time, &self.after_time])
    }

    /// The address of the server, with the beginning of the query.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }
}

impl fmt::Debug for QueryRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryRequest").finish_non_exhaustive()
    }
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

    fn parts(server: &str, query: &str) -> QueryParts {
        QueryParts { server: server.to_owned(), query: query.to_owned(), ..QueryParts::default() }
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn now() -> DateTime<Utc> {
        "2026-08-20T10:11:12.9Z".parse().unwrap()
    }

    #[test]
    fn urls_are_those_of_keda() {
        let plain = parts("http://p:9090", "sum(rate(x{a=\"b c\"}[2m])) + 1");
        let rows = [
            (
                "the query is escaped as a form, the time has whole seconds",
                plain.clone(),
                "http://p:9090/api/v1/query?query=sum%28rate%28x%7Ba%3D%22b+c%22%7D%5B2m%5D%29%29+%2B+1\
                 &time=2026-08-20T10:11:12Z",
            ),
            (
                "the server stays as it is",
                parts("http://p/", "up"),
                "http://p//api/v1/query?query=up&time=2026-08-20T10:11:12Z",
            ),
            (
                "the namespace is not escaped, parameters are",
                QueryParts {
                    namespace: Some("a&b=c".to_owned()),
                    parameters: pairs(&[("x y", "1/2"), ("z", "")]),
                    ..parts("http://p", "up")
                },
                "http://p/api/v1/query?query=up&time=2026-08-20T10:11:12Z&namespace=a&b=c&x+y=1%2F2&z=",
            ),
        ];
        for (name, parts, expected) in rows {
            let address = QueryRequest::new(&parts).unwrap().address_at(now()).unwrap();
            assert_eq!(address.uri.to_string(), expected, "{name}");
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
