//! Why a reading is unknown. Nothing in here can hold a credential: an [`Endpoint`] has lost its user info and query.

use std::fmt;
use std::time::Duration;

/// A reading that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("{endpoint} gave no answer within {limit:?}")]
    Timeout { endpoint: Endpoint, limit: Duration },
    #[error("{endpoint} cannot be reached: {problem}")]
    Connect { endpoint: Endpoint, problem: String },
    #[error("no trusted connection to {endpoint}: {problem}")]
    Untrusted { endpoint: Endpoint, problem: String },
    #[error("{endpoint} answered with status {code}")]
    Status { endpoint: Endpoint, code: u16 },
    /// The words are the source's own, and cut.
    #[error("{endpoint} answered {method} with {code}: {message}")]
    Rpc { endpoint: Endpoint, method: &'static str, code: &'static str, message: String },
    /// The words are the source's own, and cut.
    #[error("{endpoint} answered: {message}")]
    Refused { endpoint: Endpoint, message: String },
    /// The source did not accept the credentials, in its own words, which are cut.
    #[error("{endpoint} denied access: {message}")]
    Denied { endpoint: Endpoint, message: String },
    #[error("the answer of {endpoint} cannot be used: {problem}")]
    Malformed { endpoint: Endpoint, problem: String },
    #[error("{endpoint} has no value: {problem}")]
    NoValue { endpoint: Endpoint, problem: String },
    #[error("cannot read {what} from the cluster: {problem}")]
    Cluster { what: &'static str, problem: String },
    #[error("cannot sign in as {identity}: {problem}")]
    NoCredentials { identity: &'static str, problem: String },
    #[error("`{field}` {problem}; {remedy}")]
    Config { field: &'static str, problem: String, remedy: &'static str },
}

/// How much of a source's message is repeated.
const WORDS_MAX: usize = 200;

/// The text on one line, and not much longer than one.
pub(crate) fn cut(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(WORDS_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None if line.is_empty() => "no explanation".to_owned(),
        None => line,
    }
}

impl ReadError {
    /// Whether the source did not accept the credentials.
    pub fn is_denied(&self) -> bool {
        match self {
            Self::Status { code, .. } => matches!(code, 401 | 403),
            Self::Denied { .. } => true,
            Self::Rpc { code, .. } => matches!(*code, "UNAUTHENTICATED" | "PERMISSION_DENIED"),
            _ => false,
        }
    }

    /// The kind of failure, from a closed set: safe as a label.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Timeout { .. } => "SourceTimeout",
            Self::Connect { .. } => "SourceUnreachable",
            Self::Untrusted { .. } => "SourceUntrusted",
            Self::Status { .. } | Self::Rpc { .. } | Self::Refused { .. } | Self::Denied { .. } => "SourceRefused",
            Self::Malformed { .. } => "SourceMalformed",
            Self::NoValue { .. } => "SourceWithoutValue",
            Self::Cluster { .. } => "ClusterUnreadable",
            Self::NoCredentials { .. } => "NoCredentials",
            Self::Config { .. } => "InvalidTrigger",
        }
    }
}

/// Where a source is, in a form that can be shown: scheme, host, port and path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint(String);

impl Endpoint {
    pub fn from_uri(uri: &http::Uri) -> Self {
        let scheme = uri.scheme_str().map(|scheme| format!("{scheme}://")).unwrap_or_default();
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        // The last `@` ends the user info: a password may hold another one.
        let host = authority.rsplit('@').next().unwrap_or_default();
        Self(format!("{scheme}{host}{}", uri.path()))
    }

    /// One that has no scheme and no path.
    pub(crate) fn from_host(host_and_port: String) -> Self {
        Self(host_and_port)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_shows_neither_user_nor_query() {
        let rows = [
            ("http://prometheus:9090/api/v1/query?query=up", "http://prometheus:9090/api/v1/query"),
            ("https://user:pa%40ss@host/x?token=secret", "https://host/x"),
            ("http://[::1]:9090", "http://[::1]:9090/"),
        ];
        for (uri, expected) in rows {
            assert_eq!(Endpoint::from_uri(&uri.parse().unwrap()).to_string(), expected);
        }
    }

    #[test]
    fn a_message_names_the_endpoint_and_the_limit() {
        let endpoint = Endpoint::from_uri(&"http://p:9090/q".parse().unwrap());
        let error = ReadError::Timeout { endpoint, limit: Duration::from_secs(3) };
        assert_eq!(error.to_string(), "http://p:9090/q gave no answer within 3s");
        assert_eq!(error.reason(), "SourceTimeout");
    }
}
