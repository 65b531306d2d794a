//! Where a gRPC server is, as manifests write it.

use std::fmt;

use http::Uri;

use crate::error::Endpoint;
use crate::metadata::convert::{ConversionError, Converted};

/// The port where none is given, as in KEDA: gRPC's libraries have this default.
const PORT_DEFAULT: &str = "443";

const REMEDY: &str = "write host:port, as in scaler.queues:9090";

/// A host, which is looked up for each new connection, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    port: u16,
}

impl Address {
    /// Reads `host:port`, alone or behind one of the resolvers that gRPC libraries know by default.
    pub(crate) fn parse(text: &str) -> Converted<Self> {
        let error = |problem: &str| ConversionError::new(problem, REMEDY);
        if text.starts_with("unix:") || text.starts_with("unix-abstract:") {
            return Err(error("is a socket on one machine, which the operator does not share with the scaler"));
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return Err(ConversionError::new(
                "is a URL",
                "write host:port, and enableTLS: \"true\" where the server speaks TLS",
            ));
        }
        let rest = without_resolver(text).ok_or_else(|| {
            ConversionError::new(
                "names a DNS server of its own, which cannot be asked",
                "write dns:///host:port, or host:port",
            )
        })?;
        // An IPv6 address without brackets has colons, and still no port.
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if host.starts_with('[') == host.ends_with(']') => (host, port),
            _ => (rest, PORT_DEFAULT),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        if bare.is_none() && host.contains(':') {
            return Err(error("is an IPv6 address without brackets, or has several ports"));
        }
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(|| error("has no usable port"))?;
        let address = Self { host: bare.unwrap_or(host).to_owned(), port };
        if address.host.is_empty() {
            return Err(error("has no host"));
        }
        match address.uri("http") {
            // A `@` or `/` would make another host of it.
            Some(uri) if uri.host() == Some(host) && uri.path() == "/" => Ok(address),
            _ => Err(error("has no usable host")),
        }
    }

    /// The address as a URI, if there is one.
    pub(super) fn uri(&self, scheme: &str) -> Option<Uri> {
        format!("{scheme}://{self}/").parse().ok()
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint::from_host(self.to_string())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The address after `dns:` or `passthrough:`, with or without slashes; none if a DNS server is named between them.
fn without_resolver(text: &str) -> Option<&str> {
    let Some(rest) = text.strip_prefix("dns:").or_else(|| text.strip_prefix("passthrough:")) else { return Some(text) };
    match rest.strip_prefix("//") {
        None => Some(rest),
        Some(rest) => rest.strip_prefix('/'),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_read_as_grpc_libraries_read_them() {
        let rows = [
            ("scaler.queues:9090", Ok("scaler.queues:9090")),
            ("scaler_x.queues.svc.cluster.local:1", Ok("scaler_x.queues.svc.cluster.local:1")),
            ("10.0.0.1:65535", Ok("10.0.0.1:65535")),
            ("[::1]:9090", Ok("[::1]:9090")),
            ("dns:///scaler:9090", Ok("scaler:9090")),
            ("dns:scaler:9090", Ok("scaler:9090")),
            ("dns:///[::1]:9090", Ok("[::1]:9090")),
            ("passthrough:///scaler:9090", Ok("scaler:9090")),
            ("scaler", Ok("scaler:443")),
            ("dns:///scaler", Ok("scaler:443")),
            ("[::1]", Ok("[::1]:443")),
            ("::1", Err("is an IPv6 address without brackets, or has several ports")),
            ("", Err("has no host")),
            ("scaler:", Err("has no usable port")),
            ("scaler:grpc", Err("has no usable port")),
            ("scaler:0", Err("has no usable port")),
            ("scaler:70000", Err("has no usable port")),
            (":9090", Err("has no host")),
            ("[]:9090", Err("has no host")),
            ("a b:9090", Err("has no usable host")),
            ("user@host:9090", Err("has no usable host")),
            ("host/path:9090", Err("has no usable host")),
            ("dns://8.8.8.8/scaler:9090", Err("names a DNS server of its own, which cannot be asked")),
            ("http://scaler:9090", Err("is a URL")),
            (
                "unix:///run/scaler.sock",
                Err("is a socket on one machine, which the operator does not share with the scaler"),
            ),
        ];
        for (text, expected) in rows {
            let read = Address::parse(text).map(|address| address.to_string());
            assert_eq!(read.as_deref().map_err(|error| error.problem.as_str()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_can_be_dialled_and_read_again(
            text in "[ -~]{0,20}|[a-z.]{1,9}:[0-9]{1,5}|\\[[0-9a-f:]{1,9}\\]:[0-9]{1,5}",
        ) {
            if let Ok(address) = Address::parse(&text) {
                prop_assert!(address.uri("https").is_some());
                prop_assert_eq!(Address::parse(&address.to_string()), Ok(address));
            }
        }
    }
}
