//! `TriggerAuthentication` and `ClusterTriggerAuthentication`: how a trigger authenticates to its source.
//!
//! Both kinds share one spec, here; what its larger sections hold is in the modules below.

mod cloud;
mod oauth2;
mod pod_identity;
mod secret_value;
mod vault;

pub use cloud::*;
pub use oauth2::*;
pub use pod_identity::*;
pub use secret_value::*;
pub use vault::*;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Defines where the credentials of triggers come from. Several sources may be given; where two give the same parameter, the one
/// later in this order wins: env, configMapTargetRef, secretTargetRef, hashiCorpVault, azureKeyVault, gcpSecretManager,
/// awsSecretManager, boundServiceAccountToken, oauth2.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[kube(
    group = "keda.sh",
    version = "v1alpha1",
    kind = "TriggerAuthentication",
    doc = "Defines how the triggers of this namespace authenticate to their sources: by credentials or by an identity.",
    shortname = "ta",
    shortname = "triggerauth",
    namespaced,
    status = "TriggerAuthenticationStatus",
    derive = "PartialEq",
    printcolumn(name = "PodIdentity", type_ = "string", json_path = ".spec.podIdentity.provider"),
    printcolumn(name = "Secret", type_ = "string", json_path = ".spec.secretTargetRef[*].name"),
    printcolumn(name = "Env", type_ = "string", json_path = ".spec.env[*].name"),
    printcolumn(name = "VaultAddress", type_ = "string", json_path = ".spec.hashiCorpVault.address"),
    printcolumn(name = "ScaledObjects", type_ = "string", json_path = ".status.scaledobjects", priority = 1),
    printcolumn(name = "ScaledJobs", type_ = "string", json_path = ".status.scaledjobs", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct TriggerAuthenticationSpec {
    /// Authenticates with an identity of the cloud provider instead of a credential.
    pub pod_identity: Option<PodIdentity>,

    /// Parameters taken from Secrets: of this namespace, or of the operator's own for a ClusterTriggerAuthentication.
    pub secret_target_ref: Option<Vec<TargetRef>>,

    /// Parameters taken from ConfigMaps: of this namespace, or of the operator's own for a ClusterTriggerAuthentication.
    pub config_map_target_ref: Option<Vec<TargetRef>>,

    /// Parameters taken from environment variables of the scaled workload.
    pub env: Option<Vec<EnvRef>>,

    /// ClusterTriggerAuthentication only: a JSON file of parameters, as a path below the operator's
    /// --filepath-auth-root-path. All other sources are then ignored.
    pub file_path: Option<String>,

    /// Parameters taken from HashiCorp Vault.
    pub hashi_corp_vault: Option<HashiCorpVault>,

    /// Parameters taken from Azure Key Vault.
    pub azure_key_vault: Option<AzureKeyVault>,

    /// Authenticates to Azure as a service principal, by secret or certificate.
    pub azure_service_principal: Option<AzureServicePrincipal>,

    /// Parameters taken from Google Secret Manager.
    pub gcp_secret_manager: Option<GcpSecretManager>,

    /// Parameters taken from AWS Secrets Manager.
    pub aws_secret_manager: Option<AwsSecretManager>,

    /// Parameters that are short-lived tokens of service accounts.
    pub bound_service_account_token: Option<Vec<BoundServiceAccountToken>>,

    /// Authenticates with OAuth 2.0 client credentials.
    pub oauth2: Option<OAuth2>,
}

/// Defines where the credentials of triggers come from; the same fields as in a TriggerAuthentication.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[kube(
    group = "keda.sh",
    version = "v1alpha1",
    kind = "ClusterTriggerAuthentication",
    doc = "Defines how triggers of any namespace authenticate to their sources: by credentials in the operator's namespace or by an identity.",
    shortname = "cta",
    shortname = "clustertriggerauth",
    status = "TriggerAuthenticationStatus",
    derive = "PartialEq",
    printcolumn(name = "PodIdentity", type_ = "string", json_path = ".spec.podIdentity.provider"),
    printcolumn(name = "Secret", type_ = "string", json_path = ".spec.secretTargetRef[*].name"),
    printcolumn(name = "Env", type_ = "string", json_path = ".spec.env[*].name"),
    printcolumn(name = "FilePath", type_ = "string", json_path = ".spec.filePath"),
    printcolumn(name = "VaultAddress", type_ = "string", json_path = ".spec.hashiCorpVault.address"),
    printcolumn(name = "ScaledObjects", type_ = "string", json_path = ".status.scaledobjects", priority = 1),
    printcolumn(name = "ScaledJobs", type_ = "string", json_path = ".status.scaledjobs", priority = 1)
)]
#[serde(transparent)]
pub struct ClusterTriggerAuthenticationSpec(pub TriggerAuthenticationSpec);

/// One parameter taken from one key of a Secret or ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct TargetRef {
    /// The parameter of the trigger that gets the value.
    pub parameter: String,

    /// The name of the Secret or ConfigMap.
    pub name: String,

    /// The key within it.
    pub key: String,
}

/// One parameter taken from an environment variable of the scaled workload.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct EnvRef {
    /// The parameter of the trigger that gets the value.
    pub parameter: String,

    /// The name of the environment variable.
    pub name: String,

    /// The container that has it. Default: the first one.
    pub container_name: Option<String>,
}

/// One parameter that is a token of a service account, requested when it is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct BoundServiceAccountToken {
    /// The parameter of the trigger that gets the token.
    pub parameter: String,

    /// The service account. The operator must be allowed to create tokens for it.
    pub service_account_name: String,
}

/// Lists the users of these credentials. Only the operator writes it.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct TriggerAuthenticationStatus {
    /// The names of the ScaledObjects that refer to it, separated by commas.
    pub scaledobjects: Option<String>,

    /// The names of the ScaledJobs that refer to it, separated by commas.
    pub scaledjobs: Option<String>,
}
