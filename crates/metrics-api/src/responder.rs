//! What an authorized request is answered: metrics, discovery, health. It also serves callers within the process.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{HeaderMap, StatusCode, request};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::discovery::Discovery;
use crate::health::{HealthState, Readiness, render_health};
use crate::openapi::OpenApi;
use crate::response::{self, HttpResponse};
use crate::route::{Route, parse_route};
use crate::settings::Settings;
use crate::source::{MetricRequest, MetricSource};
use crate::status::Status;
use crate::target::Target;
use crate::values::render_values;

/// The deadline of a request, and its duration from the start.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Self {
        Self { at: Instant::now() + limit, limit }
    }

    pub(crate) async fn wait<T>(
        self,
        step: impl Future<Output = T>,
        waiting_for: impl FnOnce() -> String,
    ) -> Result<T, Status> {
        timeout_at(self.at, step).await.map_err(|_| Status::too_late(self.limit, &waiting_for()))
    }
}

/// Answers requests that are allowed.
pub(crate) struct Responder {
    source: Arc<dyn MetricSource>,
    readiness: Readiness,
    stopping: AtomicBool,
    discovery: Discovery,
    openapi: OpenApi,
    reads: Semaphore,
    reads_max: usize,
}

impl Responder {
    pub(crate) fn new(source: Arc<dyn MetricSource>, readiness: Readiness, settings: &Settings) -> Self {
        Self {
            source,
            readiness,
            stopping: AtomicBool::new(false),
            discovery: Discovery::new(),
            openapi: OpenApi::new(),
            reads: Semaphore::new(settings.reads_max),
            reads_max: settings.reads_max,
        }
    }

    /// From now on, this server is not ready.
    pub(crate) fn mark_stopping(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    pub(crate) async fn respond(
        &self,
        deadline: Deadline,
        route: Route,
        headers: &HeaderMap,
    ) -> Result<HttpResponse, Status> {
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

/// The API for callers within the process: they are not authenticated, and may read everything.
pub struct InProcess {
    responder: Responder,
    request_limit: Duration,
}

impl InProcess {
    pub fn new(source: Arc<dyn MetricSource>, settings: &Settings) -> Self {
        let readiness = Readiness::new();
        readiness.mark_ready();
        Self { responder: Responder::new(source, readiness, settings), request_limit: settings.request_limit }
    }

    /// Answers one request.
    pub async fn handle(&self, request: &request::Parts) -> HttpResponse {
        let response = self.try_handle(request).await.unwrap_or_else(|status| response::failure(&status));
        response::for_method(response, &request.method)
    }

    async fn try_handle(&self, request: &request::Parts) -> Result<HttpResponse, Status> {
        let route = parse_route(&request.method, &Target::parse(&request.uri)?, &request.headers)?;
        self.responder.respond(Deadline::after(self.request_limit), route, &request.headers).await
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("InProcess").finish_non_exhaustive()
    }
}
