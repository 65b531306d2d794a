//! `NO_PROXY`: the hosts that are connected to without a proxy. Loopback is always among them.

use std::net::IpAddr;

use kedge_core::cidr::Cidr;

/// The entries of `NO_PROXY`, read by Go's rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Exempt(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    All,
    Network(Cidr),
    Address { address: IpAddr, port: Option<u16> },
    Domain { suffix: String, itself: Itself, port: Option<u16> },
}

/// Whether a domain means itself too, or only what is below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Itself {
    Included,
    Excluded,
}

impl Exempt {
    /// What is not understood is passed over, as in Go.
    pub(super) fn parse(text: &str) -> Self {
        Self(text.split(',').filter_map(|entry| Entry::parse(&entry.trim().to_lowercase())).collect())
    }

    /// Whether no proxy is to be used.
    pub(super) fn covers(&self, host: &str, port: u16) -> bool {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_lowercase();
        let address: Option<IpAddr> = host.parse().ok().map(|address: IpAddr| address.to_canonical());
        host == "localhost"
            || address.is_some_and(|address| address.is_loopback())
            || self.0.iter().any(|entry| entry.covers(&host, address, port))
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::All);
        }
        if let Ok(network) = text.parse() {
            return Some(Self::Network(network));
        }
        let (host, port) = split_port(text)?;
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(Self::Address { address: address.to_canonical(), port });
        }
        let host = host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host);
        let itself = if host.starts_with('.') { Itself::Excluded } else { Itself::Included };
        let name = host.strip_prefix('.').unwrap_or(host);
        (!name.is_empty()).then(|| Self::Domain { suffix: format!(".{name}"), itself, port })
    }

    fn covers(&self, host: &str, address: Option<IpAddr>, port: u16) -> bool {
        let fits = |wanted: &Option<u16>| wanted.is_none_or(|wanted| wanted == port);
        match self {
            Self::All => true,
            Self::Network(network) => address.is_some_and(|address| network.contains(address)),
            Self::Address { address: own, port: wanted } => address == Some(*own) && fits(wanted),
            Self::Domain { suffix, itself, port: wanted } => {
                let is_itself = *itself == Itself::Included && suffix[1..] == *host;
                (is_itself || host.ends_with(suffix.as_str())) && fits(wanted)
            }
        }
    }
}

/// `host:port`, `[v6]:port`, or a host alone. A colon without a number behind it makes no sense, unless it is of IPv6.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (text, None),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Places = &'static [(&'static str, u16)];

    #[test]
    fn entries_mean_what_they_mean_in_go() {
        let rows: [(&str, Places, Places); 14] = [
            ("", &[("localhost", 80), ("127.0.0.9", 80), ("[::1]", 80)], &[("a", 80)]),
            ("*", &[("a", 80), ("10.0.0.1", 80)], &[]),
            ("foo.com", &[("foo.com", 80), ("FOO.com", 443), ("bar.foo.com", 80)], &[("xfoo.com", 80), ("com", 80)]),
            (".foo.com", &[("bar.foo.com", 80)], &[("foo.com", 80)]),
            ("*.foo.com", &[("bar.foo.com", 80)], &[("foo.com", 80)]),
            ("foo.com:8080", &[("foo.com", 8080), ("a.foo.com", 8080)], &[("foo.com", 80)]),
            ("10.1.2.3", &[("10.1.2.3", 80)], &[("10.1.2.4", 80), ("x10.1.2.3", 80)]),
            ("10.1.2.3:81", &[("10.1.2.3", 81)], &[("10.1.2.3", 80)]),
            ("10.0.0.0/8", &[("10.200.3.4", 80)], &[("11.0.0.1", 80), ("ten.example", 80), ("[fd00::1]", 80)]),
            ("0.0.0.0/0", &[("8.8.8.8", 80)], &[("[2001:db8::1]", 80)]),
            ("fd00::/8", &[("[fd12::1]", 80)], &[("[fe80::1]", 80)]),
            (
                "2001:db8::1, [2001:db8::2]:443",
                &[("[2001:db8::1]", 9), ("[2001:db8::2]", 443)],
                &[("[2001:db8::2]", 80)],
            ),
            (" a , ,b ", &[("a", 80), ("b", 80)], &[("c", 80)]),
            (":80, foo:x, 10.0.0.0/99, ., *.", &[], &[("foo", 80), ("a", 80), ("10.0.0.1", 80)]),
        ];
        for (text, direct, proxied) in rows {
            let exempt = Exempt::parse(text);
            for (host, port) in direct {
                assert!(exempt.covers(host, *port), "{text:?} exempts {host}:{port}");
            }
            for (host, port) in proxied {
                assert!(!exempt.covers(host, *port), "{text:?} does not exempt {host}:{port}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z0-9.:*/,\\[\\] é]{0,40}", host in ".{0,20}", port: u16) {
            Exempt::parse(&text).covers(&host, port);
        }

        #[test]
        fn a_domain_covers_all_that_is_below_it(domain in "[a-z]{1,8}(\\.[a-z]{1,8}){0,2}", label in "[a-z]{1,8}", port: u16) {
            let exempt = Exempt::parse(&domain);
            prop_assert!(exempt.covers(&domain, port));
            let below = format!("{label}.{domain}");
            prop_assert!(exempt.covers(&below, port));
        }
    }
}
