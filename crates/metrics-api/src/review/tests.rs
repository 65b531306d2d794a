//! ReviewCache with a reviewer that fails a given number of times, in virtual time.

use std::collections::VecDeque;
use std::sync::Mutex;

use k8s_openapi::api::authentication::v1::UserInfo;
use tokio::time::{Instant, advance};

use super::*;

/// Fails as listed, then allows everything.
#[derive(Default)]
struct Scripted {
    failures: Mutex<VecDeque<ReviewError>>,
    reviews: Mutex<usize>,
}

impl Scripted {
    fn failing(failures: impl IntoIterator<Item = ReviewError>) -> Arc<Self> {
        Arc::new(Self { failures: Mutex::new(failures.into_iter().collect()), reviews: Mutex::default() })
    }

    fn reviews(&self) -> usize {
        *self.reviews.lock().expect("not poisoned")
    }

    fn response<T: Send + 'static>(&self, response: T) -> ReviewFuture<'_, T> {
        *self.reviews.lock().expect("not poisoned") += 1;
        let failure = self.failures.lock().expect("not poisoned").pop_front();
        Box::pin(async { failure.map_or(Ok(response), Err) })
    }
}

impl Reviewer for Scripted {
    fn token_review<'a>(&'a self, token: &'a BearerToken) -> ReviewFuture<'a, TokenReviewStatus> {
        let user = UserInfo { username: Some(token.expose().to_owned()), ..UserInfo::default() };
        self.response(TokenReviewStatus { authenticated: Some(true), user: Some(user), ..TokenReviewStatus::default() })
    }

    fn subject_access_review<'a>(
        &'a self,
        _spec: &'a SubjectAccessReviewSpec,
    ) -> ReviewFuture<'a, SubjectAccessReviewStatus> {
        self.response(SubjectAccessReviewStatus { allowed: true, ..SubjectAccessReviewStatus::default() })
    }
}

fn reviews(reviewer: &Arc<Scripted>) -> Arc<ReviewCache> {
    Arc::new(ReviewCache::new(reviewer.clone(), &Settings::default()))
}

fn lost() -> ReviewError {
    ReviewError::Unreachable("connection reset".to_owned())
}

fn review_spec(user: &str) -> SubjectAccessReviewSpec {
    SubjectAccessReviewSpec { user: Some(user.to_owned()), ..SubjectAccessReviewSpec::default() }
}

fn token(text: &str) -> BearerToken {
    BearerToken::parse(&format!("Bearer {text}")).expect("a token")
}

#[tokio::test(start_paused = true)]
async fn a_review_that_does_not_arrive_is_retried() {
    let reviewer = Scripted::failing([lost(), lost()]);
    let started_at = Instant::now();
    assert_eq!(reviews(&reviewer).access(&review_spec("ann")).await, Ok(AccessVerdict::Allowed));
    assert_eq!((reviewer.reviews(), started_at.elapsed()), (3, Duration::from_millis(600)));
}

#[tokio::test(start_paused = true)]
async fn a_question_is_not_reviews_for_ever_and_failures_are_not_remembered() {
    let reviewer = Scripted::failing([lost(), lost(), lost()]);
    let reviews = reviews(&reviewer);
    assert_eq!(reviews.access(&review_spec("ann")).await, Err(lost()));
    assert_eq!(reviews.access(&review_spec("ann")).await, Ok(AccessVerdict::Allowed));
    assert_eq!(reviewer.reviews(), 4);
}

#[tokio::test(start_paused = true)]
async fn callers_with_the_same_question_wait_for_one_review() {
    let reviewer = Scripted::failing([lost()]);
    let reviews = reviews(&reviewer);
    let impatient = timeout(Duration::from_millis(1), reviews.access(&review_spec("ann"))).await;
    assert!(impatient.is_err(), "the first caller does not wait");
    let callers = (0..16).map(|_| async { reviews.access(&review_spec("ann")).await });
    let verdicts = futures::future::join_all(callers).await;
    assert!(verdicts.iter().all(|verdict| *verdict == Ok(AccessVerdict::Allowed)), "{verdicts:?}");
    assert_eq!(reviewer.reviews(), 2, "one that was lost, and one that was retried");
    assert!(reviews.under_way().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_review_that_hangs_is_given_up() {
    struct Silent;
    impl Reviewer for Silent {
        fn token_review<'a>(&'a self, _: &'a BearerToken) -> ReviewFuture<'a, TokenReviewStatus> {
            Box::pin(std::future::pending())
        }
        fn subject_access_review<'a>(
            &'a self,
            _: &'a SubjectAccessReviewSpec,
        ) -> ReviewFuture<'a, SubjectAccessReviewStatus> {
            Box::pin(std::future::pending())
        }
    }
    let reviews = Arc::new(ReviewCache::new(Arc::new(Silent), &Settings::default()));
    let verdict = reviews.access(&review_spec("ann")).await;
    assert_eq!(verdict, Err(ReviewError::Unreachable("no answer within 10s".to_owned())));
    assert!(reviews.under_way().is_empty(), "the next caller starts another");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_final() {
    let refusal = ReviewError::Refused("forbidden".to_owned());
    let reviewer = Scripted::failing([refusal.clone()]);
    assert_eq!(reviews(&reviewer).token(&token("t")).await, Err(refusal));
    assert_eq!(reviewer.reviews(), 1);
}

#[tokio::test(start_paused = true)]
async fn verdicts_live_ten_seconds_and_belong_to_their_review() {
    let reviewer = Scripted::failing([]);
    let reviews = reviews(&reviewer);
    for (wait, expected) in [(0, 2), (9, 2), (1, 4), (0, 4)] {
        advance(Duration::from_secs(wait)).await;
        assert_eq!(reviews.access(&review_spec("ann")).await, Ok(AccessVerdict::Allowed));
        let identity = reviews.token(&token("ann")).await.expect("a verdict").expect("an identity");
        assert_eq!(identity.user, "ann");
        assert_eq!(reviewer.reviews(), expected);
    }
    reviews.access(&review_spec("bob")).await.expect("a verdict");
    let identity = reviews.token(&token("bob")).await.expect("a verdict").expect("an identity");
    assert_eq!((identity.user.as_str(), reviewer.reviews()), ("bob", 6));
}

#[tokio::test(start_paused = true)]
async fn verdicts_on_long_attributes_are_not_cached() {
    let reviewer = Scripted::failing([]);
    let reviews = reviews(&reviewer);
    for _ in 0..2 {
        reviews.access(&review_spec(&"x".repeat(CACHED_BYTES_MAX))).await.expect("a verdict");
    }
    assert_eq!(reviewer.reviews(), 2);
}
