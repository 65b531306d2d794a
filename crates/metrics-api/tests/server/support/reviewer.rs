//! A reviewer that knows one token, lets everyone in but `bob`, lets `carol` read single metrics only, and counts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use k8s_openapi::api::authentication::v1::{TokenReviewStatus, UserInfo};
use k8s_openapi::api::authorization::v1::{SubjectAccessReviewSpec, SubjectAccessReviewStatus};
use kedge_metrics_api::authentication::BearerToken;
use kedge_metrics_api::review::{ReviewError, ReviewFuture, Reviewer};

#[derive(Default)]
pub(crate) struct TestReviewer {
    pub(crate) token_reviews: AtomicUsize,
    /// Every SubjectAccessReview.
    pub(crate) access: Mutex<Vec<SubjectAccessReviewSpec>>,
    /// Whether questions about access are refused.
    pub(crate) failing: AtomicBool,
    /// Whether SubjectAccessReviews hang.
    pub(crate) hanging: AtomicBool,
}

impl TestReviewer {
    pub(crate) const GOOD_TOKEN: &str = "good-token";

    pub(crate) fn access_count(&self) -> usize {
        self.access.lock().expect("not poisoned").len()
    }

    /// The last SubjectAccessReview.
    pub(crate) fn last_access(&self) -> SubjectAccessReviewSpec {
        self.access.lock().expect("not poisoned").last().cloned().expect("a SubjectAccessReview")
    }

    async fn review_access(&self, spec: &SubjectAccessReviewSpec) -> Result<SubjectAccessReviewStatus, ReviewError> {
        self.access.lock().expect("not poisoned").push(spec.clone());
        if self.hanging.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        if self.failing.load(Ordering::SeqCst) {
            return Err(ReviewError::Refused("subjectaccessreviews is forbidden".to_owned()));
        }
        let is_for_all =
            spec.resource_attributes.as_ref().is_some_and(|wanted| wanted.resource.as_deref() == Some("*"));
        let allowed = match spec.user.as_deref() {
            Some("bob") => false,
            Some("carol") => !is_for_all,
            _ => true,
        };
        Ok(SubjectAccessReviewStatus { allowed, ..SubjectAccessReviewStatus::default() })
    }
}

impl Reviewer for TestReviewer {
    fn token_review<'a>(&'a self, token: &'a BearerToken) -> ReviewFuture<'a, TokenReviewStatus> {
        self.token_reviews.fetch_add(1, Ordering::SeqCst);
        let authenticated = token.expose() == Self::GOOD_TOKEN;
        let user = authenticated.then(|| UserInfo {
            username: Some("system:serviceaccount:monitoring:prometheus".to_owned()),
            groups: Some(vec!["system:serviceaccounts".to_owned()]),
            ..UserInfo::default()
        });
        let status = TokenReviewStatus { authenticated: Some(authenticated), user, ..TokenReviewStatus::default() };
        Box::pin(async { Ok(status) })
    }

    fn subject_access_review<'a>(
        &'a self,
        spec: &'a SubjectAccessReviewSpec,
    ) -> ReviewFuture<'a, SubjectAccessReviewStatus> {
        Box::pin(self.review_access(spec))
    }
}
