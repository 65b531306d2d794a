//! The secret stores of the clouds: Azure Key Vault, Google Secret Manager, AWS Secrets Manager.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{PodIdentity, SecretValue};

/// An Azure Key Vault, how to authenticate to it, and what to read from it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct AzureKeyVault {
    /// The address of the vault, e.g. `https://example.vault.azure.net`.
    pub vault_uri: String,

    /// The values to read. At least one.
    #[schemars(length(min = 1))]
    pub secrets: Vec<AzureKeyVaultSecret>,

    /// Authenticates as an application. Needed unless podIdentity is azure-workload.
    pub credentials: Option<AzureKeyVaultCredentials>,

    /// Authenticates with an identity: azure-workload.
    pub pod_identity: Option<PodIdentity>,

    /// The Azure cloud that the vault is in.
    pub cloud: Option<AzureKeyVaultCloud>,
}

/// One parameter taken from Azure Key Vault.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct AzureKeyVaultSecret {
    /// The parameter of the trigger that gets the value.
    pub parameter: String,

    /// The name of the secret in the vault.
    pub name: String,

    /// The version of the secret. Default: the latest.
    pub version: Option<String>,
}

/// An application that may read the vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct AzureKeyVaultCredentials {
    /// The client id of the application.
    pub client_id: String,

    /// The secret of the application.
    pub client_secret: SecretValue,

    /// The tenant of the application.
    pub tenant_id: String,
}

/// The Azure cloud that a vault is in.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct AzureKeyVaultCloud {
    /// The name of the cloud, e.g. AzurePublicCloud, or Private with the two addresses below.
    pub r#type: String,

    /// Private only: the resource to request tokens for.
    #[serde(rename = "keyVaultResourceURL")]
    pub key_vault_resource_url: Option<String>,

    /// Private only: the Active Directory endpoint to authenticate at.
    pub active_directory_endpoint: Option<String>,
}

/// A service principal of Azure. It authenticates by clientSecret or by clientCertificate.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct AzureServicePrincipal {
    /// The client id of the service principal.
    pub client_id: String,

    /// The tenant of the service principal.
    pub tenant_id: String,

    /// The secret to authenticate with.
    pub client_secret: Option<SecretValue>,

    /// The certificate and its key to authenticate with.
    pub client_certificate: Option<SecretValue>,

    /// The password of the certificate's key, if it has one.
    pub client_certificate_password: Option<SecretValue>,

    /// The name of the Azure cloud. Default AzurePublicCloud.
    pub cloud: Option<String>,

    /// The Active Directory endpoint, if the cloud has no well-known one.
    pub active_directory_endpoint: Option<String>,
}

/// Google Secret Manager: how to authenticate to it, and what to read from it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct GcpSecretManager {
    /// The values to read. At least one.
    #[schemars(length(min = 1))]
    pub secrets: Vec<GcpSecretManagerSecret>,

    /// Authenticates with the key of a service account. Needed unless podIdentity is gcp.
    pub credentials: Option<GcpCredentials>,

    /// Authenticates with an identity: gcp.
    pub pod_identity: Option<PodIdentity>,
}

/// One parameter taken from Google Secret Manager.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct GcpSecretManagerSecret {
    /// The parameter of the trigger that gets the value.
    pub parameter: String,

    /// The id of the secret in the project.
    pub id: String,

    /// The version of the secret. Default: the latest.
    pub version: Option<String>,
}

/// The key of a service account of Google Cloud.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct GcpCredentials {
    /// The key of the service account, as the JSON that Google issues.
    pub client_secret: SecretValue,
}

/// AWS Secrets Manager: how to authenticate to it, and what to read from it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct AwsSecretManager {
    /// The values to read. At least one.
    #[schemars(length(min = 1))]
    pub secrets: Vec<AwsSecretManagerSecret>,

    /// Authenticates with access keys. Needed unless podIdentity is aws.
    pub credentials: Option<AwsCredentials>,

    /// Authenticates with an identity: aws.
    pub pod_identity: Option<PodIdentity>,

    /// The region of the secrets. Default: the operator's own.
    pub region: Option<String>,
}

/// One parameter taken from AWS Secrets Manager.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct AwsSecretManagerSecret {
    /// The parameter of the trigger that gets the value.
    pub parameter: String,

    /// The name or ARN of the secret.
    pub name: String,

    /// The id of the version to read. Default: the current one.
    pub version_id: Option<String>,

    /// The stage of the version to read, e.g. AWSPREVIOUS. Default: AWSCURRENT.
    pub version_stage: Option<String>,

    /// The key within the secret, when its text is a JSON object. Default: the complete text.
    pub secret_key: Option<String>,
}

/// Access keys of AWS.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct AwsCredentials {
    /// The access key id.
    pub access_key: SecretValue,

    /// The secret access key.
    pub access_secret_key: SecretValue,

    /// The session token, for temporary keys.
    pub access_token: Option<SecretValue>,
}
