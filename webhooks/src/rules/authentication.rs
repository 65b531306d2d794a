//! `TriggerAuthentication` and `ClusterTriggerAuthentication`: identities. `oauth2` has a file of its own.

use kedge_api::authentication::{
    AzureServicePrincipal, IdentityOwner, PodIdentity, PodIdentityProvider, TriggerAuthenticationSpec,
};

use super::oauth2;
use crate::finding::{FieldPath, Finding, Rule, Severity};

pub static SERVICE_PRINCIPAL_WRONG: Rule = Rule {
    id: "service-principal-wrong",
    severity: Severity::Error,
    about: "azureServicePrincipal lacks something, or has two things that exclude each other",
    counted_as: None,
};

pub static AZURE_IDENTITY_EMPTY: Rule = Rule {
    id: "azure-identity-empty",
    severity: Severity::Error,
    about: "an azure-workload identity has an empty identityId or identityTenantId, or an authority without a tenant",
    counted_as: None,
};

pub static AWS_ROLE_NOT_OURS: Rule = Rule {
    id: "aws-role-of-workload",
    severity: Severity::Error,
    about: "an aws identity names a role, although it is that of the workload",
    counted_as: None,
};

pub static AWS_EXTERNAL_ID_ALONE: Rule = Rule {
    id: "aws-external-id-alone",
    severity: Severity::Error,
    about: "an aws identity has an externalID, but no role to give it for",
    counted_as: None,
};

pub static FILE_PATH_NAMESPACED: Rule = Rule {
    id: "file-path-namespaced",
    severity: Severity::Warning,
    about: "filePath stands in a TriggerAuthentication, and only a ClusterTriggerAuthentication may have one",
    counted_as: None,
};

/// Who may use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Namespace,
    Cluster,
}

pub fn check(spec: &TriggerAuthenticationSpec, reach: Reach) -> Vec<Finding> {
    let mut findings: Vec<Finding> = spec.azure_service_principal.iter().flat_map(check_service_principal).collect();
    findings.extend(spec.pod_identity.iter().flat_map(check_identity));
    let provider = spec.pod_identity.as_ref().map(|identity| identity.provider);
    // KEDA: beside an identity of another kind, oauth2 is not looked at.
    if matches!(provider, None | Some(PodIdentityProvider::AzureWorkload | PodIdentityProvider::Aws)) {
        findings.extend(spec.oauth2.iter().flat_map(oauth2::check));
    }
    if reach == Reach::Namespace && is_given(&spec.file_path) {
        let problem = "filePath is only for a ClusterTriggerAuthentication: triggers that use this one will not work";
        let path = FieldPath::of("spec.filePath");
        findings.push(Finding::new(
            &FILE_PATH_NAMESPACED,
            path,
            problem,
            "use a ClusterTriggerAuthentication, or secretTargetRef",
        ));
    }
    findings
}

fn check_identity(identity: &PodIdentity) -> Vec<Finding> {
    match identity.provider {
        PodIdentityProvider::AzureWorkload => check_azure(identity),
        PodIdentityProvider::Aws => check_aws(identity),
        PodIdentityProvider::Gcp | PodIdentityProvider::AwsEks | PodIdentityProvider::None => Vec::new(),
    }
}

fn check_azure(identity: &PodIdentity) -> Vec<Finding> {
    let note = |field: &str, problem: &str, remedy: &str| {
        Finding::new(&AZURE_IDENTITY_EMPTY, FieldPath::of("spec.podIdentity").key(field), problem, remedy)
    };
    let is_empty = |text: &Option<String>| text.as_deref() == Some("");
    let mut findings = Vec::new();
    if is_empty(&identity.identity_id) {
        findings.push(note(
            "identityId",
            "identityId of PodIdentity should not be empty. If it's set, identityId has to be different than \"\"",
            "give the client id of the identity, or leave it out",
        ));
    }
    if is_given(&identity.identity_authority_host) {
        if !is_given(&identity.identity_tenant_id) {
            findings.push(note(
                "identityTenantId",
                "identityTenantID of PodIdentity should not be nil or empty when identityAuthorityHost of PodIdentity is set",
                "give the tenant of the identity",
            ));
        }
    } else if is_empty(&identity.identity_tenant_id) {
        findings.push(note(
            "identityTenantId",
            "identityTenantId of PodIdentity should not be empty. If it's set, identityTenantId has to be different than \"\"",
            "give the tenant of the identity, or leave it out",
        ));
    }
    findings
}

fn check_aws(identity: &PodIdentity) -> Vec<Finding> {
    let path = |field: &str| FieldPath::of("spec.podIdentity").key(field);
    let mut findings = Vec::new();
    if is_given(&identity.role_arn) && identity.identity_owner == Some(IdentityOwner::Workload) {
        let problem = "roleArn of PodIdentity can't be set if KEDA isn't identityOwner";
        let remedy = "leave out roleArn, or identityOwner workload";
        findings.push(Finding::new(&AWS_ROLE_NOT_OURS, path("roleArn"), problem, remedy));
    }
    if is_given(&identity.external_id) && !is_given(&identity.role_arn) {
        let problem = "externalID of PodIdentity requires roleArn to be set";
        findings.push(Finding::new(&AWS_EXTERNAL_ID_ALONE, path("externalID"), problem, "give the role to assume"));
    }
    findings
}

fn check_service_principal(principal: &AzureServicePrincipal) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut note = |field: &str, problem: &str, remedy: &str| {
        let problem = format!("{field} of azureServicePrincipal {problem}");
        let path = FieldPath::of("spec.azureServicePrincipal").key(field);
        findings.push(Finding::new(&SERVICE_PRINCIPAL_WRONG, path, problem, remedy));
    };
    if principal.tenant_id.is_empty() {
        note("tenantId", "must not be empty", "give the tenant of the service principal");
    }
    if principal.client_id.is_empty() {
        note("clientId", "must not be empty", "give the client id of the service principal");
    }
    match (&principal.client_secret, &principal.client_certificate) {
        (Some(_), Some(_)) => note("clientSecret", "excludes clientCertificate", "keep one of the two"),
        (None, None) => note("clientSecret", "or clientCertificate must be given", "give one of the two"),
        _ => {}
    }
    if principal.client_certificate_password.is_some() && principal.client_certificate.is_none() {
        note("clientCertificatePassword", "needs clientCertificate", "give the certificate, or leave the password out");
    }
    let is_private = principal.cloud.as_deref().is_some_and(|cloud| cloud.eq_ignore_ascii_case("private"));
    match (is_private, is_given(&principal.active_directory_endpoint)) {
        (true, false) => note("activeDirectoryEndpoint", "is required when cloud is Private", "say where to sign in"),
        (false, true) => {
            note("activeDirectoryEndpoint", "is only for the cloud Private", "leave it out, or set cloud to Private")
        }
        _ => {}
    }
    findings
}

fn is_given(text: &Option<String>) -> bool {
    text.as_deref().is_some_and(|text| !text.is_empty())
}
