//! Signing in as somebody that a cloud knows: `aws`, `azure` and `gcp` say who that can be and how it is proved, `token`
//! holds what was given for as long as it is good. Identities are shared: triggers of the same one ask for one token.

mod ambient;
pub(crate) mod aws;
pub(crate) mod azure;
pub(crate) mod gcp;
mod means;
mod token;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use chrono::{DateTime, Utc};
use http::header::{self, HeaderValue};

use crate::error::ReadError;
use crate::http::{Call, HttpClients};
use crate::scaler::BoxFuture;
use crate::trigger::{FieldError, Secret};
pub use ambient::Ambient;
use means::Means;
use token::{Lease, Renewing};

/// Who to be, and for what: all that sets one identity apart from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Persona {
    Aws(aws::Persona),
    Azure(azure::Persona),
    Gcp(gcp::Persona),
}

impl Persona {
    fn name(&self) -> &'static str {
        match self {
            Self::Aws(_) => "aws",
            Self::Azure(_) => "azure-workload",
            Self::Gcp(_) => "gcp",
        }
    }

    /// Who signs when this one asks for its credentials.
    fn base(&self) -> Option<Self> {
        match self {
            Self::Aws(persona) => persona.base().map(Self::Aws),
            Self::Azure(_) | Self::Gcp(_) => None,
        }
    }
}

/// What proves an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Credential {
    Bearer(Secret),
    Aws(aws::Credentials),
}

/// The identities in use.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    known: Mutex<HashMap<Persona, Arc<Identity>>>,
    means: OnceLock<Means>,
}

impl HttpClients {
    /// The identity of a persona: the one in use, or a new one. Nobody is asked yet.
    pub(crate) fn identity(&self, persona: &Persona) -> Result<Arc<Identity>, FieldError> {
        let base = persona.base().map(|base| self.identity(&base)).transpose()?;
        let means = self.means()?;
        let mut known = self.identities.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(identity) = known.get(persona) {
            return Ok(Arc::clone(identity));
        }
        // Credentials come and go: what no scaler holds any more is let go when new ones arrive.
        known.retain(|_, identity| Arc::strong_count(identity) > 1);
        let identity = Arc::new(Identity { persona: persona.clone(), base, means, held: Renewing::default() });
        known.insert(persona.clone(), Arc::clone(&identity));
        Ok(identity)
    }

    fn means(&self) -> Result<Means, FieldError> {
        if let Some(means) = self.identities.means.get() {
            return Ok(means.clone());
        }
        let made = Means::new(self)?;
        Ok(self.identities.means.get_or_init(|| made).clone())
    }
}

/// Somebody whom a cloud knows, with what proves it.
#[derive(Debug)]
pub(crate) struct Identity {
    persona: Persona,
    base: Option<Arc<Identity>>,
    means: Means,
    held: Renewing<Credential>,
}

impl Identity {
    /// Makes the call one of this identity.
    pub(crate) async fn sign(&self, call: &mut Call, now: DateTime<Utc>) -> Result<(), ReadError> {
        let signed = match (self.credential(now).await?, &self.persona) {
            (Credential::Bearer(token), _) => sign_with_token(call, &token),
            (Credential::Aws(credentials), Persona::Aws(persona)) => persona.sign(call, &credentials, now),
            (Credential::Aws(_), _) => Err("these credentials are of another cloud".to_owned()),
        };
        signed.map_err(|problem| self.failure(problem))
    }

    /// What proves the identity now: what is held, or something new. One deadline is over all of it, waiting included.
    async fn credential(&self, now: DateTime<Utc>) -> Result<Credential, ReadError> {
        let limit = self.means.limit;
        match tokio::time::timeout(limit, self.held.get(now, self.fetch(now))).await {
            Ok(outcome) => outcome.map_err(|problem| self.failure(problem)),
            Err(_) => Err(self.failure(format!("nobody gave credentials within {limit:?}"))),
        }
    }

    /// Boxed, because an identity may stand on another one.
    fn fetch(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<Lease<Credential>, String>> {
        Box::pin(async move {
            match &self.persona {
                Persona::Azure(persona) => Ok(persona.fetch(&self.means, now).await?.map(Credential::Bearer)),
                Persona::Gcp(persona) => Ok(persona.fetch(&self.means, now).await?.map(Credential::Bearer)),
                Persona::Aws(persona) => {
                    Ok(persona.fetch(&self.means, self.fetch_base(now), now).await?.map(Credential::Aws))
                }
            }
        })
    }

    async fn fetch_base(&self, now: DateTime<Utc>) -> Result<aws::Credentials, String> {
        let base = self.base.as_ref().ok_or("there is nobody who could assume the role")?;
        match base.held.get(now, base.fetch(now)).await? {
            Credential::Aws(credentials) => Ok(credentials),
            Credential::Bearer(_) => Err("these credentials are of another cloud".to_owned()),
        }
    }

    fn failure(&self, problem: String) -> ReadError {
        ReadError::NoCredentials { identity: self.persona.name(), problem }
    }
}

fn sign_with_token(call: &mut Call, token: &Secret) -> Result<(), String> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.reveal()))
        .map_err(|_| "the token has characters that no header can have".to_owned())?;
    value.set_sensitive(true);
    call.set_header(header::AUTHORIZATION, value);
    Ok(())
}
