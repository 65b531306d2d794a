//! One request: authentication, authorization, the response, and the deadline.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{HeaderMap, StatusCode, request};
use kedge_serving::ClientChain;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::attributes::Attributes;
use crate::authentication::Authenticator;
use crate::authorization::Authorizer;
use crate::discovery::Discovery;
use crate::health::{HealthState, Readiness, render_health};
use crate::identity::Identity;
use crate::openapi::OpenApi;
use crate::parts::Parts;
use crate::response::{self, HttpResponse};
use crate::review::{AccessVerdict, ReviewCache};
use crate::route::{Route, parse_route};
use crate::settings::Settings;
use crate::source::{MetricRequest, MetricSource};
use crate::status::Status;
use crate::target::Target;
use crate::values::render_values;

pub(crate) struct Api {
    source: Arc<dyn MetricSource>,
    authenticator: Authenticator,
    authorizer: Authorizer,
    readiness: Readiness,
    stopping: AtomicBool,
    discovery: Discovery,
    openapi: OpenApi,
    reads: Semaphore,
    reads_max: usize,
    request_limit: Duration,
}

/// The deadline of a request, and its duration from the start.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    fn after(limit: Duration) -> Self {
        Self { at: Instant::now() + limit, limit }
    }

    async fn wait<T>(self, step: impl Future<Output = T>, waiting_for: impl FnOnce() -> String) -> Result<T, Status> {
        timeout_at(self.at, step).await.map_err(|_| Status::too_late(self.limit, &waiting_for()))
    }
}

impl Api {
    pub(crate) fn new(settings: &Settings, parts: Parts) -> Self {
        let reviews = Arc::new(ReviewCache::new(parts.reviewer, settings));
        Self {
            source: parts.source,
            authenticator: Authenticator::new(parts.trust, reviews.clone(), settings),
            authorizer: Authorizer::new(reviews),
            readiness: parts.readiness,
            stopping: AtomicBool::new(false),
            discovery: Discovery::new(),
            openapi: OpenApi::new(),
            reads: Semaphore::new(settings.reads_max),
            reads_max: settings.reads_max,
            request_limit: settings.request_limit,
        }
    }

    /// From now on, this server is not ready.
    pub(crate) fn mark_stopping(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    pub(crate) async fn handle(&self, chain: &ClientChain, request: &request::Parts) -> HttpResponse {
        let started_at = Instant::now();
        let (method, path) = (&request.method, request.uri.path());
        let outcome = self.try_handle(chain, request).await;
        let problem = outcome.as_ref().err().map(Status::message);
        let code = outcome.as_ref().map_or_else(Status::code, HttpResponse::status).as_u16();
        tracing::debug!(%method, path, code, problem, took = ?started_at.elapsed(), "request served");
        let response = outcome.unwrap_or_else(|status| response::failure(&status));
        response::for_method(response, method)
    }

    async fn try_handle(&self, chain: &ClientChain, request: &request::Parts) -> Result<HttpResponse, Status> {
        let deadline = Deadline::after(self.request_limit);
        let caller = self.identify(deadline, chain, &request.headers).await?;
        let target = Target::parse(&request.uri)?;
        self.permit(deadline, &caller, request, &target).await?;
        // Last, so that only authorized callers learn which paths exist.
        let route = parse_route(&request.method, &target, &request.headers)?;
        self.respond(deadline, route, &request.headers).await
    }

    async fn identify(&self, deadline: Deadline, chain: &ClientChain, headers: &HeaderMap) -> Result<Identity, Status> {
        let step = self.authenticator.authenticate(chain, headers);
        let known = deadline.wait(step, || "the review of the caller's token".to_owned()).await?;
        known.map_err(|disbelief| {
            let reasons: Vec<String> = disbelief.iter().map(ToString::to_string).collect();
            tracing::info!(reasons = reasons.join("; "), "authentication failed");
            Status::unauthorized()
        })
    }

    async fn permit(
        &self,
        deadline: Deadline,
        caller: &Identity,
        request: &request::Parts,
        target: &Target,
    ) -> Result<(), Status> {
        let wanted = Attributes::from_request(&request.method, target);
        let step = self.authorizer.authorize(caller, &wanted);
        match deadline.wait(step, || "the review of the caller's rights".to_owned()).await? {
            Ok(AccessVerdict::Allowed) => Ok(()),
            Ok(AccessVerdict::Denied { because }) => Err(wanted.forbidden(&caller.user, &because)),
            Err(error) => {
                tracing::warn!(%error, "the rights of a caller could not be reviewed");
                Err(Status::review_failed(&request.uri.to_string(), &error.to_string()))
            }
        }
    }

    async fn respond(&self, deadline: Deadline, route: Route, headers: &HeaderMap) -> Result<HttpResponse, Status> {
        let document = match route {
            Route::Metric { namespace, metric, scaled_object } => {
                let request = MetricRequest { namespace: &namespace, scaled_object: &scaled_object, metric: &metric };
                return self.read(deadline, request).await;
            }
            Route::Health(question) => {
                let state =
                    HealthState { ready: self.readiness.is_ready(), stopping: self.stopping.load(Ordering::Acquire) };
                let (code, text) = render_health(&question, state).ok_or_else(Status::unknown_path)?;
                return Ok(response::text(code, text));
            }
            Route::Version => {
                let version = json!({"gitVersion": concat!("v", env!("CARGO_PKG_VERSION")), "compiler": "rustc"});
                return Ok(response::json(StatusCode::OK, &version));
            }
            Route::Groups(form) => self.discovery.groups(form),
            Route::Group => self.discovery.group(),
            Route::Resources => self.discovery.resources(),
            Route::OpenApiV2 => self.openapi.v2(),
            Route::OpenApiV3 => self.openapi.v3(),
            Route::OpenApiV3Document => self.openapi.v3_document(),
        };
        Ok(document.respond(headers))
    }

    async fn read(&self, deadline: Deadline, request: MetricRequest<'_>) -> Result<HttpResponse, Status> {
        let MetricRequest { namespace, scaled_object, metric } = request;
        let turn = || format!("a turn among {} reads at once", self.reads_max);
        let _place = deadline.wait(self.reads.acquire(), turn).await?.expect("the semaphore is never closed");
        let source = || format!("metric {metric} of ScaledObject {namespace}/{scaled_object}");
        let values = deadline.wait(self.source.read(request), source).await?;
        match values {
            Ok(values) if values.is_empty() => Err(Status::no_values(metric)),
            Ok(values) => Ok(response::json(StatusCode::OK, &render_values(values))),
            Err(error) => Err(Status::metric_failed(metric, error)),
        }
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Api").finish_non_exhaustive()
    }
}
