//! Authenticates callers. The first step that identifies the caller wins: the requestheader front proxy, a client certificate, a
//! bearer token. A caller without credentials is anonymous; one with rejected credentials only gets a 401.
//!
//! | module | what it holds |
//! |---|---|
//! | `config` | the trust configuration that kube-apiserver publishes |
//! | `trust` | the same, fetched and kept fresh |
//! | `front_proxy` | the headers by which the front proxy names the caller |
//! | `certificate` | chains of client certificates, and the names inside |

mod certificate;
mod config;
mod front_proxy;
mod trust;

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use kedge_serving::ClientChain;
use rustls::time_provider::TimeProvider;

use crate::identity::Identity;
use crate::review::{ReviewCache, ReviewError};
use crate::settings::Settings;
use crate::verdict_cache::VerdictCache;
use certificate::{CaPool, Subject};
use config::FrontProxyConfig;

pub use crate::bearer_token::BearerToken;
pub use config::{ConfigError, TrustConfig};
pub use trust::{CONFIG_MAP, CONFIG_NAMESPACE, Trust, TrustError};

/// Why a step rejected what was presented. The reason is logged; the caller only receives a 401.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthenticationError {
    #[error("the client certificate is not trusted: {0}")]
    Certificate(#[from] rustls::Error),
    #[error("the subject of the client certificate cannot be read")]
    Subject,
    #[error("{0:?} is not among the names of the front proxy")]
    FrontProxyName(String),
    #[error("the header {0} is not text")]
    Header(String),
    #[error("the token was rejected")]
    Token,
    #[error("the token could not be reviewed: {0}")]
    Review(#[from] ReviewError),
}

#[derive(Debug)]
pub(crate) struct Authenticator {
    trust: Trust,
    reviews: Arc<ReviewCache>,
    wall_clock: Arc<dyn TimeProvider>,
    /// The chains that were verified, for a short time: to verify one costs more than the rest of a request.
    verified: VerdictCache<ConnectionTrust, Verified>,
}

/// The chain of a connection and the CAs that verified it, by their addresses: both live as long as the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ConnectionTrust {
    chain: usize,
    ca: usize,
}

/// A chain that was verified.
#[derive(Clone, Debug)]
struct Verified {
    subject: Subject,
    _chain: ClientChain,
    _ca: CaPool,
}

impl Authenticator {
    pub(crate) fn new(trust: Trust, reviews: Arc<ReviewCache>, settings: &Settings) -> Self {
        let verified = VerdictCache::new(settings.review_ttl, settings.verdicts_max);
        Self { trust, reviews, wall_clock: settings.wall_clock.clone(), verified }
    }

    /// Identifies the caller, or returns why each step rejected what was presented.
    pub(crate) async fn authenticate(
        &self,
        chain: &ClientChain,
        headers: &HeaderMap,
    ) -> Result<Identity, Vec<AuthenticationError>> {
        let mut disbelief = Vec::new();
        let mut note = |step: Result<Option<Identity>, AuthenticationError>| match step {
            Ok(identity) => identity,
            Err(reason) => {
                disbelief.push(reason);
                None
            }
        };
        let config = self.trust.current();
        let mut found = config.front_proxy.as_ref().and_then(|proxy| note(self.by_front_proxy(proxy, chain, headers)));
        if found.is_none() {
            found = config.client_ca.as_ref().and_then(|ca| note(self.by_certificate(ca, chain)));
        }
        if found.is_none() {
            found = note(self.by_token(headers).await);
        }
        match found {
            Some(identity) => Ok(identity.marked_authenticated()),
            None if disbelief.is_empty() => Ok(Identity::anonymous()),
            None => Err(disbelief),
        }
    }

    /// Believes the headers only from a peer that proved to be the front proxy: anyone can write them.
    fn by_front_proxy(
        &self,
        proxy: &FrontProxyConfig,
        chain: &ClientChain,
        headers: &HeaderMap,
    ) -> Result<Option<Identity>, AuthenticationError> {
        let Some(subject) = self.verify(&proxy.ca, chain)? else { return Ok(None) };
        if !proxy.allows(&subject.common_name) {
            return Err(AuthenticationError::FrontProxyName(subject.common_name));
        }
        proxy.identify(headers)
    }

    fn by_certificate(&self, ca: &CaPool, chain: &ClientChain) -> Result<Option<Identity>, AuthenticationError> {
        let subject = self.verify(ca, chain)?.filter(|subject| !subject.common_name.is_empty());
        Ok(subject.map(|Subject { common_name, organizations }| Identity {
            user: common_name,
            groups: organizations,
            ..Identity::default()
        }))
    }

    /// Verifies the chain of a connection, if there is one: again after a while, since a connection outlives certificates and CAs.
    fn verify(&self, ca: &CaPool, chain: &ClientChain) -> Result<Option<Subject>, AuthenticationError> {
        let [leaf, intermediates @ ..] = &**chain else { return Ok(None) };
        let key = ConnectionTrust { chain: chain.as_ptr().addr(), ca: ca.addr() };
        if let Some(verified) = self.verified.get(&key) {
            return Ok(Some(verified.subject));
        }
        let now = self.wall_clock.current_time().ok_or(rustls::Error::FailedToGetCurrentTime)?;
        ca.verify(leaf, intermediates, now)?;
        let subject = Subject::parse(leaf).ok_or(AuthenticationError::Subject)?;
        self.verified.put(key, Verified { subject: subject.clone(), _chain: chain.clone(), _ca: ca.clone() });
        Ok(Some(subject))
    }

    async fn by_token(&self, headers: &HeaderMap) -> Result<Option<Identity>, AuthenticationError> {
        let Some(token) = find_token(headers)? else { return Ok(None) };
        self.reviews.token(&token).await?.ok_or(AuthenticationError::Token).map(Some)
    }
}

/// Finds the bearer token among the headers.
fn find_token(headers: &HeaderMap) -> Result<Option<BearerToken>, AuthenticationError> {
    let Some(value) = headers.get(AUTHORIZATION) else { return Ok(None) };
    let text = value.to_str().map_err(|_| AuthenticationError::Header(AUTHORIZATION.to_string()))?;
    Ok(BearerToken::parse(text))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_header_that_is_not_text_is_rejected_not_ignored() {
        let mut headers = HeaderMap::new();
        assert!(find_token(&headers).expect("text").is_none());
        headers.insert(AUTHORIZATION, HeaderValue::from_bytes(b"Bearer \xff").expect("a header"));
        let error = find_token(&headers).expect_err("must not pass");
        assert_eq!(error.to_string(), "the header authorization is not text");
    }
}
