//! Violations of TriggerAuthentications and ClusterTriggerAuthentications.

use super::*;
use crate::rules::authentication::{Scope, check};

fn validate(spec: Value) -> Vec<Violation> {
    check(&serde_json::from_value(spec).unwrap(), Scope::Namespace)
}

#[test]
fn identities_are_complete_or_absent() {
    let azure = |fields: Value| {
        let mut identity = json!({ "provider": "azure-workload" });
        identity.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({ "podIdentity": identity })
    };
    let host = "https://login.example.com";
    let rows: Vec<(&str, Value, &[&str])> = vec![
        ("nothing", json!({}), &[]),
        ("none", json!({ "podIdentity": { "provider": "none" } }), &[]),
        ("azure", azure(json!({})), &[]),
        ("azure, an empty id", azure(json!({ "identityId": "" })), &["invalid-azure-identity"]),
        (
            "azure, an authority without a tenant",
            azure(json!({ "identityAuthorityHost": host })),
            &["invalid-azure-identity"],
        ),
        (
            "azure, an authority with an empty tenant",
            azure(json!({ "identityAuthorityHost": host, "identityTenantId": "" })),
            &["invalid-azure-identity"],
        ),
        ("azure, an empty tenant", azure(json!({ "identityTenantId": "" })), &["invalid-azure-identity"]),
        (
            "azure, everything empty",
            azure(json!({ "identityId": "", "identityTenantId": "", "identityAuthorityHost": "" })),
            &["invalid-azure-identity", "invalid-azure-identity"],
        ),
        (
            "azure, complete",
            azure(json!({ "identityId": "me", "identityTenantId": "us", "identityAuthorityHost": host })),
            &[],
        ),
        ("aws", json!({ "podIdentity": { "provider": "aws", "identityOwner": "workload" } }), &[]),
        (
            "aws, two owners",
            json!({ "podIdentity": { "provider": "aws", "roleArn": "arn:x", "identityOwner": "workload" } }),
            &["conflicting-aws-role"],
        ),
        (
            "aws, an id for no role",
            json!({ "podIdentity": { "provider": "aws", "externalID": "me" } }),
            &["aws-external-id-without-role"],
        ),
        ("aws, complete", json!({ "podIdentity": { "provider": "aws", "externalID": "me", "roleArn": "arn:x" } }), &[]),
        (
            "another provider is not validated",
            json!({ "podIdentity": { "provider": "gcp", "externalID": "me", "identityId": "" } }),
            &[],
        ),
        ("a file", json!({ "filePath": "prom.json" }), &["cluster-only-file-path"]),
    ];
    for (name, spec, expected) in rows {
        assert_eq!(ids(&validate(spec)), expected, "{name}");
    }
    let cluster_wide = serde_json::from_value(json!({ "filePath": "prom.json" })).unwrap();
    assert_eq!(ids(&check(&cluster_wide, Scope::Cluster)), [""; 0]);
}

#[test]
fn a_service_principal_signs_in_by_one_of_two_ways() {
    let from = json!({ "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } });
    let principal = |fields: &[(&str, Value)]| {
        let mut principal = json!({ "clientId": "me", "tenantId": "us" });
        for (key, value) in fields {
            principal[*key] = value.clone();
        }
        json!({ "azureServicePrincipal": principal, "podIdentity": { "provider": "gcp" } })
    };
    let secret = || ("clientSecret", from.clone());
    let certificate = || ("clientCertificate", from.clone());
    let rows: [(&str, Value, &[&str]); 11] = [
        ("by secret", principal(&[secret()]), &[]),
        ("by certificate", principal(&[certificate(), ("clientCertificatePassword", from.clone())]), &[]),
        ("by both", principal(&[secret(), certificate()]), &["clientSecret"]),
        ("by none", principal(&[]), &["clientSecret"]),
        (
            "a password for nothing",
            principal(&[secret(), ("clientCertificatePassword", from.clone())]),
            &["clientCertificatePassword"],
        ),
        ("no tenant", principal(&[secret(), ("tenantId", json!(""))]), &["tenantId"]),
        ("no client", principal(&[secret(), ("clientId", json!(""))]), &["clientId"]),
        (
            "private without an address",
            principal(&[secret(), ("cloud", json!("private"))]),
            &["activeDirectoryEndpoint"],
        ),
        (
            "private with one",
            principal(&[secret(), ("cloud", json!("Private")), ("activeDirectoryEndpoint", json!("https://x"))]),
            &[],
        ),
        (
            "an address of a public cloud",
            principal(&[secret(), ("activeDirectoryEndpoint", json!("https://x"))]),
            &["activeDirectoryEndpoint"],
        ),
        (
            "everything",
            principal(&[("tenantId", json!("")), ("clientId", json!("")), ("cloud", json!("PRIVATE"))]),
            &["tenantId", "clientId", "clientSecret", "activeDirectoryEndpoint"],
        ),
    ];
    for (name, spec, expected) in rows {
        let found = validate(spec);
        let fields: Vec<_> =
            found.iter().map(|one| one.path.to_string().replace("spec.azureServicePrincipal.", "")).collect();
        assert_eq!(fields, expected, "{name}");
        assert!(found.iter().all(|one| one.rule.id == "invalid-service-principal"), "{name}");
    }
}

#[test]
fn oauth2_is_checked_unless_another_identity_is_given() {
    let oauth2 = |client: &str, url: &str| json!({ "type": "clientCredentials", "clientId": client, "tokenUrl": url });
    let bad = || oauth2("", "login");
    let beside = |provider: &str| json!({ "oauth2": bad(), "podIdentity": { "provider": provider } });
    let rows: [(&str, Value, usize); 6] = [
        ("complete", json!({ "oauth2": oauth2("me", "https://login/token") }), 0),
        ("neither", json!({ "oauth2": bad() }), 2),
        ("beside azure", beside("azure-workload"), 2),
        ("beside aws", beside("aws"), 2),
        ("beside gcp", beside("gcp"), 0),
        ("beside none", beside("none"), 0),
    ];
    for (name, spec, expected) in rows {
        assert_eq!(validate(spec).len(), expected, "{name}");
    }
}
