//! From an HTTP request to its response: decode the review, look up neighbours, apply the rules, respond.
//!
//! Every failure is a response too: 400 for what cannot be decoded, 500 for a panic in a rule.

mod admit;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http::{Method, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use kedge_scalers::http::connector::Connector;
use kedge_scalers::{NoCluster, Registry, Settings};

use crate::index::Index;
use crate::lookups::{Failure, Lookups};
use crate::review::{Review, ReviewResponse, Verdict};
use crate::routes::{self, Route};
use crate::telemetry::Telemetry;

/// The longest body of a review.
// KEDA: the same.
const BODY_BYTES_MAX: usize = 7 * 1024 * 1024;

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
}

impl Webhooks {
    pub fn new(index: Arc<Index>, lookups: Arc<dyn Lookups>, telemetry: Arc<Telemetry>) -> Self {
        let registry = Registry::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster));
        Self { index, lookups, telemetry, registry }
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
        let review = match decode_review(request).await {
            Ok(review) => review,
            Err(verdict) => return reply("admission.k8s.io/v1", "", &verdict),
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

/// Decodes the review of an HTTP request.
async fn decode_review<B>(request: Request<B>) -> Result<Review, Verdict>
where
    B: Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
    if kind != "application/json" {
        return Err(Verdict::unreadable(format!("contentType={kind:?}, expected application/json")));
    }
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await.map_err(|error| match error
        .downcast_ref::<LengthLimitError>(
    ) {
        Some(_) => Verdict::Deny {
            code: 413,
            reason: "RequestEntityTooLarge".to_owned(),
            message: format!("the review is longer than {BODY_BYTES_MAX} bytes"),
        },
        None => Verdict::unreadable(format!("the review broke off: {error}")),
    })?;
    let body = body.to_bytes();
    serde_json::from_slice(&body).map_err(|error| Verdict::unreadable(format!("the review cannot be read: {error}")))
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
