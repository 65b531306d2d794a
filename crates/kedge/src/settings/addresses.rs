//! Listen addresses in Go's notation: `:8080` is every interface, and a host may be a name.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use kedge_scalers::metadata::convert::{ConversionError, Converted};

/// A listen address.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Address {
    pub(crate) host: Host,
    pub(crate) port: u16,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Host {
    /// Every interface, IPv6 and IPv4.
    Every,
    Ip(IpAddr),
    Name(String),
}

/// Parses `host:port`, `[ipv6]:port` or `:port`.
pub(super) fn parse(text: &str) -> Converted<Address> {
    let error = |problem: &str| ConversionError::new(problem, "write host:port, or :port for every interface");
    let (host, port) = text.rsplit_once(':').ok_or_else(|| error("has no port"))?;
    let port = port.parse().map_err(|_| error("has no port from 0 to 65535"))?;
    Ok(Address { host: parse_host(host).ok_or_else(|| error("has no usable host"))?, port })
}

/// As `parse`; none for `0`, which disables the server in KEDA's libraries.
pub(super) fn parse_or_disabled(text: &str) -> Converted<Option<Address>> {
    if text == "0" { Ok(None) } else { parse(text).map(Some) }
}

/// Parses an IP address. KEDA: `::` listens on IPv4 too.
pub(super) fn parse_ip(text: &str) -> Converted<Host> {
    let error = |_| ConversionError::new("is not an IP address", "write it as in 0.0.0.0 or ::");
    text.parse().map(host_of).map_err(error)
}

fn parse_host(text: &str) -> Option<Host> {
    if text.is_empty() {
        return Some(Host::Every);
    }
    if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inside.parse::<Ipv6Addr>().ok().map(|ip| host_of(ip.into()));
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        // An IPv6 address needs brackets to be distinct from a port.
        return ip.is_ipv4().then(|| host_of(ip));
    }
    let valid = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    valid.then(|| Host::Name(text.to_owned()))
}

fn host_of(ip: IpAddr) -> Host {
    if ip == IpAddr::V6(Ipv6Addr::UNSPECIFIED) { Host::Every } else { Host::Ip(ip) }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Every => write!(f, ":{}", self.port),
            Host::Ip(ip) => std::net::SocketAddr::new(*ip, self.port).fmt(f),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_as_go_does() {
        let rows = [
            (":8080", Some(":8080")),
            ("[::]:8080", Some(":8080")),
            ("0.0.0.0:8080", Some("0.0.0.0:8080")),
            ("127.0.0.1:0", Some("127.0.0.1:0")),
            ("[::1]:8080", Some("[::1]:8080")),
            ("localhost:8080", Some("localhost:8080")),
            ("8080", None),
            ("", None),
            ("::1:8080", None),
            ("host:http", None),
            (":99999", None),
            ("a b:80", None),
            ("http://host:80", None),
            ("[127.0.0.1]:80", None),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text).ok().map(|address| address.to_string()).as_deref(), expected, "{text}");
        }
    }
}
