//! Sources that fail: each failure is an error of its kind, and none of them is a number.

use tokio::net::TcpListener;

use super::*;

type Script = Box<dyn Fn() -> Reply + Send + Sync>;

#[tokio::test]
async fn an_error_is_unknown_and_never_zero() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"data\":{\"result\":[]}}".to_vec();
    let huge = format!("HTTP/1.1 200 OK\r\ncontent-length: {0}\r\n\r\n{1}", 10_485_761, " ".repeat(10_485_761));
    let rows: Vec<(&str, Script, &str)> = vec![
        ("status 500", Box::new(|| Reply::status(500)), "SourceRefused"),
        ("status 404", Box::new(|| Reply::status(404)), "SourceRefused"),
        ("a redirect to nowhere", Box::new(|| Reply::status(302)), "SourceRefused"),
        ("half a body", Box::new(move || Reply::SendAndClose(half.clone())), "SourceMalformed"),
        ("too much of it", Box::new(move || Reply::SendAndClose(huge.clone().into_bytes())), "SourceMalformed"),
        ("no answer at all", Box::new(|| Reply::SendAndClose(Vec::new())), "SourceUnreachable"),
        ("half a head", Box::new(|| Reply::SendAndClose(b"HTTP/1.1 20".to_vec())), "SourceUnreachable"),
        ("not HTTP", Box::new(|| Reply::SendAndClose(b"SSH-2.0-x\r\n\r\n".to_vec())), "SourceMalformed"),
        ("not JSON", Box::new(|| Reply::body("<html>")), "SourceMalformed"),
        ("a redirect without end", Box::new(|| Reply::redirect("/again")), "SourceMalformed"),
        ("a redirect to another scheme", Box::new(|| Reply::redirect("ftp://x/")), "SourceMalformed"),
    ];
    for (name, reply, reason) in rows {
        let server = Server::plain(move |_| reply()).await;
        let error = Query::of(&server).read().await.expect_err(name);
        assert_eq!(error.reason(), reason, "{name}: {error}");
        let endpoint = format!("http://{}/api/v1/query", server.address);
        assert!(error.to_string().contains(&endpoint), "{name}: {error}");
        assert!(!error.to_string().contains("query="), "{name}: {error}");
    }
}

#[tokio::test]
async fn the_status_is_named() {
    let server = Server::plain(|_| Reply::status(503)).await;
    let error = Query::of(&server).read().await.unwrap_err();
    assert!(matches!(error, ReadError::Status { code: 503, .. }));
    assert_eq!(error.to_string(), format!("http://{}/api/v1/query answered with status 503", server.address));
}

#[tokio::test]
async fn a_refused_connection_is_reported() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = Query::at(format!("http://user:hunter2@{address}")).read().await.unwrap_err();
    assert_eq!(error.reason(), "SourceUnreachable");
    let text = error.to_string();
    assert!(text.contains("Connection refused") && !text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn a_kept_connection_that_died_costs_nothing() {
    let Reply::Send(answer) = Reply::value("1") else { unreachable!() };
    let server = Server::plain(move |_| Reply::SendAndClose(answer.clone())).await;
    let scaler = Query::of(&server).build(&registry()).unwrap();
    for _ in 0..5 {
        scaler.read("s0-prometheus", now()).await.unwrap();
    }
    assert_eq!(server.requests().len(), 5);
}

#[tokio::test]
async fn a_request_without_response_is_sent_once_more() {
    let server = Server::plain(|_| Reply::SendAndClose(Vec::new())).await;
    assert!(Query::of(&server).read().await.is_err());
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn ten_redirects_are_followed() {
    let counter = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::plain(move |_| match counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        count @ 0..10 => Reply::redirect(&format!("../hop/{count}?x=1")),
        _ => Reply::value("7"),
    })
    .await;
    assert_eq!(Query::of(&server).read().await, Ok(known(7.0, Activity::Active)));
    let targets: Vec<_> = server.requests().iter().map(|request| request.target.clone()).collect();
    assert_eq!(targets.len(), 11);
    assert_eq!(targets[1], "/api/hop/0?x=1");
}
