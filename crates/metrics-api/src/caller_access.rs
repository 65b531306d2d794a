//! Who calls another server of this process, and where the caller may get a resource: by the same reviews, cached alike.

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use kedge_serving::ClientChain;

use crate::attributes::Attributes;
use crate::authentication::{AuthenticationError, Authenticator, Trust};
use crate::authorization::Authorizer;
use crate::identity::Identity;
use crate::review::{AccessVerdict, ReviewCache, ReviewError, Reviewer};
use crate::settings::Settings;

/// A caller that was authenticated.
#[derive(Clone, Debug)]
pub struct Caller(Identity);

impl Caller {
    /// The name of the user.
    pub fn user(&self) -> &str {
        &self.0.user
    }
}

/// A resource of an API group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceName<'a> {
    pub group: &'a str,
    pub version: &'a str,
    pub plural: &'a str,
}

/// Reviews of callers.
pub struct CallerAccess {
    authenticator: Authenticator,
    authorizer: Authorizer,
}

impl fmt::Debug for CallerAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CallerAccess").finish_non_exhaustive()
    }
}

impl CallerAccess {
    pub fn new(reviewer: Arc<dyn Reviewer>, trust: Trust, settings: &Settings) -> Self {
        let reviews = Arc::new(ReviewCache::new(reviewer, settings));
        Self {
            authenticator: Authenticator::new(trust, reviews.clone(), settings),
            authorizer: Authorizer::new(reviews),
        }
    }

    /// The caller, by its client certificate or its bearer token; none without valid ones.
    pub async fn identify(&self, chain: &ClientChain, headers: &HeaderMap) -> Result<Option<Caller>, ReviewError> {
        let disbelief = match self.authenticator.authenticate(chain, headers).await {
            Ok(identity) => return Ok(Some(identity).filter(|known| !known.is_anonymous()).map(Caller)),
            Err(disbelief) => disbelief,
        };
        let reasons: Vec<String> = disbelief.iter().map(ToString::to_string).collect();
        tracing::info!(reasons = reasons.join("; "), "authentication failed");
        let unclear = disbelief.into_iter().find_map(|reason| match reason {
            AuthenticationError::Review(error) => Some(error),
            _ => None,
        });
        unclear.map_or(Ok(None), Err)
    }

    /// Whether the caller may get every object of a resource in a namespace; `None` means all namespaces.
    pub async fn may_get(
        &self,
        caller: &Caller,
        resource: ResourceName<'_>,
        namespace: Option<&str>,
    ) -> Result<bool, ReviewError> {
        let wanted = Attributes::Resource {
            verb: "get".to_owned(),
            group: resource.group.to_owned(),
            version: resource.version.to_owned(),
            namespace: namespace.unwrap_or_default().to_owned(),
            resource: resource.plural.to_owned(),
            subresource: String::new(),
            name: String::new(),
        };
        Ok(self.authorizer.review(&caller.0, &wanted).await? == AccessVerdict::Allowed)
    }
}
