//! Where a server is: a host and a port.

use std::fmt;

use http::Uri;

use crate::error::Endpoint;
use crate::metadata::convert::{ConversionError, Converted};

/// A host, which is looked up for each new connection, and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HostPort {
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl HostPort {
    /// Parses `host:port`. The remedy has an example.
    pub(crate) fn parse(text: &str, remedy: &'static str) -> Converted<Self> {
        let error = |problem: &str| ConversionError::new(problem, remedy);
        if text.contains("://") {
            return Err(error("is a URL"));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(|| error("has no port"))?;
        Self::new(host, port).map_err(error)
    }

    /// Parses the two parts. An IPv6 address has brackets.
    pub(crate) fn new(host: &str, port: &str) -> Result<Self, &'static str> {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        if bare.is_none() && host.contains(':') {
            return Err("is an IPv6 address without brackets, or has several ports");
        }
        let port = port.parse().ok().filter(|port| *port > 0).ok_or("has no usable port")?;
        let parsed = Self { host: bare.unwrap_or(host).to_owned(), port };
        if parsed.host.is_empty() {
            return Err("has no host");
        }
        match parsed.uri("http") {
            // A `@` or `/` would make another host of it.
            Some(uri) if uri.host() == Some(host) && uri.path() == "/" => Ok(parsed),
            _ => Err("has no usable host"),
        }
    }

    /// The address as a URI, if there is one.
    pub(crate) fn uri(&self, scheme: &str) -> Option<Uri> {
        format!("{scheme}://{self}/").parse().ok()
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::from_host(self.to_string())
    }
}

/// A host as it is written before a port: an IPv6 address has brackets.
pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_read() {
        let rows = [
            ("redis.queues:6379", Ok("redis.queues:6379")),
            ("10.0.0.1:65535", Ok("10.0.0.1:65535")),
            ("[::1]:6379", Ok("[::1]:6379")),
            ("redis", Err("has no port")),
            ("redis:", Err("has no usable port")),
            ("redis:0", Err("has no usable port")),
            (":6379", Err("has no host")),
            ("::1", Err("is an IPv6 address without brackets, or has several ports")),
            ("user@host:6379", Err("has no usable host")),
            ("a b:6379", Err("has no usable host")),
            ("redis://redis:6379", Err("is a URL")),
        ];
        for (text, expected) in rows {
            let read = HostPort::parse(text, "write host:port").map(|read| read.to_string());
            assert_eq!(read.as_deref().map_err(|error| error.problem.as_str()), expected, "{text}");
        }
    }
}
