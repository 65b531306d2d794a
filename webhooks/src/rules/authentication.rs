//! The identities of TriggerAuthentications and ClusterTriggerAuthentications. `oauth2` has a module of its own.

use kedge_api::authentication::{
    AzureServicePrincipal, IdentityOwner, PodIdentity, PodIdentityProvider, TriggerAuthenticationSpec,
};

use super::oauth2;
use crate::violation::{FieldPath, Rule, Severity, Violation};

pub static INVALID_SERVICE_PRINCIPAL: Rule = Rule {
    id: "invalid-service-principal",
    severity: Severity::Error,
    about: "azureServicePrincipal lacks a required field, or has two fields that exclude each other",
    counted_as: None,
};

pub static INVALID_AZURE_IDENTITY: Rule = Rule {
    id: "invalid-azure-identity",
    severity: Severity::Error,
    about: "an azure-workload identity has an empty identityId or identityTenantId, or an authority host without a tenant",
    counted_as: None,
};

pub static CONFLICTING_AWS_ROLE: Rule = Rule {
    id: "conflicting-aws-role",
    severity: Severity::Error,
    about: "an aws identity sets roleArn although the workload owns the identity",
    counted_as: None,
};

pub static AWS_EXTERNAL_ID_WITHOUT_ROLE: Rule = Rule {
    id: "aws-external-id-without-role",
    severity: Severity::Error,
    about: "an aws identity has an externalID, but no roleArn",
    counted_as: None,
};

pub static CLUSTER_ONLY_FILE_PATH: Rule = Rule {
    id: "cluster-only-file-path",
    severity: Severity::Warning,
    about: "a TriggerAuthentication has filePath, which only a ClusterTriggerAuthentication may have",
    counted_as: None,
};

/// The scope of an authentication object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Namespace,
    Cluster,
}

pub fn check(spec: &TriggerAuthenticationSpec, scope: Scope) -> Vec<Violation> {
    let mut violations: Vec<Violation> =
        spec.azure_service_principal.iter().flat_map(check_service_principal).collect();
    violations.extend(spec.pod_identity.iter().flat_map(check_identity));
    let provider = spec.pod_identity.as_ref().map(|identity| identity.provider);
    // KEDA: validates oauth2 only beside these identities.
    if matches!(provider, None | Some(PodIdentityProvider::AzureWorkload | PodIdentityProvider::Aws)) {
        violations.extend(spec.oauth2.iter().flat_map(oauth2::check));
    }
    if scope == Scope::Namespace && is_given(&spec.file_path) {
        let problem = "filePath is only for a ClusterTriggerAuthentication: triggers that use this one will not work";
        let path = FieldPath::new("spec.filePath");
        violations.push(Violation::new(
            &CLUSTER_ONLY_FILE_PATH,
            path,
            problem,
            "use a ClusterTriggerAuthentication, or secretTargetRef",
        ));
    }
    violations
}

fn check_identity(identity: &PodIdentity) -> Vec<Violation> {
    match identity.provider {
        PodIdentityProvider::AzureWorkload => check_azure(identity),
        PodIdentityProvider::Aws => check_aws(identity),
        PodIdentityProvider::Gcp | PodIdentityProvider::AwsEks | PodIdentityProvider::None => Vec::new(),
    }
}

fn check_azure(identity: &PodIdentity) -> Vec<Violation> {
    let violation = |field: &str, problem: &str, remedy: &str| {
        Violation::new(&INVALID_AZURE_IDENTITY, FieldPath::new("spec.podIdentity").key(field), problem, remedy)
    };
    let is_empty = |text: &Option<String>| text.as_deref() == Some("");
    let mut violations = Vec::new();
    if is_empty(&identity.identity_id) {
        violations.push(violation(
            "identityId",
            "identityId of PodIdentity should not be empty. If it's set, identityId has to be different than \"\"",
            "give the client id of the identity, or leave it out",
        ));
    }
    if is_given(&identity.identity_authority_host) {
        if !is_given(&identity.identity_tenant_id) {
            violations.push(violation(
                "identityTenantId",
                "identityTenantID of PodIdentity should not be nil or empty when identityAuthorityHost of PodIdentity is set",
                "give the tenant of the identity",
            ));
        }
    } else if is_empty(&identity.identity_tenant_id) {
        violations.push(violation(
            "identityTenantId",
            "identityTenantId of PodIdentity should not be empty. If it's set, identityTenantId has to be different than \"\"",
            "give the tenant of the identity, or leave it out",
        ));
    }
    violations
}

fn check_aws(identity: &PodIdentity) -> Vec<Violation> {
    let path = |field: &str| FieldPath::new("spec.podIdentity").key(field);
    let mut violations = Vec::new();
    if is_given(&identity.role_arn) && identity.identity_owner == Some(IdentityOwner::Workload) {
        let problem = "roleArn of PodIdentity can't be set if KEDA isn't identityOwner";
        let remedy = "leave out roleArn, or identityOwner workload";
        violations.push(Violation::new(&CONFLICTING_AWS_ROLE, path("roleArn"), problem, remedy));
    }
    if is_given(&identity.external_id) && !is_given(&identity.role_arn) {
        let problem = "externalID of PodIdentity requires roleArn to be set";
        violations.push(Violation::new(
            &AWS_EXTERNAL_ID_WITHOUT_ROLE,
            path("externalID"),
            problem,
            "give the role to assume",
        ));
    }
    violations
}

fn check_service_principal(principal: &AzureServicePrincipal) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut report = |field: &str, problem: &str, remedy: &str| {
        let problem = format!("{field} of azureServicePrincipal {problem}");
        let path = FieldPath::new("spec.azureServicePrincipal").key(field);
        violations.push(Violation::new(&INVALID_SERVICE_PRINCIPAL, path, problem, remedy));
    };
    if principal.tenant_id.is_empty() {
        report("tenantId", "must not be empty", "give the tenant of the service principal");
    }
    if principal.client_id.is_empty() {
        report("clientId", "must not be empty", "give the client id of the service principal");
    }
    match (&principal.client_secret, &principal.client_certificate) {
        (Some(_), Some(_)) => report("clientSecret", "excludes clientCertificate", "keep one of the two"),
        (None, None) => report("clientSecret", "or clientCertificate must be given", "give one of the two"),
        _ => {}
    }
    if principal.client_certificate_password.is_some() && principal.client_certificate.is_none() {
        report(
            "clientCertificatePassword",
            "needs clientCertificate",
            "give the certificate, or leave the password out",
        );
    }
    let is_private = principal.cloud.as_deref().is_some_and(|cloud| cloud.eq_ignore_ascii_case("private"));
    match (is_private, is_given(&principal.active_directory_endpoint)) {
        (true, false) => report("activeDirectoryEndpoint", "is required when cloud is Private", "say where to sign in"),
        (false, true) => {
            report("activeDirectoryEndpoint", "is only for the cloud Private", "leave it out, or set cloud to Private")
        }
        _ => {}
    }
    violations
}

fn is_given(text: &Option<String>) -> bool {
    text.as_deref().is_some_and(|text| !text.is_empty())
}
