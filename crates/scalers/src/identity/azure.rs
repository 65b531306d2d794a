//! Azure: the federated token of the operator's service account, exchanged for a token of the identity.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use kedge_api::authentication::PodIdentity;

use super::token::{self, Expiring};
use super::token_client::{TokenClient, read_file};
use crate::cloud_environment::CloudEnvironment;
use crate::trigger::{FieldError, Secret};

// What Azure's own libraries assume.
const AUTHORITY: &str = "https://login.microsoftonline.com/";

/// An identity at Azure, and the scope of its tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AzureIdentity {
    client_id: String,
    tenant_id: String,
    authority: String,
    token_file: PathBuf,
    scope: String,
}

/// The identity of pod identity `azure-workload`.
pub(crate) fn parse(
    identity: &PodIdentity,
    cloud_environment: &CloudEnvironment,
    scope: String,
) -> Result<AzureIdentity, FieldError> {
    if identity.identity_id.as_deref().is_some_and(|id| id.trim().is_empty()) {
        return Err(FieldError::new("podIdentity", "has an empty identityId", "give a client id, or drop identityId"));
    }
    let given = |own: &Option<String>| own.as_deref().map(str::trim).filter(|own| !own.is_empty()).map(str::to_owned);
    let of = |variable| cloud_environment.get(variable).map(str::to_owned).ok_or_else(|| missing(variable));
    let client_id = given(&identity.identity_id).map_or_else(|| of("AZURE_CLIENT_ID"), Ok)?;
    let tenant_id = given(&identity.identity_tenant_id).map_or_else(|| of("AZURE_TENANT_ID"), Ok)?;
    // It becomes a part of the path of the token endpoint.
    if !tenant_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte)) {
        let remedy = "give the id or the domain of the tenant";
        return Err(FieldError::new("podIdentity", "has an identityTenantId that is no tenant", remedy));
    }
    Ok(AzureIdentity {
        client_id,
        tenant_id,
        // KEDA: identityAuthorityHost is not passed on.
        authority: cloud_environment.get("AZURE_AUTHORITY_HOST").unwrap_or(AUTHORITY).to_owned(),
        token_file: PathBuf::from(of("AZURE_FEDERATED_TOKEN_FILE")?),
        scope,
    })
}

fn missing(variable: &str) -> FieldError {
    FieldError::new(
        "podIdentity",
        format!("azure-workload cannot be used: the operator has no variable {variable}"),
        "label the operator's pod azure.workload.identity/use=true, with the webhook of Azure workload identity installed",
    )
}

impl AzureIdentity {
    pub(super) async fn fetch(&self, client: &TokenClient, now: DateTime<Utc>) -> Result<Expiring<Secret>, String> {
        // The file is replaced every hour or so.
        let assertion = read_file(&self.token_file).await?;
        let url = format!("{}/{}/oauth2/v2.0/token", self.authority.trim_end_matches('/'), self.tenant_id);
        let fields = [
            ("grant_type", "client_credentials"),
            ("client_id", &self.client_id),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", assertion.trim()),
            ("scope", &self.scope),
        ];
        let body = client.send(&client.form(&url, &fields)?).await?;
        token::parse_token_response(&body, now)
    }
}

#[cfg(test)]
mod tests {
    use kedge_api::authentication::PodIdentityProvider;

    use super::*;
    use crate::sample::pod_identity;

    fn cloud_environment() -> CloudEnvironment {
        let all = [("AZURE_CLIENT_ID", "own"), ("AZURE_TENANT_ID", "home"), ("AZURE_FEDERATED_TOKEN_FILE", "/token")];
        all.into_iter().collect()
    }

    #[test]
    fn the_operators_identity_is_used_where_no_other_is_named() {
        let own = pod_identity(PodIdentityProvider::AzureWorkload);
        let other = PodIdentity {
            identity_id: Some("other".to_owned()),
            identity_tenant_id: Some("abroad".to_owned()),
            ..own.clone()
        };
        for (identity, expected) in [(own, ("own", "home")), (other, ("other", "abroad"))] {
            let identity = parse(&identity, &cloud_environment(), "s".to_owned()).unwrap();
            assert_eq!((identity.client_id.as_str(), identity.tenant_id.as_str()), expected);
            assert_eq!(identity.authority, AUTHORITY);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let own = pod_identity(PodIdentityProvider::AzureWorkload);
        let problem = parse(&own, &CloudEnvironment::default(), String::new()).unwrap_err().to_string();
        assert!(problem.contains("AZURE_CLIENT_ID"), "{problem}");
        let empty = PodIdentity { identity_id: Some(String::new()), ..own.clone() };
        let problem = parse(&empty, &cloud_environment(), String::new()).unwrap_err().to_string();
        assert!(problem.contains("identityId"), "{problem}");
        let elsewhere = PodIdentity { identity_tenant_id: Some("../evil?".to_owned()), ..own };
        let problem = parse(&elsewhere, &cloud_environment(), String::new()).unwrap_err().to_string();
        assert!(problem.contains("identityTenantId"), "{problem}");
    }
}
