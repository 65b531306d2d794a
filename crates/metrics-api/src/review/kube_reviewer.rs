//! ReviewCache over a Kubernetes client.

use std::fmt;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use k8s_openapi::api::authorization::v1::{SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus};
use kube::api::{Api, PostParams};

use super::{ReviewError, ReviewFuture, Reviewer};
use crate::bearer_token::BearerToken;

/// Asks the API server. The client's account needs what the ClusterRole `system:auth-delegator` grants.
#[derive(Clone)]
pub struct KubeReviewer {
    client: kube::Client,
}

impl KubeReviewer {
    pub fn new(client: kube::Client) -> Self {
        Self { client }
    }

    async fn review_token(&self, token: &BearerToken) -> Result<TokenReviewStatus, ReviewError> {
        let spec = TokenReviewSpec { token: token.expose().to_owned(), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let response = Api::all(self.client.clone()).create(&PostParams::default(), &review).await;
        response.map_err(classify)?.status.ok_or_else(no_status)
    }

    async fn review_access(&self, spec: &SubjectAccessReviewSpec) -> Result<SubjectAccessReviewStatus, ReviewError> {
        let review = SubjectAccessReview { spec: spec.clone(), ..SubjectAccessReview::default() };
        let response = Api::all(self.client.clone()).create(&PostParams::default(), &review).await;
        response.map_err(classify)?.status.ok_or_else(no_status)
    }
}

impl Reviewer for KubeReviewer {
    fn token_review<'a>(&'a self, token: &'a BearerToken) -> ReviewFuture<'a, TokenReviewStatus> {
        Box::pin(self.review_token(token))
    }

    fn subject_access_review<'a>(
        &'a self,
        spec: &'a SubjectAccessReviewSpec,
    ) -> ReviewFuture<'a, SubjectAccessReviewStatus> {
        Box::pin(self.review_access(spec))
    }
}

impl fmt::Debug for KubeReviewer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KubeReviewer").finish_non_exhaustive()
    }
}

fn no_status() -> ReviewError {
    ReviewError::Refused("the API server answered a review without a status".to_owned())
}

/// Retrying helps only where the API server is overloaded or unreachable.
fn classify(error: kube::Error) -> ReviewError {
    match error {
        kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 429 => {
            ReviewError::Refused(status.message)
        }
        kube::Error::Api(status) => ReviewError::Unreachable(status.message),
        error => ReviewError::Unreachable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use bytes::Bytes;
    use http::Response;
    use http_body_util::{BodyExt, Full};
    use serde_json::{Value, json};

    use super::*;
    use crate::fake_cluster;

    /// The path and the body of a review.
    type Question = Arc<Mutex<Option<(String, Value)>>>;

    /// An API server with one response; the request is recorded.
    fn responding(code: u16, response: Value) -> (KubeReviewer, Question) {
        let question = Question::default();
        let kept = question.clone();
        let client = fake_cluster::client(move |request| {
            let (kept, response) = (kept.clone(), response.to_string());
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect().await.expect("a body").to_bytes();
                let body = serde_json::from_slice(&body).expect("JSON");
                *kept.lock().expect("not poisoned") = Some((path, body));
                let response = Full::new(Bytes::from(response)).boxed_unsync();
                Response::builder().status(code).body(response).expect("a response")
            }
        });
        (KubeReviewer::new(client), question)
    }

    fn token() -> BearerToken {
        BearerToken::parse("Bearer secret").expect("a token")
    }

    #[tokio::test]
    async fn a_token_is_sent_for_review() {
        let status = json!({"authenticated": true, "user": {"username": "ann", "groups": ["dev"]}});
        let response = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}, "spec": {"token": ""}, "status": status});
        let (reviewer, question) = responding(201, response);
        let status = reviewer.token_review(&token()).await.expect("a verdict");
        assert_eq!(status.authenticated, Some(true));
        assert_eq!(status.user.expect("a user").username.as_deref(), Some("ann"));
        let (path, body) = question.lock().expect("not poisoned").take().expect("a question");
        assert_eq!(path, "/apis/authentication.k8s.io/v1/tokenreviews");
        assert_eq!((&body["kind"], &body["spec"]), (&json!("TokenReview"), &json!({"token": "secret"})));
    }

    #[tokio::test]
    async fn an_access_is_sent_for_review() {
        let response = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": {}, "status": {"allowed": true}});
        let (reviewer, question) = responding(201, response);
        let spec = SubjectAccessReviewSpec { user: Some("ann".to_owned()), ..SubjectAccessReviewSpec::default() };
        assert!(reviewer.subject_access_review(&spec).await.expect("a verdict").allowed);
        let (path, body) = question.lock().expect("not poisoned").take().expect("a question");
        assert_eq!(path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
        assert_eq!(body["spec"], json!({"user": "ann"}));
    }

    #[tokio::test]
    async fn rejections_differ_from_failures_and_neither_contains_the_token() {
        for (code, is_final) in [(401, true), (403, true), (429, false), (500, false), (503, false)] {
            let response = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": "no", "code": code});
            let (reviewer, _) = responding(code, response);
            let error = reviewer.token_review(&token()).await.expect_err("must not pass");
            assert_eq!(matches!(error, ReviewError::Refused(_)), is_final, "{code}: {error:?}");
            assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        }
    }
}
