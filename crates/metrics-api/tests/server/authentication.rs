//! Which identities are accepted from which credentials.

use std::sync::atomic::Ordering;

use kedge_metrics_api::TrustConfig;

use crate::support::{Ca, Caller, Client, Http, Issued, Purpose, RESOURCES, TestReviewer, TestServer};

const AS_ANN: [(&str, &str); 2] = [("X-Remote-User", "ann"), ("X-Remote-Group", "dev")];

/// The credentials, and the resulting identity; `None` means rejection.
type Row<'a> = (&'a str, Option<Issued>, Vec<(&'a str, &'a str)>, Option<&'a str>);

fn bearer(token: &str) -> (&'static str, String) {
    ("Authorization", format!("Bearer {token}"))
}

#[tokio::test]
async fn credentials_determine_the_identity_of_callers() {
    let server = TestServer::start().await;
    let foreigners = Ca::new("foreigners");
    let (proxies, clients) = (&server.cluster.front_proxies, &server.cluster.clients);
    let good = bearer(TestReviewer::GOOD_TOKEN);
    let bad = bearer("stolen");
    let (good, bad) = ((good.0, good.1.as_str()), (bad.0, bad.1.as_str()));
    let with = |token| [AS_ANN[0], AS_ANN[1], token];
    let proxy = || Some(proxies.issue("front-proxy-client", &[], Purpose::Client));
    let prometheus = Some("system:serviceaccount:monitoring:prometheus");
    let anonymous = Some("system:anonymous");
    #[rustfmt::skip]
    let rows: Vec<Row<'_>> = vec![
        ("the front proxy speaks for others", proxy(), AS_ANN.to_vec(), Some("ann")),
        ("the front proxy wins over a token", proxy(), with(good).to_vec(), Some("ann")),
        ("the front proxy without a name", proxy(), vec![], None),
        ("another name of the front proxy's CA", Some(proxies.issue("someone", &[], Purpose::Client)), AS_ANN.to_vec(), None),
        ("a server certificate of that CA", Some(proxies.issue("front-proxy-client", &[], Purpose::Server)), AS_ANN.to_vec(), None),
        ("an expired front proxy", Some(proxies.issue("front-proxy-client", &[], Purpose::ExpiredClient)), AS_ANN.to_vec(), None),
        ("the front proxy's name from the clients' CA", Some(clients.issue("front-proxy-client", &[], Purpose::Client)), AS_ANN.to_vec(), Some("front-proxy-client")),
        ("the front proxy's name from an unknown CA", Some(foreigners.issue("front-proxy-client", &[], Purpose::Client)), AS_ANN.to_vec(), None),
        ("a client", Some(clients.issue("carol", &[], Purpose::Client)), vec![], Some("carol")),
        ("a client without a name", Some(clients.issue("", &[], Purpose::Client)), vec![], None),
        ("a foreign certificate beside a good token", Some(foreigners.issue("x", &[], Purpose::Client)), vec![good], prometheus),
        ("headers without a certificate", None, AS_ANN.to_vec(), anonymous),
        ("headers beside a good token", None, with(good).to_vec(), prometheus),
        ("a rejected token", None, vec![bad], None),
        ("headers beside a rejected token", None, with(bad).to_vec(), None),
        ("nothing", None, vec![], anonymous),
    ];
    for (name, certificate, headers, expected) in rows {
        let before = server.reviewer.access_count();
        let mut client = server.connect(Caller { certificate, ..Caller::default() }).await;
        // A path of its own for each row, so that no verdict is remembered.
        let path = format!("/rows/{}", name.replace(['\'', ' '], "-"));
        let response = client.request("GET", &path, &headers).await;
        match expected {
            None => {
                assert_eq!(response.code, 401, "{name}: {response:?}");
                assert_eq!(response.message(), "Unauthorized", "{name}");
                assert_eq!(server.reviewer.access_count(), before, "{name}: a rejected caller is not authorized");
            }
            Some(user) => {
                assert_eq!(response.code, 404, "{name}: {response:?}");
                assert_eq!(server.reviewer.last_access().user.as_deref(), Some(user), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn the_front_proxy_passes_the_identity_of_the_caller() {
    let server = TestServer::start().await;
    let headers = [
        AS_ANN[0],
        AS_ANN[1],
        ("X-Remote-Group", "ops"),
        ("X-Remote-Uid", "42"),
        ("X-Remote-Extra-Example.org%2fScopes", "read"),
        ("X-Remote-Extra-Example.org%2fScopes", "write"),
    ];
    for http in [Http::One, Http::Two] {
        let response = server.front_proxy(http).await.request("GET", "/version", &headers).await;
        assert_eq!(response.code, 200, "{http:?}");
        let spec = server.reviewer.last_access();
        assert_eq!(spec.user.as_deref(), Some("ann"));
        assert_eq!(spec.uid.as_deref(), Some("42"));
        assert_eq!(spec.groups.expect("groups"), ["dev", "ops", "system:authenticated"]);
        assert_eq!(spec.extra.expect("extra")["example.org/scopes"], ["read", "write"]);
    }
}

#[tokio::test]
async fn known_callers_are_in_the_group_of_known_callers() {
    let server = TestServer::start().await;
    let mut proxy = server.front_proxy(Http::Two).await;
    assert_eq!(proxy.request("GET", "/openapi/v2", &[("X-Remote-User", "system:aggregator")]).await.code, 200);
    assert_eq!(server.reviewer.last_access().groups.expect("groups"), ["system:authenticated"]);
    let certificate = server.cluster.clients.issue("carol", &["dev"], Purpose::Client);
    let mut carol = server.connect(Caller { certificate: Some(certificate), ..Caller::default() }).await;
    assert_eq!(carol.get("/openapi/v2").await.code, 200);
    assert_eq!(server.reviewer.last_access().groups.expect("groups"), ["dev", "system:authenticated"]);
    assert_eq!(server.anyone().await.get("/openapi/v2").await.code, 200);
    assert_eq!(server.reviewer.last_access().groups.expect("groups"), ["system:unauthenticated"]);
}

#[tokio::test]
async fn a_token_is_reviewed_once_for_many_requests() {
    let server = TestServer::start().await;
    let mut client = server.anyone().await;
    for (token, code) in [(TestReviewer::GOOD_TOKEN, 200), ("stolen", 401)] {
        let before = server.reviewer.token_reviews.load(Ordering::SeqCst);
        let (name, value) = bearer(token);
        for _ in 0..3 {
            assert_eq!(client.request("GET", "/version", &[(name, &value)]).await.code, code, "{token}");
        }
        assert_eq!(server.reviewer.token_reviews.load(Ordering::SeqCst), before + 1, "{token}");
    }
}

#[tokio::test]
async fn a_change_of_trust_concerns_open_connections() {
    let server = TestServer::start().await;
    let mut proxy = server.front_proxy(Http::Two).await;
    assert_eq!(proxy.request("GET", RESOURCES, &AS_ANN).await.code, 200);
    server.trust.replace(TrustConfig::default());
    let response = proxy.request("GET", RESOURCES, &AS_ANN).await;
    assert_eq!(response.code, 200);
    assert_eq!(server.reviewer.last_access().user.as_deref(), Some("system:anonymous"), "no CA is trusted any more");
    server.trust.replace(server.cluster.trust());
    assert_eq!(proxy.request("GET", "/apis", &AS_ANN).await.code, 200);
    assert_eq!(server.reviewer.last_access().user.as_deref(), Some("ann"));
}

#[tokio::test]
async fn a_certificate_without_its_key_does_not_pass_the_handshake() {
    let server = TestServer::start().await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let issue = || server.cluster.front_proxies.issue("front-proxy-client", &[], Purpose::Client);
        let thief = Caller { certificate: Some(issue()), wrong_key: Some(issue()), version, ..Caller::default() };
        let refused = match Client::connect(server.address, &server.cluster.servers, thief).await {
            Err(_) => true,
            // In TLS 1.3 a client learns of the refusal with its first read.
            Ok(mut client) => client.try_request("GET", "/version", &AS_ANN).await.is_err(),
        };
        assert!(refused, "{version:?}");
        let owner = Caller { certificate: Some(issue()), version, ..Caller::default() };
        assert_eq!(server.connect(owner).await.request("GET", "/version", &AS_ANN).await.code, 200, "{version:?}");
    }
}
