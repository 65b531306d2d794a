//! The credentials of requests, and the servers that get them.

use super::*;

#[tokio::test]
async fn each_mode_sends_its_header() {
    let server = Server::plain(|_| Reply::value("1")).await;
    let plain = Query::of(&server);
    let bearer = plain.clone().with("authModes", "bearer").auth("bearerToken", "abc");
    let basic = plain.clone().with("authModes", "basic").auth("username", "user").auth("password", "pass");
    let custom =
        plain.clone().with("authMode", "custom").auth("customAuthHeader", "X-Key").auth("customAuthValue", "v");
    let key = plain.clone().with("authModes", "apiKey").with("apiKey", "k").with("keyParamName", "x-api-key");
    let in_url = Query::at(format!("http://user:pass@{}", server.address));
    let rows = [
        ("none", &plain, "authorization", None),
        ("bearer", &bearer, "authorization", Some("Bearer abc")),
        ("basic", &basic, "authorization", Some("Basic dXNlcjpwYXNz")),
        ("custom", &custom, "x-key", Some("v")),
        ("apiKey has no effect", &key, "x-api-key", None),
        ("user info in the URL", &in_url, "authorization", Some("Basic dXNlcjpwYXNz")),
    ];
    for (name, query, header, expected) in rows {
        query.read().await.unwrap();
        let request = server.requests().pop().unwrap();
        assert_eq!(request.header(header), expected, "{name}");
    }
}

#[tokio::test]
async fn custom_headers_namespace_and_parameters_are_sent() {
    let server = Server::plain(|_| Reply::value("1")).await;
    let query = Query::of(&server)
        .with("customHeaders", "X-Scope-OrgID=tenant, X-Other = 1")
        .with("namespace", "shop")
        .with("queryParameters", "max_source_resolution=5m,a b=c/d");
    query.read().await.unwrap();
    let request = server.requests().pop().unwrap();
    assert_eq!((request.header("x-scope-orgid"), request.header("x-other")), (Some("tenant"), Some("1")));
    let end = "&time=2026-08-20T10:11:12Z&namespace=shop&max_source_resolution=5m&a+b=c%2Fd";
    assert!(request.target.ends_with(end), "{}", request.target);
}

#[tokio::test]
async fn credentials_follow_a_redirect_on_the_same_host() {
    let server = Server::plain(|request| match request.target.as_str() {
        "/moved" => Reply::value("1"),
        _ => Reply::redirect("/moved"),
    })
    .await;
    let query = Query::of(&server).with("authModes", "bearer").auth("token", "t").with("customHeaders", "X-Scope=a");
    query.read().await.unwrap();
    let request = server.requests().pop().unwrap();
    assert_eq!((request.header("authorization"), request.header("x-scope")), (Some("Bearer t"), Some("a")));
}

#[tokio::test]
async fn credentials_do_not_follow_a_redirect_to_another_host() {
    let other = Server::plain(|_| Reply::value("1")).await;
    let location = format!("http://localhost:{}/elsewhere", other.address.port());
    let server = Server::plain(move |_| Reply::redirect(&location)).await;
    let custom = Query::of(&server)
        .with("authModes", "custom")
        .auth("customAuthHeader", "X-Key")
        .auth("customAuthValue", "v")
        .with("customHeaders", "Authorization=mine");
    let user_info = Query::at(format!("http://user:pass@{}", server.address));
    for query in [custom, user_info] {
        query.read().await.unwrap();
        let request = other.requests().pop().unwrap();
        assert_eq!(request.target, "/elsewhere");
        assert_eq!((request.header("authorization"), request.header("x-key")), (None, None));
        assert!(server.requests().pop().unwrap().header("authorization").is_some());
    }
}
