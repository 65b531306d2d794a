//! As whom a managed Prometheus is asked: Amazon's wants a signature, Azure's and Google's want a token.

use kedge_api::authentication::{PodIdentity, PodIdentityProvider};

use crate::auth::Auth;
use crate::identity::{Ambient, Persona, aws, azure, gcp};
use crate::metadata::{Reader, convert};
use crate::trigger::{FieldError, TriggerConfig};
use crate::trigger_type::{Field, FieldGroup};

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

/// The identity that the trigger asks for, if it asks for one.
pub(super) fn parse(
    read: &mut Reader<'_>,
    trigger: &TriggerConfig<'_>,
    auth: Option<&Auth>,
    ambient: &Ambient,
) -> Option<Persona> {
    let identity = trigger.pod_identity.filter(|identity| identity.provider != PodIdentityProvider::None);
    // KEDA: with authModes, no cloud is asked.
    if auth.is_some() {
        if let Some(identity) = identity {
            let problem = format!("cannot be used together with pod identity {}", name(identity.provider));
            read.error(FieldError::new("authModes", problem, "keep one of the two"));
        }
        return None;
    }
    // KEDA: AWS, where it is asked for, replaces the others.
    if let Some(persona) = aws::parse(read, trigger, ambient, AWS_SERVICE) {
        return Some(Persona::Aws(persona));
    }
    if let Some(identity) = identity.filter(|identity| identity.provider == PodIdentityProvider::AzureWorkload) {
        return parse_azure(read, identity, ambient).map(Persona::Azure);
    }
    gcp::parse(read, trigger, GCP_SCOPE).map(Persona::Gcp)
}

fn parse_azure(read: &mut Reader<'_>, identity: &PodIdentity, ambient: &Ambient) -> Option<azure::Persona> {
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
    let persona = azure::parse(identity, ambient, scope);
    read.take(persona)
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
