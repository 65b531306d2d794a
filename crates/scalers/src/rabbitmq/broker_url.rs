//! The URL of a broker that speaks AMQP: `amqp://user:password@host:port/vhost`.

use kedge_core::secret::Secret;
use percent_encoding::percent_decode_str;

use crate::amqp_session::Mechanism;
use crate::host_port::HostPort;

/// What a URL says, with defaults in place of what it leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BrokerUrl {
    pub(super) security: Security,
    pub(super) server: HostPort,
    pub(super) username: String,
    pub(super) password: Password,
    pub(super) vhost: String,
    pub(super) mechanism: Mechanism,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Security {
    None,
    Tls,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Password {
    Given(Secret),
    Default,
}

impl Password {
    pub(super) fn secret(&self) -> Secret {
        match self {
            Self::Given(password) => password.clone(),
            Self::Default => Secret::new(DEFAULT_USER),
        }
    }
}

/// The user of a new broker, and its password.
const DEFAULT_USER: &str = "guest";

/// The vhost of a new broker.
const ROOT_VHOST: &str = "/";

impl BrokerUrl {
    /// Parses it. The error does not repeat it.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.contains(' ') {
            return Err("has a blank");
        }
        let (scheme, rest) = text.split_once("://").ok_or("is not a URL")?;
        let security = match scheme.to_ascii_lowercase().as_str() {
            "amqp" => Security::None,
            "amqps" => Security::Tls,
            _ => return Err("begins with neither amqp:// nor amqps://"),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // The last `@` ends the user info: a password may hold another one.
        let (user_info, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (username, password) = match user_info.split_once(':') {
            Some((username, password)) => (username, Password::Given(Secret::new(decode(password)?))),
            None => (user_info, Password::Default),
        };
        Ok(Self {
            security,
            server: parse_server(address, security)?,
            username: if user_info.is_empty() { DEFAULT_USER.to_owned() } else { decode(username)? },
            password,
            vhost: match path.strip_prefix('/').unwrap_or_default() {
                "" => ROOT_VHOST.to_owned(),
                vhost => decode(vhost)?,
            },
            mechanism: parse_mechanism(query),
        })
    }
}

fn decode(text: &str) -> Result<String, &'static str> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| "has escapes that are not UTF-8")?;
    Ok(decoded.into_owned())
}

fn parse_server(address: &str, security: Security) -> Result<HostPort, &'static str> {
    let default_port = match security {
        Security::None => "5672",
        Security::Tls => "5671",
    };
    let (host, port) = match address.rsplit_once(':') {
        // A colon in brackets is of the host.
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (address, default_port),
    };
    let host = if host.is_empty() { "localhost" } else { host };
    HostPort::new(host, if port.is_empty() { default_port } else { port })
}

/// The first mechanism that the URL names. Its other parameters have no effect.
fn parse_mechanism(query: &str) -> Mechanism {
    let named = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "auth_mechanism");
    match named {
        Some((_, mechanism)) if mechanism.eq_ignore_ascii_case("external") => Mechanism::External,
        _ => Mechanism::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_has_defaults() {
        let rows = [
            ("amqp://r", "r:5672", "guest", "guest", "/"),
            ("AMQPS://r/", "r:5671", "guest", "guest", "/"),
            ("amqp://u@r:1/shop", "r:1", "u", "guest", "shop"),
            ("amqp://u:@r/%2F", "r:5672", "u", "", "/"),
            ("amqp://u%40x:p@%2Fw@r.q:5673/%2Fa/b", "r.q:5673", "u@x", "p@/w", "/a/b"),
            ("amqp://[::1]/a", "[::1]:5672", "guest", "guest", "a"),
            ("amqp://[::1]:7/a?heartbeat=5", "[::1]:7", "guest", "guest", "a"),
            ("amqp:///a", "localhost:5672", "guest", "guest", "a"),
        ];
        for (text, server, username, password, vhost) in rows {
            let url = BrokerUrl::parse(text).unwrap_or_else(|problem| panic!("{text} {problem}"));
            let secret = url.password.secret();
            let found = (url.server.to_string(), url.username.as_str(), secret.reveal(), url.vhost.as_str());
            assert_eq!(found, (server.to_owned(), username, password, vhost), "{text}");
        }
        assert_eq!(BrokerUrl::parse("amqps://r?auth_mechanism=external").unwrap().mechanism, Mechanism::External);
        assert_eq!(BrokerUrl::parse("amqps://r?auth_mechanism=plain").unwrap().mechanism, Mechanism::Plain);
    }

    #[test]
    fn what_is_no_such_url_is_refused() {
        let rows = [
            ("r:5672", "is not a URL"),
            ("http://r", "begins with neither amqp:// nor amqps://"),
            ("amqp://r :1", "has a blank"),
            ("amqp://r:99999", "has no usable port"),
            ("amqp://::1", "is an IPv6 address without brackets, or has several ports"),
            ("amqp://r/%ff", "has escapes that are not UTF-8"),
        ];
        for (text, problem) in rows {
            assert_eq!(BrokerUrl::parse(text), Err(problem), "{text}");
        }
        assert!(!format!("{:?}", BrokerUrl::parse("amqp://u:hunter2@r")).contains("hunter2"));
    }
}
