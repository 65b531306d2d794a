//! HashiCorp Vault.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A Vault server, how to sign in to it, and what to read from it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct HashiCorpVault {
    /// The address of the server, e.g. `https://vault.example.com:8200`.
    pub address: String,

    /// How to sign in: token, or kubernetes (which needs mount and role).
    pub authentication: VaultAuthentication,

    /// The Vault namespace, if the server has several.
    pub namespace: Option<String>,

    /// kubernetes only: the Vault role to sign in as.
    pub role: Option<String>,

    /// kubernetes only: the path where this sign-in method is mounted in Vault.
    pub mount: Option<String>,

    /// What to sign in with. Unset with kubernetes: the operator's own token.
    pub credential: Option<VaultCredential>,

    /// The values to read. At least one.
    #[schemars(length(min = 1))]
    pub secrets: Vec<VaultSecret>,
}

/// The ways to sign in to Vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "lowercase")]
pub enum VaultAuthentication {
    Token,
    Kubernetes,
}

/// What to sign in to Vault with.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct VaultCredential {
    /// token only: the token, in plain text; whoever may read this object can use it. The operator's VAULT_TOKEN wins over it.
    pub token: Option<String>,

    /// kubernetes only: the path, in the operator's pod, of a service account token file.
    pub service_account: Option<String>,

    /// kubernetes only: a service account in the namespace of the scaled object to ask a token for; wins over serviceAccount.
    pub service_account_name: Option<String>,
}

/// One parameter taken from Vault.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct VaultSecret {
    /// The parameter of the trigger that gets the value.
    pub parameter: String,

    /// The path of the secret; for version 2 of the key-value engine it contains data/ after the mount.
    pub path: String,

    /// The key within the secret.
    pub key: String,

    /// The engine: secret (key-value version 1), secretV2 (version 2), pki, or empty to find out from the answer.
    pub r#type: Option<VaultSecretType>,

    /// pki only: the certificate to ask for.
    pub pki_data: Option<VaultPkiData>,
}

/// The engines a Vault secret can come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum VaultSecretType {
    #[serde(rename = "")]
    Detect,
    #[serde(rename = "secretV2")]
    KeyValueV2,
    #[serde(rename = "secret")]
    KeyValueV1,
    #[serde(rename = "pki")]
    Pki,
}

/// The certificate to ask Vault's PKI engine for.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct VaultPkiData {
    /// The common name of the certificate.
    pub common_name: Option<String>,

    /// Alternative DNS names and e-mail addresses, separated by commas.
    pub alt_names: Option<String>,

    /// Alternative IP addresses, separated by commas.
    pub ip_sans: Option<String>,

    /// Alternative URIs, separated by commas.
    pub uri_sans: Option<String>,

    /// Other alternative names, in Vault's OID form, separated by commas.
    pub other_sans: Option<String>,

    /// How long the certificate shall be valid, e.g. 24h.
    pub ttl: Option<String>,

    /// The form of the answer: pem, der or pem_bundle.
    pub format: Option<String>,
}
