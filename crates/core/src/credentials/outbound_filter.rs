//! Which Vault servers the operator may sign in to: KEDA's `KEDA_OUTBOUND_FILTER`. A server that is not allowed gets no credential.

use serde::Deserialize;

/// The filter as the administrator wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OutboundFilter {
    #[serde(default)]
    pub hashi_corp_vault: VaultFilter,
}

/// The filter of Vault's addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct VaultFilter {
    #[serde(default)]
    pub mode: FilterMode,
    #[serde(default)]
    pub allowed_endpoints: Vec<String>,
}

/// What happens to an address that is not allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FilterMode {
    /// It is used.
    #[default]
    Off,
    /// It is used, and logged.
    Warn,
    /// It is not used.
    Enforce,
}

/// What the filter says about an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    /// It is used, and this is logged.
    AllowedWithWarning(String),
    Denied(String),
}

impl OutboundFilter {
    /// Whether every allowed endpoint is an origin; else what is wrong. The words are KEDA's.
    pub fn check(&self) -> Result<(), String> {
        let endpoints = &self.hashi_corp_vault.allowed_endpoints;
        match endpoints.iter().find(|endpoint| !is_origin(endpoint)) {
            None => Ok(()),
            Some(_) => Err(
                "invalid KEDA_OUTBOUND_FILTER.hashiCorpVault.allowedEndpoints entry: expected an HTTP(S) origin without user information"
                    .to_owned(),
            ),
        }
    }
}

impl VaultFilter {
    /// Whether the operator may sign in to a Vault server at this address.
    pub fn verdict(&self, address: &str) -> Verdict {
        if self.mode == FilterMode::Off {
            return Verdict::Allowed;
        }
        let origin = origin(address);
        // KEDA: default ports are not filled in.
        let is_allowed = |endpoint: &String| origin.is_some() && self::origin(endpoint) == origin;
        if self.allowed_endpoints.iter().any(is_allowed) {
            return Verdict::Allowed;
        }
        let shown = origin.unwrap_or_else(|| "which is not a URL".to_owned());
        let problem = format!("vault endpoint {shown:?} is not in the configured allowlist (KEDA_OUTBOUND_FILTER)");
        match self.mode {
            FilterMode::Off | FilterMode::Warn => Verdict::AllowedWithWarning(problem),
            FilterMode::Enforce if self.allowed_endpoints.is_empty() => Verdict::Denied(
                "no outbound endpoint allowlist is configured in enforce mode (KEDA_OUTBOUND_FILTER)".to_owned(),
            ),
            FilterMode::Enforce => Verdict::Denied(problem),
        }
    }
}

/// Whether a text is an origin and nothing else.
fn is_origin(text: &str) -> bool {
    let tail = text.split_once("://").and_then(|(_, rest)| rest.split_once(['/', '?', '#']).map(|(_, tail)| tail));
    let has_tail = tail.is_some_and(|tail| !tail.is_empty()) || text.ends_with(['?', '#']);
    origin(text).is_some() && !has_tail && !text.contains('*') && text.trim() == text
}

/// The scheme and the host with its port, in lower case.
fn origin(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let host = rest.split(['/', '?', '#']).next()?.to_ascii_lowercase();
    let is_usable = matches!(scheme.as_str(), "http" | "https") && !host.contains('@');
    let has_host = !host.is_empty() && !host.starts_with(':');
    (is_usable && has_host).then(|| format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(mode: FilterMode, allowed: &[&str]) -> OutboundFilter {
        let allowed_endpoints = allowed.iter().map(|endpoint| (*endpoint).to_owned()).collect();
        OutboundFilter { hashi_corp_vault: VaultFilter { mode, allowed_endpoints } }
    }

    #[test]
    fn only_origins_are_allowed_endpoints() {
        let rows = [
            ("https://vault.example:8200", true),
            ("HTTP://vault/", true),
            ("https://vault/v1", false),
            ("https://vault?x", false),
            ("https://vault#", false),
            ("https://me@vault", false),
            ("https://*.example", false),
            (" https://vault", false),
            ("ftp://vault", false),
            ("https://:8200", false),
            ("vault", false),
            ("", false),
        ];
        for (endpoint, expected) in rows {
            assert_eq!(filter(FilterMode::Enforce, &[endpoint]).check().is_ok(), expected, "{endpoint}");
        }
    }

    #[test]
    fn an_address_is_used_if_its_origin_is_listed() {
        let listed = filter(FilterMode::Enforce, &["https://Vault.example:8200"]).hashi_corp_vault;
        for allowed in ["https://vault.example:8200", "HTTPS://VAULT.example:8200/v1/x?y"] {
            assert_eq!(listed.verdict(allowed), Verdict::Allowed, "{allowed}");
        }
        let others =
            ["http://vault.example:8200", "https://vault.example", "https://me@vault.example:8200", "vault", ""];
        for other in others {
            assert!(matches!(listed.verdict(other), Verdict::Denied(text) if text.contains("allowlist")), "{other}");
        }
        let warned = VaultFilter { mode: FilterMode::Warn, ..listed.clone() };
        assert!(matches!(warned.verdict(others[0]), Verdict::AllowedWithWarning(_)));
        assert_eq!(VaultFilter { mode: FilterMode::Off, ..listed }.verdict(others[0]), Verdict::Allowed);
        let empty = filter(FilterMode::Enforce, &[]).hashi_corp_vault;
        assert!(
            matches!(empty.verdict("https://vault"), Verdict::Denied(text) if text.contains("no outbound endpoint"))
        );
    }
}
