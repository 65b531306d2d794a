//! HashiCorp Vault.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A Vault server, how to authenticate to it, and what to read from it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct HashiCorpVault {
    /// The address of the server, e.g. `https://vault.example.com:8200`.
    pub address: String,

    /// The authentication method: token, or kubernetes (which needs mount and role).
    pub authentication: VaultAuthentication,

    /// The Vault namespace, if the server has several.
    pub namespace: Option<String>,

    /// kubernetes only: the Vault role to authenticate as.
    pub role: Option<String>,

    /// kubernetes only: the path where the kubernetes auth method is mounted in Vault.
    pub mount: Option<String>,

    /// The credential to authenticate with. Unset with kubernetes: the operator's own token.
    pub credential: Option<VaultCredential>,

    /// The values to read. At least one.
    #[schemars(length(min = 1))]
    pub secrets: Vec<VaultSecret>,
}

/// The authentication methods of Vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "lowercase")]
pub enum VaultAuthentication {
    Token,
    Kubernetes,
}

/// The credential to authenticate to Vault with.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct VaultCredential {
    /// token only: the token, in plain text; every reader of this object can use it. The operator's VAULT_TOKEN overrides it.
    pub token: Option<String>,

    /// kubernetes only: the path, in the operator's pod, of a service account token file.
    pub service_account: Option<String>,

    /// kubernetes only: a service account in the namespace of the scaled object to request a token for; overrides serviceAccount.
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

    /// The engine: secret (key-value version 1), secretV2 (version 2), pki, or empty to detect it from the response.
    pub r#type: Option<VaultSecretType>,

    /// pki only: the certificate to request.
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

/// The certificate to request from Vault's PKI engine.
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

    /// How long the certificate is valid, e.g. 24h.
    pub ttl: Option<String>,

    /// The format of the response: pem, der or pem_bundle.
    pub format: Option<String>,
}
