//! From a request over HTTP to its answer: read the question, look up neighbours, apply the rules, answer.
//!
//! Whatever goes wrong on the way is an answer too: what cannot be read is told so, and a mistake of our own becomes a 500.

mod judge;

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
use crate::review::{Answer, Review, Verdict};
use crate::routes::{self, Route};
use crate::telemetry::Telemetry;

/// The longest question.
// KEDA: as long.
const BODY_BYTES_MAX: usize = 7 * 1024 * 1024;

/// How long a question waits for an index that is not complete yet. The API server itself waits ten seconds.
const INDEX_LIMIT: Duration = Duration::from_secs(5);

/// The webhooks.
#[allow(missing_debug_implementations)] // what it looks up with has none
pub struct Webhooks {
    index: Arc<Index>,
    lookups: Arc<dyn Lookups>,
    telemetry: Arc<Telemetry>,
    /// Reads triggers; it builds none.
    registry: Registry,
}

impl Webhooks {
    pub fn new(index: Arc<Index>, lookups: Arc<dyn Lookups>, telemetry: Arc<Telemetry>) -> Self {
        let registry = Registry::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster));
        Self { index, lookups, telemetry, registry }
    }

    /// Answers a request, whatever it is.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Some(route) = routes::find(request.uri().path()) else { return plain(StatusCode::NOT_FOUND) };
        if request.method() != Method::POST {
            return plain(StatusCode::METHOD_NOT_ALLOWED);
        }
        let review = match read(request).await {
            Ok(review) => review,
            Err(verdict) => return reply("admission.k8s.io/v1", "", &verdict),
        };
        let Some(question) = &review.request else {
            return reply(review.version(), "", &Verdict::unreadable("the review has no request"));
        };
        let verdict = self.judge_safely(route, question).await;
        if let Verdict::Deny { code, message, .. } = &verdict {
            let (resource, namespace, name) = (route.resource.name(), &question.namespace, &question.name);
            tracing::info!(resource, namespace, name, code, message, "denied");
        }
        reply(review.version(), &question.uid, &verdict)
    }

    /// Judges, and makes a mistake of our own an answer: the API server then does as the registration says.
    async fn judge_safely(&self, route: &Route, question: &crate::review::Request) -> Verdict {
        let judged = AssertUnwindSafe(self.judge(route, question)).catch_unwind().await;
        judged.unwrap_or_else(|_| {
            tracing::error!(resource = route.resource.name(), name = question.name, "a rule panicked");
            Verdict::failed(Failure::internal("a rule of the admission webhooks failed; its log says where"))
        })
    }
}

/// Reads the question.
async fn read<B>(request: Request<B>) -> Result<Review, Verdict>
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
    let body = serde_json::to_vec(&Answer::new(version, uid, verdict)).expect("an answer is made of texts and numbers");
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
