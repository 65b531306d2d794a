//! What does not come in time, or comes too often.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use kedge_metrics_api::Settings;
use kedge_serving::Limits;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::{Caller, Http, TestServer, connect_tls, metric};

/// Short to wait for, and long enough for a request that waits for nothing.
const SHORT: Duration = Duration::from_millis(250);
const AS_ANN: [(&str, &str); 1] = [("X-Remote-User", "ann")];

fn limited(limits: Limits) -> Settings {
    Settings { limits, ..Settings::default() }
}

#[tokio::test]
async fn a_slow_source_costs_the_deadline_and_no_more() {
    let server = TestServer::start_with(Settings { request_limit: SHORT, ..Settings::default() }).await;
    for http in [Http::One, Http::Two] {
        let mut client = server.front_proxy(http).await;
        let response = client.request("GET", &metric("stuck"), &AS_ANN).await;
        assert_eq!(response.code, 503, "{http:?}");
        let expected = "no answer within 250ms: still waiting for metric stuck of ScaledObject shop/web";
        assert_eq!(response.message(), expected);
        assert!(!response.headers.contains_key(http::header::RETRY_AFTER));
        assert_eq!(client.request("GET", "/version", &AS_ANN).await.code, 200, "the connection continues");
    }
}

#[tokio::test]
async fn a_slow_review_costs_the_deadline_and_no_more() {
    let server = TestServer::start_with(Settings { request_limit: SHORT, ..Settings::default() }).await;
    server.reviewer.hanging.store(true, Ordering::SeqCst);
    let response = server.front_proxy(Http::One).await.request("GET", &metric("queue"), &AS_ANN).await;
    assert_eq!(response.code, 503);
    assert_eq!(response.message(), "no answer within 250ms: still waiting for the review of the caller's rights");
}

#[tokio::test]
async fn reads_beyond_the_limit_take_turns() {
    let server = TestServer::start_with(Settings { reads_max: 2, ..Settings::default() }).await;
    let mut reads = JoinSet::new();
    for _ in 0..6 {
        let mut client = server.front_proxy(Http::Two).await;
        reads.spawn(async move { client.request("GET", &metric("gated"), &AS_ANN).await.code });
    }
    for _ in 0..6 {
        server.source.one_entered().await;
        server.source.gate.add_permits(1);
    }
    assert_eq!(reads.join_all().await, [StatusCode::OK; 6]);
    assert_eq!(server.source.under_way_max.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_read_beyond_the_limit_fails_and_discovery_is_not_limited() {
    let settings = Settings { reads_max: 0, request_limit: SHORT, ..Settings::default() };
    let server = TestServer::start_with(settings).await;
    let mut client = server.front_proxy(Http::One).await;
    let response = client.request("GET", &metric("queue"), &AS_ANN).await;
    assert_eq!(response.code, 503);
    assert_eq!(response.message(), "no answer within 250ms: still waiting for a turn among 0 reads at once");
    assert_eq!(client.request("GET", "/apis", &AS_ANN).await.code, 200);
}

#[tokio::test]
async fn a_client_without_a_handshake_is_disconnected() {
    let server = TestServer::start_with(limited(Limits { handshake_limit: SHORT, ..Limits::default() })).await;
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.expect("the end");
    assert!(rest.is_empty());
}

#[tokio::test]
async fn a_client_that_never_asks_is_left() {
    let server = TestServer::start_with(limited(Limits { header_read_limit: SHORT, ..Limits::default() })).await;
    let caller = Caller::default();
    let mut stream = connect_tls(server.address, &server.cluster.servers, caller).await.expect("a connection");
    let mut rest = Vec::new();
    // A client without a handshake gets no close notification.
    if let Err(error) = stream.read_to_end(&mut rest).await {
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{error}");
    }
    assert!(rest.is_empty(), "{rest:?}");
}

#[tokio::test]
async fn a_connection_beyond_the_limit_waits_for_busy_ones_and_replaces_idle_ones() {
    let server = TestServer::start_with(limited(Limits { connections_max: 1, ..Limits::default() })).await;
    let mut busy = server.front_proxy(Http::One).await;
    let busy = tokio::spawn(async move { busy.request("GET", &metric("gated"), &AS_ANN).await.code });
    server.source.one_entered().await;
    let mut waiting = Box::pin(server.anyone());
    assert!(tokio::time::timeout(SHORT, &mut waiting).await.is_err(), "there was a place beside a busy connection");
    server.source.gate.add_permits(1);
    assert_eq!(busy.await.expect("no panic"), 200);
    // The first connection is idle now.
    assert_eq!(waiting.await.get("/livez").await.code, 200);
}

#[tokio::test]
async fn idle_connections_do_not_keep_others_out() {
    let server = TestServer::start_with(limited(Limits { connections_max: 8, ..Limits::default() })).await;
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(TcpStream::connect(server.address).await.expect("a connection"));
    }
    assert_eq!(server.anyone().await.get("/livez").await.code, 200);
}
