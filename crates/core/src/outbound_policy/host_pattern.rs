//! Patterns of host names.

use std::str::FromStr;

use serde::Deserialize;

/// A host, all hosts below a domain (`*.example.com`), or all hosts (`*`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct HostPattern(Matched);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Matched {
    All,
    /// The domain with the dot before it.
    Below(String),
    Host(String),
}

impl HostPattern {
    /// Whether the pattern matches a host in lower case.
    pub(super) fn matches(&self, host: &str) -> bool {
        match &self.0 {
            Matched::All => true,
            Matched::Below(domain) => host.len() > domain.len() && host.ends_with(domain.as_str()),
            Matched::Host(own) => host == own,
        }
    }
}

/// A text that is not a pattern of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a host; write vault.example.com, *.example.com or *, without scheme and port")]
pub struct InvalidHostPattern;

impl FromStr for HostPattern {
    type Err = InvalidHostPattern;

    fn from_str(text: &str) -> Result<Self, InvalidHostPattern> {
        let text = text.to_ascii_lowercase();
        if text == "*" {
            return Ok(Self(Matched::All));
        }
        let (domain, is_below) = text.strip_prefix('*').map_or((text.as_str(), false), |domain| (domain, true));
        let name = if is_below { domain.strip_prefix('.').ok_or(InvalidHostPattern)? } else { domain };
        // A colon is that of an IPv6 address, which has several, and not that of a port.
        let has_port = name.matches(':').count() == 1;
        let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
        if name.is_empty() || name.starts_with('.') || has_port || !name.bytes().all(is_inside) {
            return Err(InvalidHostPattern);
        }
        let name = name.strip_suffix('.').unwrap_or(name);
        Ok(Self(if is_below { Matched::Below(format!(".{name}")) } else { Matched::Host(name.to_owned()) }))
    }
}

impl TryFrom<String> for HostPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map_err(|error: InvalidHostPattern| format!("{text:?} {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_host_a_domain_or_everything() {
        let rows = [
            ("*", "anything", true),
            ("vault.example", "vault.example", true),
            ("Vault.Example.", "vault.example", true),
            ("vault.example", "a.vault.example", false),
            ("*.example", "vault.example", true),
            ("*.example", "a.vault.example", true),
            ("*.example", "example", false),
            ("*.example", ".example", false),
            ("*.example", "badexample", false),
            ("10.0.0.5", "10.0.0.5", true),
            ("fd00::1", "fd00::1", true),
        ];
        for (pattern, host, expected) in rows {
            assert_eq!(pattern.parse::<HostPattern>().unwrap().matches(host), expected, "{pattern} {host}");
        }
    }

    #[test]
    fn other_texts_are_errors() {
        for text in ["", "*.", "**", "*example", "a*b", "https://vault", "vault:8200", "a b", ".example", "a/b"] {
            assert_eq!(text.parse::<HostPattern>(), Err(InvalidHostPattern), "{text}");
        }
    }
}
