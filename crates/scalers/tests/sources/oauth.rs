//! `authModes: oauth`: the requests to the token endpoint, and the tokens that Prometheus gets.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::ReceivedRequest;
use super::*;

/// Gives `token-1`, `token-2` and so on, each for an hour, to requests that it accepts.
async fn token_server(accepts: fn(&ReceivedRequest) -> bool) -> Server {
    let count = AtomicUsize::new(0);
    Server::plain(move |request| {
        if !accepts(request) {
            return Reply::status(401);
        }
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        Reply::body(&format!(r#"{{"access_token":"token-{number}","expires_in":3600,"token_type":"bearer"}}"#))
    })
    .await
}

fn query(prometheus: &Server, tokens: &Server) -> Query {
    let uri = format!("http://{}/token", tokens.address);
    Query::of(prometheus).with("authModes", "oauth").auth("oauthTokenURI", &uri).auth("clientID", "me")
}

fn shown(prometheus: &Server) -> Vec<String> {
    prometheus.requests().iter().map(|request| request.header("authorization").unwrap_or("-").to_owned()).collect()
}

#[tokio::test]
async fn a_client_without_a_secret_names_itself() {
    let (tokens, prometheus) = (token_server(|_| true).await, Server::plain(|_| Reply::value("1")).await);
    let query = query(&prometheus, &tokens).auth("scopes", "read,write").auth("endpointParams", "audience=x");
    let scaler = query.build(&registry()).unwrap();
    for _ in 0..3 {
        scaler.read("s0-prometheus", now()).await.unwrap();
    }
    assert_eq!(shown(&prometheus), ["Bearer token-1"; 3], "the token is kept");
    let requests = tokens.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].method.as_str(), requests[0].target.as_str()), ("POST", "/token"));
    assert_eq!(requests[0].header("authorization"), None);
    let expected = "grant_type=client_credentials&scope=read+write&audience=x&client_id=me";
    assert_eq!(requests[0].body, expected);
    scaler.read("s0-prometheus", now() + chrono::TimeDelta::minutes(59)).await.unwrap();
    assert_eq!(shown(&prometheus).last().unwrap(), "Bearer token-2", "it is renewed before it ends");
}

#[tokio::test]
async fn a_secret_goes_into_the_header_and_else_into_the_form() {
    let prometheus = Server::plain(|_| Reply::value("1")).await;
    let by_header = token_server(|request| request.header("authorization") == Some("Basic bWU6cyUyRnM=")).await;
    query(&prometheus, &by_header).auth("clientSecret", "s/s").read().await.unwrap();
    assert_eq!(by_header.requests()[0].body, "grant_type=client_credentials");
    let by_form = token_server(|request| request.body.contains("client_secret=s%2Fs")).await;
    let scaler = query(&prometheus, &by_form).auth("clientSecret", "s/s").build(&registry()).unwrap();
    scaler.read("s0-prometheus", now()).await.unwrap();
    assert_eq!(by_form.requests().len(), 2, "the header first");
    scaler.read("s0-prometheus", now() + chrono::TimeDelta::hours(2)).await.unwrap();
    assert_eq!(by_form.requests().len(), 3, "what worked is remembered");
}

#[tokio::test]
async fn a_token_that_prometheus_refuses_is_replaced() {
    let tokens = token_server(|_| true).await;
    let prometheus = Server::plain(|request| match request.header("authorization") {
        Some("Bearer token-1") => Reply::status(401),
        _ => Reply::value("7"),
    })
    .await;
    let scaler = query(&prometheus, &tokens).build(&registry()).unwrap();
    assert!(matches!(scaler.read("s0-prometheus", now()).await, Err(ReadError::Status { code: 401, .. })));
    assert_eq!(scaler.read("s0-prometheus", now()).await, Ok(known(7.0, Activity::Active)));
}

#[tokio::test]
async fn without_a_token_the_reading_is_unknown_and_nothing_is_sent() {
    let prometheus = Server::plain(|_| Reply::value("1")).await;
    for answer in [r#"{"error":"invalid_client"}"#, "hunter2", "{}"] {
        let tokens = Server::plain(move |_| Reply::body(answer)).await;
        let error = query(&prometheus, &tokens).auth("clientSecret", "hunter3").read().await.unwrap_err();
        assert!(matches!(error, ReadError::NoCredentials { .. }), "{error}");
        assert!(!error.to_string().contains("hunter"), "{error}");
    }
    assert!(prometheus.requests().is_empty());
}

#[tokio::test]
async fn a_token_does_not_follow_a_redirect_to_another_host() {
    let tokens = token_server(|_| true).await;
    let elsewhere = Server::plain(|_| Reply::value("1")).await;
    let place = format!("http://localhost:{}/", elsewhere.address.port());
    let prometheus = Server::plain(move |_| Reply::redirect(&place)).await;
    query(&prometheus, &tokens).read().await.unwrap();
    assert_eq!(shown(&elsewhere), ["-"]);
}

#[tokio::test]
async fn metrics_api_refuses_the_modes_that_keda_refuses() {
    for mode in ["oauth", "custom"] {
        let query = Query::of_type("metrics-api")
            .with("url", "http://api/queue")
            .with("valueLocation", "value")
            .with("targetValue", "1")
            .with("authModes", mode);
        let error = query.build(&registry()).err().unwrap().to_string();
        let expected =
            format!("auth mode {mode:?} is not supported by this scaler; supported modes: [apiKey basic tls bearer]");
        assert!(error.contains(&expected), "{error}");
    }
}
