//! Networks in CIDR notation.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::Deserialize;

/// The addresses that share their first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Cidr {
    /// Whether an address is in the network. An IPv4 address that is written as IPv6 counts as what it is.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (address, network, width): (u128, u128, u8) = match (address.to_canonical(), self.address) {
            (IpAddr::V4(address), IpAddr::V4(network)) => (address.to_bits().into(), network.to_bits().into(), 32),
            (IpAddr::V6(address), IpAddr::V6(network)) => (address.to_bits(), network.to_bits(), 128),
            _ => return false,
        };
        // A shift by all bits is none in Rust: with no bits to compare, all addresses are alike.
        let host_bits = u32::from(width - self.bits);
        address.checked_shr(host_bits) == network.checked_shr(host_bits)
    }
}

/// A text that is not a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a network; write an address and the number of its leading bits, as in 10.0.0.0/8")]
pub struct InvalidCidr;

impl FromStr for Cidr {
    type Err = InvalidCidr;

    fn from_str(text: &str) -> Result<Self, InvalidCidr> {
        let (address, bits) = text.split_once('/').ok_or(InvalidCidr)?;
        let address: IpAddr = address.parse().map_err(|_| InvalidCidr)?;
        let bits: u8 = bits.parse().map_err(|_| InvalidCidr)?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        if bits > bits_max { Err(InvalidCidr) } else { Ok(Self { address, bits }) }
    }
}

impl TryFrom<String> for Cidr {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map_err(|error: InvalidCidr| format!("{text:?} {error}"))
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_with_its_bits() {
        let rows = [
            ("10.0.0.0/8", "10.200.3.4", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.0.0.0/8", "fd00::1", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("fe80::/10", "febf::1", true),
            ("fe80::/10", "fec0::1", false),
            ("10.1.2.3/32", "10.1.2.3", true),
            ("10.1.2.3/32", "10.1.2.2", false),
        ];
        for (network, address, expected) in rows {
            let network: Cidr = network.parse().unwrap();
            assert_eq!(network.contains(address.parse().unwrap()), expected, "{network} {address}");
        }
    }

    #[test]
    fn other_texts_are_errors() {
        for text in ["", "10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0/8", "ten/8", "10.0.0.0/-1"] {
            assert_eq!(text.parse::<Cidr>(), Err(InvalidCidr), "{text}");
        }
    }
}
