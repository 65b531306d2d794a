//! Where the operator may connect to on behalf of a trigger or an authentication object, and where its own identities may be used. Tenants
//! write the addresses; the administrator writes the policy.

mod host_pattern;

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use serde::Deserialize;

use crate::cidr::Cidr;
pub use host_pattern::HostPattern;

/// The variable that holds the policy.
pub const VARIABLE: &str = "KEDGE_OUTBOUND_POLICY";

/// Link-local addresses, and the other addresses at which clouds give credentials to every process of a machine.
const METADATA_ADDRESSES: [&str; 7] = [
    "169.254.0.0/16",
    "fe80::/10",
    "fd00:ec2::/32",
    "fd20:ce::254/128",
    "100.100.100.200/32",
    "168.63.129.16/32",
    "192.0.0.192/32",
];
const METADATA_HOSTS: [&str; 1] = ["metadata.google.internal"];

/// IPv6 addresses with these leading bits stand for IPv4 addresses.
const NAT64: [u16; 6] = [0x64, 0xff9b, 0, 0, 0, 0];

/// The policy as the administrator writes it. What is denied stays denied, even if it is allowed too.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutboundPolicy {
    #[serde(rename = "allowedHosts")]
    pub allowed_hosts: Vec<HostPattern>,
    #[serde(rename = "allowedCIDRs")]
    pub allowed_cidrs: Vec<Cidr>,
    #[serde(rename = "deniedHosts")]
    pub denied_hosts: Vec<HostPattern>,
    #[serde(rename = "deniedCIDRs")]
    pub denied_cidrs: Vec<Cidr>,
    /// Who may use the operator's identities; all may, if it is absent.
    pub identities: Option<Vec<IdentityGrant>>,
}

/// Lets namespaces use an identity of the operator with some hosts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityGrant {
    pub provider: IdentityProvider,
    /// Names; `*` is all.
    pub namespaces: Vec<String>,
    pub hosts: Vec<HostPattern>,
}

/// What accepts an identity of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdentityProvider {
    Aws,
    AzureWorkload,
    Gcp,
    Vault,
}

/// Why the policy does not permit something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    #[error("{host} is a denied host of the operator's outbound policy ({VARIABLE})")]
    Host { host: String },
    #[error("{host} is in the network {network}, which the operator's outbound policy denies ({VARIABLE})")]
    Address { host: String, network: Cidr },
    #[error(
        "{host} is neither an allowed host nor in an allowed network of the operator's outbound policy ({VARIABLE})"
    )]
    NotAllowed { host: String },
    #[error(
        "the {provider} identity of the operator may not be used by namespace {namespace} with the host {host} ({VARIABLE})"
    )]
    Identity { provider: IdentityProvider, namespace: String, host: String },
}

impl Default for OutboundPolicy {
    fn default() -> Self {
        let networks = METADATA_ADDRESSES.iter().filter_map(|text| text.parse().ok());
        let hosts = METADATA_HOSTS.iter().filter_map(|text| text.parse().ok());
        Self { denied_hosts: hosts.collect(), denied_cidrs: networks.collect(), ..Self::unrestricted() }
    }
}

impl OutboundPolicy {
    /// The policy for addresses that are not a tenant's.
    pub fn unrestricted() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            allowed_cidrs: Vec::new(),
            denied_hosts: Vec::new(),
            denied_cidrs: Vec::new(),
            identities: None,
        }
    }

    /// Whether a host may be looked up. An address in place of a name is checked in full.
    pub fn check_host(&self, host: &str) -> Result<(), Denial> {
        let host = normalize(host);
        if let Ok(address) = host.parse() {
            return self.check_address(&host, address);
        }
        match matches_any(&self.denied_hosts, &host) {
            true => Err(Denial::Host { host }),
            false => Ok(()),
        }
    }

    /// Whether a connection may be opened to one of the addresses of a host.
    pub fn check_address(&self, host: &str, address: IpAddr) -> Result<(), Denial> {
        let host = normalize(host);
        if matches_any(&self.denied_hosts, &host) {
            return Err(Denial::Host { host });
        }
        let meant = meant_address(address);
        let denied = self.denied_cidrs.iter().find(|network| network.contains(address) || network.contains(meant));
        if let Some(network) = denied {
            return Err(Denial::Address { host, network: *network });
        }
        let is_in_allowed_network = self.allowed_cidrs.iter().any(|network| network.contains(address));
        match is_in_allowed_network || self.allows_host(&host) {
            true => Ok(()),
            false => Err(Denial::NotAllowed { host }),
        }
    }

    /// Whether a proxy may connect to a host. The proxy looks up the name, so its addresses are not known here.
    pub fn check_proxied(&self, host: &str) -> Result<(), Denial> {
        self.check_host(host)?;
        let host = normalize(host);
        match host.parse::<IpAddr>().is_ok() || self.allows_host(&host) {
            true => Ok(()),
            false => Err(Denial::NotAllowed { host }),
        }
    }

    /// Whether a namespace may use an identity of the operator with a host.
    pub fn check_identity(&self, provider: IdentityProvider, namespace: &str, host: &str) -> Result<(), Denial> {
        let Some(grants) = &self.identities else { return Ok(()) };
        let host = normalize(host);
        let covers = |grant: &IdentityGrant| {
            let has_namespace = grant.namespaces.iter().any(|name| name == "*" || name == namespace);
            grant.provider == provider && has_namespace && matches_any(&grant.hosts, &host)
        };
        match grants.iter().any(covers) {
            true => Ok(()),
            false => Err(Denial::Identity { provider, namespace: namespace.to_owned(), host }),
        }
    }

    fn allows_host(&self, host: &str) -> bool {
        let allows_all = self.allowed_hosts.is_empty() && self.allowed_cidrs.is_empty();
        allows_all || matches_any(&self.allowed_hosts, host)
    }
}

impl fmt::Display for IdentityProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aws => "aws",
            Self::AzureWorkload => "azure-workload",
            Self::Gcp => "gcp",
            Self::Vault => "vault",
        })
    }
}

fn matches_any(patterns: &[HostPattern], host: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(host))
}

/// A host in the form that patterns match: in lower case, without the brackets of IPv6 and the dot of a full name.
fn normalize(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// The IPv4 address that an IPv6 address stands for, else the address itself.
fn meant_address(address: IpAddr) -> IpAddr {
    let IpAddr::V6(long) = address else { return address };
    let segments = long.segments();
    match segments[..6] == NAT64 {
        true => IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, segments[6], segments[7])).to_canonical(),
        false => address.to_canonical(),
    }
}

#[cfg(test)]
mod tests;
