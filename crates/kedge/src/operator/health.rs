//! `/healthz` and `/readyz`, in plain HTTP, for the kubelet.

use std::future::Future;
use std::net::SocketAddr;

use anyhow::Context;
use kedge_metrics_api::Readiness;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Answers probes until told to stop.
pub(super) async fn serve(
    address: SocketAddr,
    readiness: Readiness,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let probes = async {
        loop {
            if let Ok((connection, _)) = listener.accept().await {
                // A probe that goes away in the middle is its own loss; one that stalls must not hold up the next.
                tokio::spawn(tokio::time::timeout(
                    std::time::Duration::from_secs(5),
                    answer(connection, readiness.is_ready()),
                ));
            }
        }
    };
    tokio::select! {
        () = stop => Ok(()),
        never = probes => never,
    }
}

async fn answer(mut connection: TcpStream, is_ready: bool) -> std::io::Result<()> {
    let mut request = [0; 1024];
    let length = connection.read(&mut request).await?;
    let line = String::from_utf8_lossy(&request[..length]);
    let (status, text) = match line.split_whitespace().nth(1) {
        Some("/healthz") => ("200 OK", "ok"),
        Some("/readyz") if is_ready => ("200 OK", "ok"),
        Some("/readyz") => ("503 Service Unavailable", "not ready"),
        _ => ("404 Not Found", "not found"),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        text.len()
    );
    connection.write_all(format!("{head}{text}").as_bytes()).await?;
    connection.shutdown().await
}
