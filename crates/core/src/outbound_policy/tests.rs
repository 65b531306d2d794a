use proptest::prelude::*;

use super::*;

fn policy(json: serde_json::Value) -> OutboundPolicy {
    serde_json::from_value(json).unwrap()
}

fn check(policy: &OutboundPolicy, host: &str, address: &str) -> Result<(), Denial> {
    policy.check_host(host)?;
    policy.check_address(host, address.parse().unwrap())
}

#[test]
fn metadata_services_are_denied_by_default_in_every_spelling() {
    let policy = OutboundPolicy::default();
    let denied = [
        ("169.254.169.254", "169.254.169.254"),
        ("[::ffff:169.254.169.254]", "::ffff:169.254.169.254"),
        ("[64:ff9b::a9fe:a9fe]", "64:ff9b::a9fe:a9fe"),
        ("[fe80::1]", "fe80::1"),
        ("[fd00:ec2::254]", "fd00:ec2::254"),
        ("metadata.google.internal", "10.0.0.1"),
        ("Metadata.Google.Internal.", "10.0.0.1"),
        ("rebound.example", "169.254.169.254"),
        ("2852039166", "169.254.169.254"),
    ];
    for (host, address) in denied {
        assert!(check(&policy, host, address).is_err(), "{host} {address}");
    }
    for (host, address) in [("prometheus.monitoring", "10.96.0.10"), ("127.0.0.1", "127.0.0.1"), ("[::1]", "::1")] {
        assert_eq!(check(&policy, host, address), Ok(()), "{host} {address}");
    }
}

#[test]
fn an_allowed_host_or_network_suffices_and_a_denied_one_excludes() {
    let policy = policy(serde_json::json!({
        "allowedHosts": ["*.svc", "prometheus.example"], "allowedCIDRs": ["10.0.0.0/8"],
        "deniedHosts": ["secrets.svc"], "deniedCIDRs": ["10.9.0.0/16"],
    }));
    let rows = [
        ("prometheus.monitoring.svc", "192.0.2.1", None),
        ("prometheus.example", "192.0.2.1", None),
        ("other.example", "10.1.2.3", None),
        ("10.1.2.3", "10.1.2.3", None),
        ("other.example", "192.0.2.1", Some("neither an allowed host")),
        ("192.0.2.1", "192.0.2.1", Some("neither an allowed host")),
        ("secrets.svc", "10.1.2.3", Some("secrets.svc is a denied host")),
        ("prometheus.example", "10.9.1.1", Some("in the network 10.9.0.0/16")),
    ];
    for (host, address, expected) in rows {
        let denial = check(&policy, host, address).err().map(|denial| denial.to_string());
        assert_eq!(denial.is_some(), expected.is_some(), "{host} {address}: {denial:?}");
        let (denial, expected) = (denial.unwrap_or_default(), expected.unwrap_or_default());
        assert!(denial.contains(expected), "{host} {address}: {denial}");
    }
}

#[test]
fn behind_a_proxy_only_what_is_known_to_be_allowed_is_permitted() {
    let lists = policy(serde_json::json!({ "allowedHosts": ["*.example"], "allowedCIDRs": ["10.0.0.0/8"] }));
    for (host, expected) in [("a.example", true), ("other", false), ("10.0.0.1", true), ("192.0.2.1", false)] {
        assert_eq!(lists.check_proxied(host).is_ok(), expected, "{host}");
    }
    for (host, expected) in [("anything", true), ("169.254.169.254", false), ("metadata.google.internal", false)] {
        assert_eq!(OutboundPolicy::default().check_proxied(host).is_ok(), expected, "{host}");
    }
}

#[test]
fn an_identity_is_usable_where_it_is_granted() {
    let granted = policy(serde_json::json!({ "identities": [
        { "provider": "aws", "namespaces": ["shop"], "hosts": ["*.amazonaws.com"] },
        { "provider": "vault", "namespaces": ["*"], "hosts": ["vault.example"] },
    ] }));
    let rows = [
        (IdentityProvider::Aws, "shop", "aps.eu-central-1.amazonaws.com", true),
        (IdentityProvider::Aws, "other", "aps.eu-central-1.amazonaws.com", false),
        (IdentityProvider::Aws, "shop", "evil.example", false),
        (IdentityProvider::Gcp, "shop", "aps.eu-central-1.amazonaws.com", false),
        (IdentityProvider::Vault, "other", "Vault.Example.", true),
        (IdentityProvider::Vault, "other", "vault.evil", false),
    ];
    for (provider, namespace, host, expected) in rows {
        assert_eq!(
            granted.check_identity(provider, namespace, host).is_ok(),
            expected,
            "{provider} {namespace} {host}"
        );
    }
    assert!(OutboundPolicy::default().check_identity(IdentityProvider::Aws, "any", "any").is_ok());
    let none = policy(serde_json::json!({ "identities": [] }));
    assert!(none.check_identity(IdentityProvider::Aws, "any", "any").is_err());
}

#[test]
fn a_policy_that_does_not_hold_together_is_an_error() {
    let rows = [
        (serde_json::json!({ "allowedHost": [] }), "unknown field"),
        (serde_json::json!({ "deniedCIDRs": ["169.254.0.0"] }), "is not a network"),
        (serde_json::json!({ "allowedHosts": ["https://x"] }), "is not a host"),
        (serde_json::json!({ "identities": [{ "provider": "aws", "namespaces": ["a"] }] }), "missing field `hosts`"),
        (serde_json::json!({ "identities": [{ "provider": "aws-eks", "namespaces": [], "hosts": [] }] }), "aws-eks"),
    ];
    for (json, expected) in rows {
        let error = serde_json::from_value::<OutboundPolicy>(json.clone()).unwrap_err().to_string();
        assert!(error.contains(expected), "{json}: {error}");
    }
    let open = policy(serde_json::json!({ "deniedCIDRs": [], "deniedHosts": [] }));
    assert!(check(&open, "169.254.169.254", "169.254.169.254").is_ok(), "an administrator may lift the default");
}

proptest! {
    #[test]
    fn no_name_leads_to_a_denied_address(host in "[a-z0-9.:\\[\\]-]{0,30}", last in any::<u16>()) {
        let address = IpAddr::from([169, 254, (last >> 8) as u8, last as u8]);
        prop_assert!(OutboundPolicy::default().check_address(&host, address).is_err());
    }
}
