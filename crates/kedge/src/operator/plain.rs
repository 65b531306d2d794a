//! What is served in plain HTTP inside the cluster: `/healthz` and `/readyz` for the kubelet, `/metrics` for Prometheus.

use std::future::Future;
use std::time::Duration;

use kedge_metrics_api::Readiness;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A caller that stalls for longer is left.
const CALL_LIMIT: Duration = Duration::from_secs(5);

/// An answer: status line, content type, body.
type Answer = (&'static str, &'static str, Vec<u8>);

/// What a path of the probes is answered.
pub(super) fn probe(readiness: &Readiness, path: &str) -> Answer {
    let text = |status, text: &str| (status, "text/plain", text.as_bytes().to_vec());
    match path {
        "/healthz" => text("200 OK", "ok"),
        "/readyz" if readiness.is_ready() => text("200 OK", "ok"),
        "/readyz" => text("503 Service Unavailable", "not ready"),
        _ => text("404 Not Found", "not found"),
    }
}

/// What a path of the metrics is answered.
pub(super) fn metrics(render: &dyn Fn() -> Vec<u8>, path: &str) -> Answer {
    match path {
        "/metrics" => ("200 OK", "text/plain; version=0.0.4", render()),
        _ => ("404 Not Found", "text/plain", b"not found".to_vec()),
    }
}

/// Answers until told to stop, if there is anywhere to answer.
pub(super) async fn serve(
    listener: Option<TcpListener>,
    reply: impl Fn(&str) -> Answer + Clone + Send + 'static,
    stop: impl Future<Output = ()>,
) {
    let Some(listener) = listener else { return };
    let callers = async {
        loop {
            if let Ok((connection, _)) = listener.accept().await {
                // A caller that goes away in the middle is its own loss.
                tokio::spawn(tokio::time::timeout(CALL_LIMIT, answer(connection, reply.clone())));
            }
        }
    };
    tokio::select! {
        () = stop => {}
        () = callers => {}
    }
}

async fn answer(mut connection: TcpStream, reply: impl Fn(&str) -> Answer) -> std::io::Result<()> {
    let mut request = [0; 1024];
    let length = connection.read(&mut request).await?;
    let line = String::from_utf8_lossy(&request[..length]).into_owned();
    let (status, kind, body) = reply(line.split_whitespace().nth(1).unwrap_or_default());
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: {}", body.len());
    connection.write_all(&[head.as_bytes(), b"\r\n\r\n", &body].concat()).await?;
    connection.shutdown().await
}
