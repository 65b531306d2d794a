//! Identities that a cloud gives to pods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// An identity of the cloud provider that a trigger authenticates with.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "camelCase")]
pub struct PodIdentity {
    /// The provider of the identity: azure-workload, gcp, aws, aws-eks (deprecated: use aws), or none.
    pub provider: PodIdentityProvider,

    /// azure-workload: the client id of the identity, if not the operator's own. Must not be empty when given.
    pub identity_id: Option<String>,

    /// azure-workload: the tenant of the identity, if not the operator's own.
    pub identity_tenant_id: Option<String>,

    /// azure-workload: the authority to request tokens from, if not the default one. Needs identityTenantId.
    pub identity_authority_host: Option<String>,

    /// aws: the role to assume. Not together with identityOwner workload.
    pub role_arn: Option<String>,

    /// aws: the external id to send when assuming roleArn.
    #[serde(rename = "externalID")]
    pub external_id: Option<String>,

    /// aws: whose identity to use: the operator's (keda, the default) or that of the scaled workload (workload).
    pub identity_owner: Option<IdentityOwner>,
}

/// The clouds whose identities can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "kebab-case")]
pub enum PodIdentityProvider {
    AzureWorkload,
    Gcp,
    Aws,
    AwsEks,
    #[serde(alias = "")]
    None,
}

/// Whose identity is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "lowercase")]
pub enum IdentityOwner {
    #[serde(alias = "")]
    Keda,
    Workload,
}
