//! Where a gRPC server is, as manifests write it.

use crate::host_port::HostPort;
use crate::metadata::convert::{ConversionError, Converted};

/// The port where none is given, as in KEDA: gRPC's libraries have this default.
const PORT_DEFAULT: &str = "443";

const REMEDY: &str = "write host:port, as in scaler.queues:9090";

/// Reads `host:port`, alone or behind one of the resolvers that gRPC libraries know by default.
pub(crate) fn parse_address(text: &str) -> Converted<HostPort> {
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
    HostPort::new(host, port).map_err(error)
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
            let read = parse_address(text).map(|address| address.to_string());
            assert_eq!(read.as_deref().map_err(|error| error.problem.as_str()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_can_be_dialled_and_read_again(
            text in "[ -~]{0,20}|[a-z.]{1,9}:[0-9]{1,5}|\\[[0-9a-f:]{1,9}\\]:[0-9]{1,5}",
        ) {
            if let Ok(address) = parse_address(&text) {
                prop_assert!(address.uri("https").is_some());
                prop_assert_eq!(parse_address(&address.to_string()), Ok(address));
            }
        }
    }
}
