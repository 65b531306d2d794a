//! Plain HTTP inside the cluster: `/healthz` and `/readyz` for the kubelet, `/metrics` for Prometheus.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use kedge_metrics_api::Readiness;
use kedge_serving::{ClientChain, Limits, Security, ServeError};
use tokio::net::TcpListener;

const TEXT: &str = "text/plain";

/// Responses are immediate; a client that stalls is disconnected.
const LIMITS: Limits = Limits {
    connections_max: 128,
    // The kubelet and Prometheus need one each; what one pod opens leaves room for them.
    connections_per_address_max: 32,
    handshake_limit: Duration::from_secs(5),
    // Prometheus keeps its connection between two scrapes, which are a minute apart by default.
    header_read_limit: Duration::from_secs(90),
    idle_limit: Duration::from_secs(90),
    drain_limit: Duration::from_secs(2),
};

type PlainResponse = Response<Full<Bytes>>;

/// The response of the probes.
pub(crate) fn probe(readiness: &Readiness, path: &str) -> PlainResponse {
    match path {
        "/healthz" => respond(StatusCode::OK, TEXT, "ok"),
        "/readyz" if readiness.is_ready() => respond(StatusCode::OK, TEXT, "ok"),
        "/readyz" => respond(StatusCode::SERVICE_UNAVAILABLE, TEXT, "not ready"),
        _ => respond(StatusCode::NOT_FOUND, TEXT, "not found"),
    }
}

/// The response of the metrics.
pub(crate) fn metrics(render: &dyn Fn() -> Vec<u8>, path: &str) -> PlainResponse {
    match path {
        "/metrics" => respond(StatusCode::OK, "text/plain; version=0.0.4", render()),
        _ => respond(StatusCode::NOT_FOUND, TEXT, "not found"),
    }
}

fn respond(code: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> PlainResponse {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Serves until `stop`, if there is a listener.
pub(crate) async fn serve(
    listener: Option<TcpListener>,
    reply: impl Fn(&str) -> PlainResponse + Clone + Send + Sync + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let Some(listener) = listener else { return Ok(()) };
    let handler = move |_: ClientChain, request: Request<Incoming>| {
        let response = reply(request.uri().path());
        async move { response }
    };
    kedge_serving::serve(listener, Security::Plain, LIMITS, handler, stop).await.map(drop)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn idle_connections_do_not_keep_probes_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let readiness = Readiness::new();
        let serving = tokio::spawn(serve(Some(listener), move |path| probe(&readiness, path), std::future::pending()));
        let mut idle = Vec::new();
        for _ in 0..2 * LIMITS.connections_max {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        let mut kubelet = TcpStream::connect(address).await.unwrap();
        kubelet.write_all(b"GET /healthz HTTP/1.1\r\nhost: pod\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut response = String::new();
        let read = kubelet.read_to_string(&mut response);
        tokio::time::timeout(Duration::from_secs(30), read).await.expect("a response in time").unwrap();
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        serving.abort();
    }
}
