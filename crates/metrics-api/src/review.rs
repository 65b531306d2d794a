//! Questions to the API server about callers: is this token good, may they do this. `Reviews` remembers the verdicts
//! for a short time, bounds the questions, and asks again when a connection fails; [`KubeReviewer`] carries them.

mod cache;
mod kube_reviewer;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::TokenReviewStatus;
use k8s_openapi::api::authorization::v1::{SubjectAccessReviewSpec, SubjectAccessReviewStatus};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::authentication::BearerToken;
use crate::identity::Identity;
use crate::settings::Settings;
use cache::{Key, VerdictCache};

pub use kube_reviewer::KubeReviewer;

/// Pauses before a question is asked again. Few and short: an HPA worker waits for the answer, and errors are cheaper.
const RETRY_AFTER: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(400)];

/// Attributes longer than this are judged but not remembered, as in Kubernetes: nobody asks them twice.
const REMEMBERED_BYTES_MAX: usize = 10_000;

/// The answer of a [`Reviewer`], yet to come.
pub type ReviewFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ReviewError>> + Send + 'a>>;

/// Carries questions about callers to whoever knows.
pub trait Reviewer: Send + Sync + 'static {
    /// Whose token this is, if anyone's.
    fn token_review<'a>(&'a self, token: &'a BearerToken) -> ReviewFuture<'a, TokenReviewStatus>;

    /// Whether a caller may do something.
    fn subject_access_review<'a>(
        &'a self,
        spec: &'a SubjectAccessReviewSpec,
    ) -> ReviewFuture<'a, SubjectAccessReviewStatus>;
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    /// The question did not arrive, or the server was not able to answer it: worth asking again.
    #[error("{0}")]
    Unreachable(String),
    /// The server refused to answer.
    #[error("{0}")]
    Refused(String),
}

/// Whether a caller may do what they ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessVerdict {
    Allowed,
    Denied { because: String },
}

pub(crate) struct Reviews {
    reviewer: Arc<dyn Reviewer>,
    open: Semaphore,
    tokens: VerdictCache<Option<Identity>>,
    access: VerdictCache<AccessVerdict>,
}

impl Reviews {
    pub(crate) fn new(reviewer: Arc<dyn Reviewer>, settings: &Settings) -> Self {
        Self {
            reviewer,
            open: Semaphore::new(settings.reviews_max),
            tokens: VerdictCache::new(settings.review_ttl, settings.verdicts_max),
            access: VerdictCache::new(settings.review_ttl, settings.verdicts_max),
        }
    }

    /// Whose token this is; `None` when it was rejected.
    pub(crate) async fn token(&self, token: &BearerToken) -> Result<Option<Identity>, ReviewError> {
        let key = Key::of(token.expose().as_bytes());
        if let Some(verdict) = self.tokens.get(&key) {
            return Ok(verdict);
        }
        let status = self.ask(|| self.reviewer.token_review(token)).await?;
        let known = status.authenticated.unwrap_or_default().then_some(status.user).flatten();
        let verdict = known.map(Identity::from).filter(|identity| !identity.user.is_empty());
        self.tokens.put(key, verdict.clone());
        Ok(verdict)
    }

    pub(crate) async fn access(&self, spec: &SubjectAccessReviewSpec) -> Result<AccessVerdict, ReviewError> {
        let text = serde_json::to_vec(spec).expect("the spec of a review is plain data");
        let key = (text.len() <= REMEMBERED_BYTES_MAX).then(|| Key::of(&text));
        if let Some(verdict) = key.as_ref().and_then(|key| self.access.get(key)) {
            return Ok(verdict);
        }
        let status = self.ask(|| self.reviewer.subject_access_review(spec)).await?;
        let verdict = if status.allowed && !status.denied.unwrap_or_default() {
            AccessVerdict::Allowed
        } else {
            AccessVerdict::Denied { because: status.reason.unwrap_or_default() }
        };
        if let Some(key) = key {
            self.access.put(key, verdict.clone());
        }
        Ok(verdict)
    }

    /// Asks, and asks again for as long as the question does not arrive.
    async fn ask<'a, T>(&'a self, question: impl Fn() -> ReviewFuture<'a, T>) -> Result<T, ReviewError> {
        let _place = self.open.acquire().await.expect("the semaphore is never closed");
        for pause in RETRY_AFTER {
            match question().await {
                Err(ReviewError::Unreachable(error)) => {
                    tracing::debug!(error, retry_in = ?pause, "a review did not reach the API server");
                    sleep(pause).await;
                }
                answered => return answered,
            }
        }
        question().await
    }
}

impl fmt::Debug for Reviews {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reviews").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
