//! Connections through the life of a server.

use std::time::Duration;

use kedge_metrics_api::Settings;
use kedge_serving::{Limits, Stopped};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::support::{Ca, Caller, Client, Http, Purpose, SERVER_NAME, TestServer, connect_tls, metric};

const AS_ANN: [(&str, &str); 1] = [("X-Remote-User", "ann")];

#[tokio::test]
async fn both_versions_of_tls_and_of_http_are_served() {
    let server = TestServer::start().await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for http in [Http::One, Http::Two] {
            let certificate = server.cluster.clients.issue("carol", &[], Purpose::Client);
            let caller = Caller { certificate: Some(certificate), http, version, ..Caller::default() };
            let response = server.connect(caller).await.get(&metric("queue")).await;
            assert_eq!(response.code, 200, "{version:?} {http:?}");
            assert_eq!(server.reviewer.last_access().user.as_deref(), Some("carol"));
        }
    }
}

#[tokio::test]
async fn a_new_certificate_loses_no_request() {
    let server = TestServer::start().await;
    let mut clients = [server.front_proxy(Http::One).await, server.front_proxy(Http::Two).await];
    let mut shown = clients[0].server_certificate.clone();
    let mut under_way = server.front_proxy(Http::Two).await;
    let across = tokio::spawn(async move { under_way.request("GET", &metric("gated"), &AS_ANN).await.code });
    server.source.one_entered().await;
    for round in 0..5 {
        let next = server.cluster.servers.issue(SERVER_NAME, &[], Purpose::Server);
        let (chain, key) = (next.chain_pem.as_bytes(), next.key_pem.as_bytes());
        server.certificate.replace_pem(chain, key).expect("a certificate that can be used");
        for client in &mut clients {
            assert_eq!(client.request("GET", &metric("queue"), &AS_ANN).await.code, 200, "round {round}");
            assert_ne!(client.server_certificate, next.leaf, "an old connection");
        }
        let mut fresh = server.front_proxy(Http::Two).await;
        assert_eq!(fresh.server_certificate, next.leaf, "round {round}");
        assert_ne!(shown, next.leaf);
        assert_eq!(fresh.request("GET", &metric("queue"), &AS_ANN).await.code, 200, "round {round}");
        shown = next.leaf;
    }
    server.source.gate.add_permits(1);
    assert_eq!(across.await.expect("no panic"), 200);
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_changes_nothing() {
    let server = TestServer::start().await;
    let before = server.anyone().await.server_certificate.clone();
    let one = server.cluster.servers.issue(SERVER_NAME, &[], Purpose::Server);
    let other = Ca::new("others").issue(SERVER_NAME, &[], Purpose::Server);
    server.certificate.replace_pem(one.chain_pem.as_bytes(), other.key_pem.as_bytes()).expect_err("another's key");
    assert_eq!(server.anyone().await.server_certificate, before);
}

#[tokio::test]
async fn a_stopping_server_completes_its_requests() {
    for http in [Http::One, Http::Two] {
        let server = TestServer::start().await;
        let (source, address) = (server.source.clone(), server.address);
        let mut idle = connect_tls(address, &server.cluster.servers, Caller::default()).await.expect("a connection");
        let mut client = server.front_proxy(http).await;
        let running = tokio::spawn(async move { client.request("GET", &metric("gated"), &AS_ANN).await });
        source.one_entered().await;
        let stopped = server.stop();
        let mut rest = Vec::new();
        idle.read_to_end(&mut rest).await.expect("idle connections are closed at once");
        assert!(rest.is_empty(), "{http:?}");
        assert!(TcpStream::connect(address).await.is_err(), "{http:?}: no connection is accepted any more");
        assert!(!stopped.is_finished(), "{http:?}: a request is under way");
        source.gate.add_permits(1);
        let response = running.await.expect("no panic");
        assert_eq!(response.code, 200, "{http:?}");
        assert_eq!(response.json()["items"][0]["value"], "7");
        let stopped = stopped.await.expect("no panic").expect("no error");
        assert_eq!(stopped, Stopped::Drained, "{http:?}");
    }
}

#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_ever() {
    let settings = Settings {
        limits: Limits { drain_limit: Duration::from_millis(50), ..Limits::default() },
        ..Settings::default()
    };
    let server = TestServer::start_with(settings).await;
    let source = server.source.clone();
    let mut client = server.front_proxy(Http::One).await;
    let running = tokio::spawn(async move { client.try_request("GET", &metric("gated"), &AS_ANN).await.map(|_| ()) });
    source.one_entered().await;
    let stopped = server.stop().await.expect("no panic").expect("no error");
    assert_eq!(stopped, Stopped::CutOff { connections: 1 });
    assert!(running.await.expect("no panic").is_err());
}

#[tokio::test]
async fn a_client_that_trusts_another_ca_affects_no_other_client() {
    let server = TestServer::start().await;
    let refused = Client::connect(server.address, &Ca::new("others"), Caller::default()).await;
    assert!(refused.is_err());
    assert_eq!(server.anyone().await.get("/livez").await.code, 200);
}
