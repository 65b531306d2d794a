//! Who calls another server of this process, and where the caller may get a resource: by the same reviews, cached alike.

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::attributes::Attributes;
use crate::authorization::Authorizer;
use crate::bearer_token::BearerToken;
use crate::identity::Identity;
use crate::review::{AccessVerdict, ReviewCache, ReviewError, Reviewer};
use crate::settings::Settings;

/// A caller whose token was reviewed.
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
    reviews: Arc<ReviewCache>,
    authorizer: Authorizer,
}

impl fmt::Debug for CallerAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CallerAccess").finish_non_exhaustive()
    }
}

impl CallerAccess {
    pub fn new(reviewer: Arc<dyn Reviewer>, settings: &Settings) -> Self {
        let reviews = Arc::new(ReviewCache::new(reviewer, settings));
        Self { authorizer: Authorizer::new(reviews.clone()), reviews }
    }

    /// The caller, by its bearer token; none without a valid one.
    pub async fn identify(&self, headers: &HeaderMap) -> Result<Option<Caller>, ReviewError> {
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some(token) = shown.and_then(BearerToken::parse) else { return Ok(None) };
        let known = self.reviews.token(&token).await?;
        Ok(known.map(Identity::marked_authenticated).map(Caller))
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
