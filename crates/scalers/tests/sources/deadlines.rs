//! Deadlines, in virtual time and on a network in memory: nothing here waits for real.

use std::io;
use std::time::Duration;

use kedge_api::authentication::PodIdentityProvider;
use kedge_scalers::BoxFuture;
use kedge_scalers::http::connector::BoxStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::Instant;

use super::*;

/// A registry whose every connection leads to `peer`.
fn network<F>(peer: impl Fn(DuplexStream) -> F + Send + Sync + 'static) -> Registry
where
    F: Future<Output = ()> + Send + 'static,
{
    let connect = move |_: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        tokio::spawn(peer(theirs));
        Box::pin(async move { Ok(Box::new(ours) as BoxStream) })
    };
    Registry::new(Settings::default(), Connector::new(connect), Arc::new(NoCluster))
}

/// Reads requests and never responds.
async fn listen_only(mut stream: DuplexStream) {
    let mut buffer = [0; 1024];
    while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
}

async fn elapsed(query: &Query, registry: &Registry) -> (Duration, Result<Known, ReadError>) {
    let started = Instant::now();
    let outcome = query.read_with(registry).await;
    (started.elapsed(), outcome)
}

#[tokio::test(start_paused = true)]
async fn a_silent_source_costs_exactly_the_limit() {
    let registry = network(listen_only);
    for (timeout, expected) in [("", 3000), ("250", 250), ("7s", 7000)] {
        let query = Query::at("http://prometheus:9090").with("timeout", timeout);
        let (took, outcome) = elapsed(&query, &registry).await;
        assert_eq!(took, Duration::from_millis(expected));
        assert_eq!(outcome.unwrap_err().reason(), "SourceTimeout");
    }
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_over_the_whole_call() {
    // Two seconds for the head and two for the body are four, and so too many.
    let registry = network(|mut stream: DuplexStream| async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n").await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let _ = stream.write_all(b"{}").await;
    });
    let (took, outcome) = elapsed(&Query::at("http://prometheus:9090"), &registry).await;
    assert_eq!(took, Duration::from_secs(3));
    assert_eq!(outcome.unwrap_err().to_string(), "http://prometheus:9090/api/v1/query gave no answer within 3s");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_never_comes_costs_exactly_the_limit() {
    let connect = |_: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> { Box::pin(std::future::pending()) };
    let registry = Registry::new(Settings::default(), Connector::new(connect), Arc::new(NoCluster));
    let (took, outcome) = elapsed(&Query::at("https://prometheus"), &registry).await;
    assert_eq!(took, Duration::from_secs(3));
    assert_eq!(outcome.unwrap_err().reason(), "SourceTimeout");
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_never_ends_costs_exactly_the_limit() {
    let (took, outcome) = elapsed(&Query::at("https://prometheus"), &network(listen_only)).await;
    assert_eq!(took, Duration::from_secs(3));
    assert_eq!(outcome.unwrap_err().reason(), "SourceTimeout");
}

#[tokio::test(start_paused = true)]
async fn a_source_of_no_credentials_costs_exactly_the_operators_limit() {
    let identity = identities::of(PodIdentityProvider::Gcp);
    let query = Query::at("http://prometheus:9090").with("timeout", "7s").identity(identity);
    let registry = network(listen_only);
    let together = async || tokio::join!(query.read_with(&registry), query.read_with(&registry));
    let started = Instant::now();
    let (one, other) = together().await;
    assert_eq!(started.elapsed(), Duration::from_secs(3), "also for those who wait for another's answer");
    for outcome in [one, other] {
        assert_eq!(outcome.unwrap_err().reason(), "NoCredentials");
    }
}

#[tokio::test(start_paused = true)]
async fn without_any_limit_there_is_still_one() {
    let connect = |_: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> { Box::pin(std::future::pending()) };
    let settings = Settings { http_timeout: Duration::ZERO, ..Settings::default() };
    let registry = Registry::new(settings, Connector::new(connect), Arc::new(NoCluster));
    let (took, _) = elapsed(&Query::at("http://prometheus"), &registry).await;
    assert_eq!(took, Duration::from_millis(300));
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_kept_for_its_time_and_no_longer() {
    let connections = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    let registry = network(move |stream| {
        counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        answer_always(stream)
    });
    let scaler = Query::at("http://prometheus:9090").build(&registry).unwrap();
    for (pause, expected) in [(0, 1), (89, 1), (91, 2)] {
        tokio::time::sleep(Duration::from_secs(pause)).await;
        scaler.read("s0-prometheus", now()).await.unwrap();
        assert_eq!(connections.load(std::sync::atomic::Ordering::SeqCst), expected, "after {pause} seconds");
    }
}

async fn answer_always(mut stream: DuplexStream) {
    let Reply::Send(answer) = Reply::value("1") else { unreachable!() };
    let mut seen = Vec::new();
    while let Ok(byte) = stream.read_u8().await {
        seen.push(byte);
        if seen.ends_with(b"\r\n\r\n") {
            seen.clear();
            stream.write_all(&answer).await.unwrap();
        }
    }
}
