//! Cloud identities and their credentials: `aws`, `azure` and `gcp` define the identities of each cloud and how credentials
//! are fetched for them; `token` caches credentials until they expire. Triggers with the same identity share one `Signer`.

pub(crate) mod aws;
pub(crate) mod azure;
pub(crate) mod gcp;
pub(crate) mod token;
mod token_client;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use chrono::{DateTime, Utc};
use http::header::{self, HeaderValue};
use kedge_core::outbound_policy::{IdentityProvider, OutboundPolicy};

use crate::error::ReadError;
use crate::http::{Call, HttpClients};
use crate::scaler::BoxFuture;
use crate::trigger::{FieldError, Secret};
use aws::AwsIdentity;
use azure::AzureIdentity;
use gcp::GcpIdentity;
use token::{Expiring, Renewing};
use token_client::TokenClient;

/// An identity at a cloud, and what it is used for. Equal values share credentials.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CloudIdentity {
    Aws(AwsIdentity),
    Azure(AzureIdentity),
    Gcp(GcpIdentity),
}

impl CloudIdentity {
    fn name(&self) -> &'static str {
        match self {
            Self::Aws(_) => "aws",
            Self::Azure(_) => "azure-workload",
            Self::Gcp(_) => "gcp",
        }
    }

    /// The identity, if the policy lets the namespace use it with the host. Credentials that the trigger brings along are its own affair.
    pub(crate) fn permitted(self, policy: &OutboundPolicy, namespace: &str, host: &str) -> Result<Self, FieldError> {
        let checked = match self.provider_of_operator() {
            Some(provider) => policy.check_identity(provider, namespace, host),
            None => Ok(()),
        };
        match checked {
            Ok(()) => Ok(self),
            Err(denial) => {
                let remedy = "use credentials of your own, or let the administrator grant the identity in that policy";
                Err(FieldError::new("podIdentity", format!("cannot be used: {denial}"), remedy))
            }
        }
    }

    /// The provider, if the identity is that of the operator.
    fn provider_of_operator(&self) -> Option<IdentityProvider> {
        match self {
            Self::Aws(identity) => identity.is_of_operator().then_some(IdentityProvider::Aws),
            Self::Azure(_) => Some(IdentityProvider::AzureWorkload),
            Self::Gcp(identity) => identity.is_of_operator().then_some(IdentityProvider::Gcp),
        }
    }

    /// The identity that signs the request for the credentials of this one.
    fn base(&self) -> Option<Self> {
        match self {
            Self::Aws(identity) => identity.base().map(Self::Aws),
            Self::Azure(_) | Self::Gcp(_) => None,
        }
    }
}

/// What authenticates an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Credential {
    Bearer(Secret),
    Aws(aws::Credentials),
}

/// The signers in use.
#[derive(Debug, Default)]
pub(crate) struct Signers {
    known: Mutex<HashMap<CloudIdentity, Arc<Signer>>>,
    token_client: OnceLock<TokenClient>,
}

impl Signers {
    /// The signer for an identity: the one in use, or a new one. No request is sent yet.
    pub(crate) fn signer(&self, identity: &CloudIdentity, clients: &HttpClients) -> Result<Arc<Signer>, FieldError> {
        let base = identity.base().map(|base| self.signer(&base, clients)).transpose()?;
        let client = self.token_client(clients)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signer) = known.get(identity) {
            return Ok(Arc::clone(signer));
        }
        // Credentials change: signers that no scaler holds any more are dropped when a new one is added.
        known.retain(|_, signer| Arc::strong_count(signer) > 1);
        let signer = Arc::new(Signer { identity: identity.clone(), base, client, credential: Renewing::default() });
        known.insert(identity.clone(), Arc::clone(&signer));
        Ok(signer)
    }

    fn token_client(&self, clients: &HttpClients) -> Result<TokenClient, FieldError> {
        if let Some(client) = self.token_client.get() {
            return Ok(client.clone());
        }
        let client = TokenClient::new(clients)?;
        Ok(self.token_client.get_or_init(|| client).clone())
    }
}

/// Signs requests as one identity, with credentials that are renewed before they expire.
#[derive(Debug)]
pub(crate) struct Signer {
    identity: CloudIdentity,
    base: Option<Arc<Signer>>,
    client: TokenClient,
    credential: Renewing<Credential>,
}

impl Signer {
    /// Signs the call.
    pub(crate) async fn sign(&self, call: &mut Call, now: DateTime<Utc>) -> Result<(), ReadError> {
        let signed = match (self.credential(now).await?, &self.identity) {
            (Credential::Bearer(token), _) => sign_with_token(call, &token),
            (Credential::Aws(credentials), CloudIdentity::Aws(identity)) => identity.sign(call, &credentials, now),
            (Credential::Aws(_), _) => Err("these credentials are of another cloud".to_owned()),
        };
        signed.map_err(|problem| self.failure(problem))
    }

    /// The query of a URL that carries its signature: a GET of the root of a host.
    pub(crate) async fn presign(
        &self,
        host: &str,
        parameters: &[(&str, &str)],
        now: DateTime<Utc>,
    ) -> Result<String, ReadError> {
        match (self.credential(now).await?, &self.identity) {
            (Credential::Aws(credentials), CloudIdentity::Aws(identity)) => {
                Ok(identity.presign(host, parameters, &credentials, now))
            }
            _ => Err(self.failure("these credentials are of another cloud".to_owned())),
        }
    }

    /// The token itself, for services that take it in place of a password.
    pub(crate) async fn token(&self, now: DateTime<Utc>) -> Result<Secret, ReadError> {
        match self.credential(now).await? {
            Credential::Bearer(token) => Ok(token),
            Credential::Aws(_) => Err(self.failure("these credentials are of another cloud".to_owned())),
        }
    }

    /// The cached credential while it is fresh, else a new one. One deadline covers fetching and waiting for others to fetch.
    async fn credential(&self, now: DateTime<Utc>) -> Result<Credential, ReadError> {
        let limit = self.client.limit;
        match tokio::time::timeout(limit, self.credential.get(now, self.fetch(now))).await {
            Ok(outcome) => outcome.map_err(|problem| self.failure(problem)),
            Err(_) => Err(self.failure(format!("no credentials were given within {limit:?}"))),
        }
    }

    /// Boxed, because an identity may depend on another one.
    fn fetch(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<Expiring<Credential>, String>> {
        Box::pin(async move {
            match &self.identity {
                CloudIdentity::Azure(identity) => Ok(identity.fetch(&self.client, now).await?.map(Credential::Bearer)),
                CloudIdentity::Gcp(identity) => Ok(identity.fetch(&self.client, now).await?.map(Credential::Bearer)),
                CloudIdentity::Aws(identity) => {
                    Ok(identity.fetch(&self.client, self.fetch_base(now), now).await?.map(Credential::Aws))
                }
            }
        })
    }

    async fn fetch_base(&self, now: DateTime<Utc>) -> Result<aws::Credentials, String> {
        let base = self.base.as_ref().ok_or("there is no identity that could assume the role")?;
        match base.credential.get(now, base.fetch(now)).await? {
            Credential::Aws(credentials) => Ok(credentials),
            Credential::Bearer(_) => Err("these credentials are of another cloud".to_owned()),
        }
    }

    fn failure(&self, problem: String) -> ReadError {
        ReadError::NoCredentials { identity: self.identity.name(), problem }
    }
}

fn sign_with_token(call: &mut Call, token: &Secret) -> Result<(), String> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.reveal()))
        .map_err(|_| "the token has characters that no header can have".to_owned())?;
    value.set_sensitive(true);
    call.set_header(header::AUTHORIZATION, value);
    Ok(())
}
