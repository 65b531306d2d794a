//! The cloud identity that signs requests to a managed Prometheus: a signature for Amazon, a token for Azure and Google.

use kedge_api::authentication::{PodIdentity, PodIdentityProvider};

use crate::auth::Auth;
use crate::cloud_environment::CloudEnvironment;
use crate::field::{Field, FieldGroup};
use crate::identity::azure::AzureIdentity;
use crate::identity::{CloudIdentity, aws, azure, gcp};
use crate::metadata::{Reader, convert};
use crate::trigger::{FieldError, TriggerConfig};

/// The parameters of Azure's managed Prometheus.
pub(super) const AZURE_FIELDS: FieldGroup =
    FieldGroup { title: "Azure, with pod identity azure-workload", fields: &[CLOUD, RESOURCE_URL] };

const CLOUD: Field = Field::optional("cloud")
    .default_of("`AzurePublicCloud`")
    .help("The cloud: `AzurePublicCloud`, `AzureUSGovernmentCloud`, `AzureChinaCloud` or `Private`");
const RESOURCE_URL: Field = Field::optional("azureManagedPrometheusResourceURL")
    .required_if("`cloud` is `Private`")
    .help("The resource that the token is for");

const AWS_SERVICE: &str = "aps";
const GCP_SCOPE: &str = "https://www.googleapis.com/auth/monitoring.read";

/// The identity that the trigger names, if any.
pub(super) fn parse(
    read: &mut Reader<'_>,
    trigger: &TriggerConfig<'_>,
    auth: Option<&Auth>,
    cloud_environment: &CloudEnvironment,
) -> Option<CloudIdentity> {
    let identity = trigger.pod_identity.filter(|identity| identity.provider != PodIdentityProvider::None);
    // KEDA: with authModes, no cloud identity is used.
    if auth.is_some() {
        if let Some(identity) = identity {
            let problem = format!("cannot be used together with pod identity {}", name(identity.provider));
            read.error(FieldError::new("authModes", problem, "keep one of the two"));
        }
        return None;
    }
    // KEDA: AWS, where it is configured, replaces the others.
    if let Some(identity) = aws::parse(read, trigger, cloud_environment, AWS_SERVICE) {
        return Some(CloudIdentity::Aws(identity));
    }
    if let Some(identity) = identity.filter(|identity| identity.provider == PodIdentityProvider::AzureWorkload) {
        return parse_azure(read, identity, cloud_environment).map(CloudIdentity::Azure);
    }
    gcp::parse(read, trigger, GCP_SCOPE).map(CloudIdentity::Gcp)
}

fn parse_azure(
    read: &mut Reader<'_>,
    identity: &PodIdentity,
    cloud_environment: &CloudEnvironment,
) -> Option<AzureIdentity> {
    let cloud = read.text(CLOUD).unwrap_or_default();
    let scope = match cloud.to_ascii_lowercase().as_str() {
        "" | "azurepubliccloud" | "azurecloud" => "https://prometheus.monitor.azure.com/.default".to_owned(),
        "azureusgovernmentcloud" | "azureusgovernment" => "https://prometheus.monitor.azure.us/.default".to_owned(),
        "azurechinacloud" => "https://prometheus.monitor.azure.cn/.default".to_owned(),
        "private" => read.required(RESOURCE_URL, convert::text)?,
        _ => {
            let remedy = "use AzurePublicCloud, AzureUSGovernmentCloud, AzureChinaCloud or Private";
            read.error(FieldError::new("cloud", "is not a cloud that has a managed Prometheus", remedy));
            return None;
        }
    };
    let identity = azure::parse(identity, cloud_environment, scope);
    read.take(identity)
}

/// How a provider is written in a TriggerAuthentication.
fn name(provider: PodIdentityProvider) -> &'static str {
    match provider {
        PodIdentityProvider::AzureWorkload => "azure-workload",
        PodIdentityProvider::Gcp => "gcp",
        PodIdentityProvider::Aws => "aws",
        PodIdentityProvider::AwsEks => "aws-eks",
        PodIdentityProvider::None => "none",
    }
}
