//! Tokens of service accounts, requested when they are needed.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kedge_core::credentials::{CredentialError, Reference, ReferenceKind};
use kedge_core::secret::Secret;
use kube::api::{Api, PostParams};
use tracing::warn;

use super::read::why;
use super::{Resolution, jwt};

impl Resolution<'_> {
    /// A token of a service account. It is requested again before it expires.
    pub(super) async fn token(
        &mut self,
        namespace: &str,
        name: &str,
        place: String,
    ) -> Result<Secret, CredentialError> {
        let account = Reference::new(ReferenceKind::ServiceAccount, namespace, name);
        if !account.can_exist() {
            return Err(CredentialError::Missing { reference: account, place });
        }
        let unreadable = |problem| CredentialError::Unreadable { what: format!("a token of {account}"), problem };
        let settings = &self.credentials.settings;
        let audience = settings.token_policy.requested_audience(namespace, name).map_err(|problem| {
            let remedy = "list the account there with its audience, or set --service-account-token-mode=legacy";
            CredentialError::invalid(&place, problem, remedy)
        })?;
        if audience.is_none() {
            warn!(%account, place, "requesting a token whose audience is not restricted");
        }
        let lifetime = settings.token_lifetime;
        let api: Api<ServiceAccount> = Api::namespaced(self.credentials.client.clone(), namespace);
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX)),
                audiences: audience.map(|audience| vec![audience.to_owned()]),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        match api.create_token_request(name, &PostParams::default(), &request).await {
            Ok(response) => {
                // The API server may grant less than was requested.
                let seconds = response.spec.and_then(|spec| u64::try_from(spec.expiration_seconds?).ok());
                self.refresh_before(seconds.map_or(lifetime, Duration::from_secs));
                let token = response.status.and_then(|status| status.token).filter(|token| !token.is_empty());
                let token = token.map(Secret::new).ok_or_else(|| unreadable("the API server gave none".to_owned()))?;
                if let Some(audience) = audience {
                    jwt::check(&token, &[audience]).map_err(unreadable)?;
                }
                Ok(token)
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {
                self.reads.note_missing(&account);
                Err(CredentialError::Missing { reference: account, place })
            }
            Err(error) => Err(unreadable(why(&error))),
        }
    }
}
