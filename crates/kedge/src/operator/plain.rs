//! What is served in plain HTTP inside the cluster: `/healthz` and `/readyz` for the kubelet, `/metrics` for Prometheus.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use kedge_metrics_api::Readiness;
use kedge_serving::{Chain, Limits, Security, ServeError};
use tokio::net::TcpListener;

const TEXT: &str = "text/plain";

/// All answers are made at once; a caller that stalls is left.
const LIMITS: Limits = Limits {
    connections_max: 128,
    handshake_limit: Duration::from_secs(5),
    // Prometheus keeps its connection between two scrapes, which are a minute apart by default.
    header_read_limit: Duration::from_secs(90),
    drain_limit: Duration::from_secs(2),
};

type Answer = Response<Full<Bytes>>;

/// What a path of the probes is answered.
pub(super) fn probe(readiness: &Readiness, path: &str) -> Answer {
    match path {
        "/healthz" => answer(StatusCode::OK, TEXT, "ok"),
        "/readyz" if readiness.is_ready() => answer(StatusCode::OK, TEXT, "ok"),
        "/readyz" => answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, "not ready"),
        _ => answer(StatusCode::NOT_FOUND, TEXT, "not found"),
    }
}

/// What a path of the metrics is answered.
pub(super) fn metrics(render: &dyn Fn() -> Vec<u8>, path: &str) -> Answer {
    match path {
        "/metrics" => answer(StatusCode::OK, "text/plain; version=0.0.4", render()),
        _ => answer(StatusCode::NOT_FOUND, TEXT, "not found"),
    }
}

fn answer(code: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = code;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// Answers until told to stop, if there is anywhere to answer.
pub(super) async fn serve(
    listener: Option<TcpListener>,
    reply: impl Fn(&str) -> Answer + Clone + Send + Sync + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let Some(listener) = listener else { return Ok(()) };
    let handler = move |_: Chain, request: Request<Incoming>| {
        let answer = reply(request.uri().path());
        async move { answer }
    };
    kedge_serving::serve(listener, Security::Plain, LIMITS, handler, stop).await.map(drop)
}
