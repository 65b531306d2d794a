//! Requests that are not queries of a source: to the stores of credentials. They use the same connections, trust and limits.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use kedge_core::outbound_policy::{Denial, IdentityProvider};

use super::{Address, Call, HttpClients, TlsProfile, Verification};
use crate::error::ReadError;
use crate::trigger::Secret;

/// Sends such requests. Clones share connections.
#[derive(Clone, Debug)]
pub struct Exchange {
    clients: Arc<HttpClients>,
}

/// How a store is reached, where that differs from sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeOptions {
    /// The only CAs that are trusted, PEM; none means those of the machine.
    pub ca: Option<Secret>,
    /// Client certificate and key, PEM.
    pub identity: Option<(Secret, Secret)>,
    /// Trusts every certificate.
    pub skip_verify: bool,
    pub timeout: Option<Duration>,
}

impl ExchangeOptions {
    fn tls_profile(&self) -> TlsProfile {
        let verification = match (self.skip_verify, &self.ca) {
            (true, _) => Verification::Off,
            (false, Some(_)) => Verification::OnlyGivenCas,
            (false, None) => Verification::Full,
        };
        TlsProfile { verification, ca: self.ca.clone(), identity: self.identity.clone() }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    #[error("the address {0}")]
    Address(&'static str),
    #[error("no connection can be made: {0}")]
    Trust(String),
    #[error(transparent)]
    Request(#[from] ReadError),
    #[error(transparent)]
    Denied(#[from] Denial),
}

impl Exchange {
    pub(crate) fn new(clients: Arc<HttpClients>) -> Self {
        Self { clients }
    }

    /// Checks that the outbound policy lets a namespace use an identity of the operator at a URL.
    pub fn check_identity(&self, provider: IdentityProvider, namespace: &str, url: &str) -> Result<(), ExchangeError> {
        let address = Address::parse(url).map_err(ExchangeError::Address)?;
        let host = address.uri.host().unwrap_or_default();
        Ok(self.clients.settings().outbound_policy.check_identity(provider, namespace, host)?)
    }

    /// The body of a successful answer.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
        options: &ExchangeOptions,
    ) -> Result<Bytes, ExchangeError> {
        let address = Address::parse(url).map_err(ExchangeError::Address)?;
        let client = self.clients.client(&options.tls_profile());
        let client = client.map_err(|problem| ExchangeError::Trust(problem.to_string()))?;
        let limit = self.clients.settings().limit(options.timeout);
        Ok(client.fetch(&Call::new(method, address, headers, body, limit)).await?)
    }
}
