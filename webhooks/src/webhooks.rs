//! From an HTTP request to its response: decode the review, look up neighbours, apply the rules, respond.
//!
//! Every failure is a response too: 400 for what cannot be decoded, 500 for a panic in a rule.

mod admit;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http::{Method, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use kedge_scalers::http::connector::Connector;
use kedge_scalers::{NoCluster, Registry, Settings};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::index::Index;
use crate::lookups::{Failure, Lookups};
use crate::review::{Review, ReviewResponse, Verdict};
use crate::routes::{self, Route};
use crate::telemetry::Telemetry;

/// The longest body of a review.
// KEDA: the same.
const BODY_BYTES_MAX: usize = 7 * 1024 * 1024;

/// The bytes of all bodies that are held at once. What comes beyond that waits.
const BODY_BYTES_TOTAL: usize = 64 * 1024 * 1024;

/// How long a client may take to send a body, waits included. The API server itself waits ten seconds.
const BODY_LIMIT: Duration = Duration::from_secs(10);

/// How long a review waits for the index to sync. The API server itself waits ten seconds.
const INDEX_LIMIT: Duration = Duration::from_secs(5);

/// The webhooks.
#[allow(missing_debug_implementations)] // `Lookups` has none
pub struct Webhooks {
    index: Arc<Index>,
    lookups: Arc<dyn Lookups>,
    telemetry: Arc<Telemetry>,
    /// Validates triggers; builds none.
    registry: Registry,
    /// One permit for each KiB of bodies.
    body_budget: Semaphore,
}

impl Webhooks {
    pub fn new(index: Arc<Index>, lookups: Arc<dyn Lookups>, telemetry: Arc<Telemetry>) -> Self {
        let registry = Registry::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster));
        Self { index, lookups, telemetry, registry, body_budget: Semaphore::new(kib(BODY_BYTES_TOTAL)) }
    }

    /// Responds to a request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Some(route) = routes::find(request.uri().path()) else { return plain(StatusCode::NOT_FOUND) };
        if request.method() != Method::POST {
            return plain(StatusCode::METHOD_NOT_ALLOWED);
        }
        let (review, _held) = match tokio::time::timeout(BODY_LIMIT, decode_review(request, &self.body_budget)).await {
            Ok(Ok(decoded)) => decoded,
            Ok(Err(verdict)) => return reply("admission.k8s.io/v1", "", &verdict),
            // The API server then follows the failure policy of the webhook.
            Err(_) => return plain(StatusCode::REQUEST_TIMEOUT),
        };
        let Some(reviewed) = &review.request else {
            return reply(review.version(), "", &Verdict::unreadable("the review has no request"));
        };
        let verdict = self.admit_catching_panics(route, reviewed).await;
        if let Verdict::Deny { code, message, .. } = &verdict {
            let (resource, namespace, name) = (route.resource.name(), &reviewed.namespace, &reviewed.name);
            tracing::info!(resource, namespace, name, code, message, "denied");
        }
        reply(review.version(), &reviewed.uid, &verdict)
    }

    /// Turns a panic of a rule into a 500: the API server then follows the failure policy of the webhook.
    async fn admit_catching_panics(&self, route: &Route, request: &crate::review::Request) -> Verdict {
        let admitted = AssertUnwindSafe(self.admit(route, request)).catch_unwind().await;
        admitted.unwrap_or_else(|_| {
            tracing::error!(resource = route.resource.name(), name = request.name, "a rule panicked");
            Verdict::failed(Failure::internal("a rule of the admission webhooks failed; its log says where"))
        })
    }
}

fn kib(bytes: usize) -> usize {
    bytes.div_ceil(1024)
}

/// Decodes the review of an HTTP request, with its share of the budget.
async fn decode_review<B>(
    request: Request<B>,
    budget: &Semaphore,
) -> Result<(Review, Option<SemaphorePermit<'_>>), Verdict>
where
    B: Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
    if kind != "application/json" {
        return Err(Verdict::unreadable(format!("contentType={kind:?}, expected application/json")));
    }
    let (body, held) = read_body(request.into_body(), budget).await.map_err(|error| {
        match error.downcast_ref::<LengthLimitError>() {
            Some(_) => Verdict::Deny {
                code: 413,
                reason: "RequestEntityTooLarge".to_owned(),
                message: format!("the review is longer than {BODY_BYTES_MAX} bytes"),
            },
            None => Verdict::unreadable(format!("the review broke off: {error}")),
        }
    })?;
    let review = serde_json::from_slice(&body);
    let review = review.map_err(|error| Verdict::unreadable(format!("the review cannot be read: {error}")))?;
    Ok((review, held))
}

/// Reads a body. Only what has come is held and counts: a client that sends nothing keeps no other one out.
async fn read_body<B>(
    body: B,
    budget: &Semaphore,
) -> Result<(Vec<u8>, Option<SemaphorePermit<'_>>), Box<dyn std::error::Error + Send + Sync>>
where
    B: Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = pin!(Limited::new(body, BODY_BYTES_MAX));
    let (mut read, mut held) = (Vec::new(), None::<SemaphorePermit<'_>>);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        let share = budget.acquire_many(u32::try_from(kib(data.len()))?).await?;
        match &mut held {
            Some(held) => held.merge(share),
            None => held = Some(share),
        }
        read.extend_from_slice(&data);
    }
    Ok((read, held))
}

fn reply(version: &'static str, uid: &str, verdict: &Verdict) -> Response<Full<Bytes>> {
    let body = serde_json::to_vec(&ReviewResponse::new(version, uid, verdict))
        .expect("a response consists of strings and numbers");
    let mut response = Response::new(Full::new(body.into()));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn plain(code: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = code;
    response
}

#[cfg(test)]
mod tests;
