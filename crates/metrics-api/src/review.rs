//! TokenReviews and SubjectAccessReviews at the API server. `ReviewCache` caches the verdicts for a short time, limits concurrent
//! reviews, and retries failed connections; [`KubeReviewer`] sends them.

mod kube_reviewer;

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use k8s_openapi::api::authentication::v1::TokenReviewStatus;
use k8s_openapi::api::authorization::v1::{SubjectAccessReviewSpec, SubjectAccessReviewStatus};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::bearer_token::BearerToken;
use crate::identity::Identity;
use crate::settings::Settings;
use crate::verdict_cache::{SubjectHash, VerdictCache};

pub use kube_reviewer::KubeReviewer;

/// Pauses before retries. Few and short: an HPA worker waits for the response, and errors are cheaper.
const RETRY_AFTER: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(400)];

/// Verdicts on longer attributes are not cached, as in Kubernetes: they are not repeated.
const CACHED_BYTES_MAX: usize = 10_000;

/// The future of a [`Reviewer`].
pub type ReviewFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ReviewError>> + Send + 'a>>;

/// Sends reviews of callers.
pub trait Reviewer: Send + Sync + 'static {
    /// Sends a TokenReview.
    fn token_review<'a>(&'a self, token: &'a BearerToken) -> ReviewFuture<'a, TokenReviewStatus>;

    /// Sends a SubjectAccessReview.
    fn subject_access_review<'a>(
        &'a self,
        spec: &'a SubjectAccessReviewSpec,
    ) -> ReviewFuture<'a, SubjectAccessReviewStatus>;
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    /// The API server was unreachable or overloaded: worth a retry.
    #[error("{0}")]
    Unreachable(String),
    /// The API server rejected the review.
    #[error("{0}")]
    Refused(String),
}

/// The verdict on the access of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessVerdict {
    Allowed,
    Denied { because: String },
}

/// A review of access that several callers wait for.
type SharedReview = Shared<BoxFuture<'static, Result<AccessVerdict, ReviewError>>>;

pub(crate) struct ReviewCache {
    reviewer: Arc<dyn Reviewer>,
    open: Semaphore,
    tokens: VerdictCache<SubjectHash, Option<Identity>>,
    access: VerdictCache<SubjectHash, AccessVerdict>,
    /// The reviews of access that have not ended: callers with the same question wait for one review.
    under_way: Mutex<HashMap<SubjectHash, SharedReview>>,
    /// How long a review of access may take.
    limit: Duration,
}

impl ReviewCache {
    pub(crate) fn new(reviewer: Arc<dyn Reviewer>, settings: &Settings) -> Self {
        Self {
            reviewer,
            open: Semaphore::new(settings.reviews_max),
            tokens: VerdictCache::new(settings.review_ttl, settings.verdicts_max),
            access: VerdictCache::new(settings.review_ttl, settings.verdicts_max),
            under_way: Mutex::default(),
            limit: settings.request_limit,
        }
    }

    /// Whose token this is; `None` when it was rejected.
    pub(crate) async fn token(&self, token: &BearerToken) -> Result<Option<Identity>, ReviewError> {
        let key = SubjectHash::digest(token.expose().as_bytes());
        if let Some(verdict) = self.tokens.get(&key) {
            return Ok(verdict);
        }
        let status = self.review_with_retry(|| self.reviewer.token_review(token)).await?;
        let known = status.authenticated.unwrap_or_default().then_some(status.user).flatten();
        let verdict = known.map(Identity::from).filter(|identity| !identity.user.is_empty());
        self.tokens.put(key, verdict.clone());
        Ok(verdict)
    }

    pub(crate) async fn access(self: &Arc<Self>, spec: &SubjectAccessReviewSpec) -> Result<AccessVerdict, ReviewError> {
        let text = serde_json::to_vec(spec).expect("the spec of a review is plain data");
        if text.len() > CACHED_BYTES_MAX {
            return self.review_access(spec).await;
        }
        let key = SubjectHash::digest(&text);
        if let Some(verdict) = self.access.get(&key) {
            return Ok(verdict);
        }
        let review = self.under_way().entry(key).or_insert_with(|| self.start_review(key, spec.clone())).clone();
        review.await
    }

    /// Reviews access in a task of its own: the review ends, and others get its verdict, though the first caller may be gone.
    fn start_review(self: &Arc<Self>, key: SubjectHash, spec: SubjectAccessReviewSpec) -> SharedReview {
        let reviews = self.clone();
        let review = tokio::spawn(async move {
            let late = || ReviewError::Unreachable(format!("no answer within {:?}", reviews.limit));
            let verdict = timeout(reviews.limit, reviews.review_access(&spec)).await.unwrap_or_else(|_| Err(late()));
            if let Ok(verdict) = &verdict {
                reviews.access.put(key, verdict.clone());
            }
            reviews.under_way().remove(&key);
            verdict
        });
        let reviews = self.clone();
        let ended = review.map(move |ended| {
            ended.unwrap_or_else(|error| {
                reviews.under_way().remove(&key);
                Err(ReviewError::Refused(format!("the review ended abnormally: {error}")))
            })
        });
        ended.boxed().shared()
    }

    async fn review_access(&self, spec: &SubjectAccessReviewSpec) -> Result<AccessVerdict, ReviewError> {
        let status = self.review_with_retry(|| self.reviewer.subject_access_review(spec)).await?;
        Ok(match status.allowed && !status.denied.unwrap_or_default() {
            true => AccessVerdict::Allowed,
            false => AccessVerdict::Denied { because: status.reason.unwrap_or_default() },
        })
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<SubjectHash, SharedReview>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a review, and retries while the API server is unreachable.
    async fn review_with_retry<'a, T>(&'a self, review: impl Fn() -> ReviewFuture<'a, T>) -> Result<T, ReviewError> {
        let _permit = self.open.acquire().await.expect("the semaphore is never closed");
        for pause in RETRY_AFTER {
            match review().await {
                Err(ReviewError::Unreachable(error)) => {
                    tracing::debug!(error, retry_in = ?pause, "review did not reach the API server; retrying");
                    sleep(pause).await;
                }
                answered => return answered,
            }
        }
        review().await
    }
}

impl fmt::Debug for ReviewCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReviewCache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
