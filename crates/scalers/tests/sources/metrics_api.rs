//! `metrics-api` against sources that listen: the requests, the accepted responses, and all pods behind a Service.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kedge_core::credentials::{Reference, ReferenceContent};
use kedge_scalers::http::connector::BoxStream;
use kedge_scalers::{BoxFuture, ClusterReads, PodCount, ServiceEndpoint};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::server::ReceivedRequest;
use super::*;

fn document(url: impl std::fmt::Display, location: &str) -> Query {
    Query::of_type("metrics-api").with("url", &url.to_string()).with("valueLocation", location).with("targetValue", "5")
}

fn of(server: &Server, location: &str) -> Query {
    document(format!("http://{}/stats?x=1", server.address), location)
}

#[tokio::test]
async fn the_number_is_found_in_every_format() {
    let rows = [
        ("json", r#"{"queue": {"depth": 12}}"#, "queue.depth", 12.0),
        ("json", r#"{"jobs": [{"s": "a"}, {"s": "b"}, {"s": "a"}]}"#, r#"jobs.#(s=="a")#|#"#, 2.0),
        ("json", r#"{"size": "2k"}"#, "size", 2000.0),
        ("yaml", "queue:\n- depth: 1.5\n", "queue.0.depth", 1.5),
        ("prometheus", "# TYPE q gauge\nq{n=\"a\"} 1\r\nq{n=\"b\"} 2", "q{n=\"b\"}", 2.0),
    ];
    for (format, body, location, expected) in rows {
        let server = Server::plain(move |_| Reply::body(body)).await;
        let query = of(&server, location).with("format", format);
        assert_eq!(query.read().await, Ok(known(expected, Activity::Active)), "{format} {location}");
        let sleepy = query.with("activationTargetValue", &expected.to_string());
        assert_eq!(sleepy.read().await, Ok(known(expected, Activity::Inactive)), "{format} {location}");
        let request = server.requests().pop().unwrap();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", "/stats?x=1"));
    }
}

#[tokio::test]
async fn only_200_is_an_answer() {
    for (code, reason) in
        [(201, "SourceRefused"), (204, "SourceRefused"), (404, "SourceRefused"), (500, "SourceRefused")]
    {
        let answer = format!("HTTP/1.1 {code} Status\r\ncontent-length: 9\r\n\r\n{{\"n\": 1 }}");
        let server = Server::plain(move |_| Reply::SendAndClose(answer.clone().into_bytes())).await;
        let error = of(&server, "n").read().await.unwrap_err();
        assert_eq!(error.reason(), reason, "{code}: {error}");
    }
    let server = Server::plain(|request| match request.target.as_str() {
        "/moved" => Reply::status(202),
        _ => Reply::redirect("/moved"),
    })
    .await;
    let error = of(&server, "n").read().await.unwrap_err();
    assert!(matches!(error, ReadError::Status { code: 202, .. }), "after a redirect too: {error}");
}

#[tokio::test]
async fn an_answer_without_the_number_is_unknown_and_not_repeated() {
    let rows = [
        ("json", r#"{"n": "hunter2"}"#, "n", "SourceWithoutValue"),
        ("json", r#"{"hunter2": 1}"#, "n", "SourceWithoutValue"),
        ("json", "hunter2", "n", "SourceMalformed"),
        ("yaml", "n: hunter2", "n", "SourceWithoutValue"),
        ("yaml", "n: [hunter2", "n", "SourceMalformed"),
        ("prometheus", "hunter2 1", "n", "SourceWithoutValue"),
        ("prometheus", "hunter2", "n", "SourceMalformed"),
        ("prometheus", "n NaN", "n", "SourceWithoutValue"),
        ("prometheus", "n +Inf", "n", "SourceWithoutValue"),
    ];
    for (format, body, location, reason) in rows {
        let server = Server::plain(move |_| Reply::body(body)).await;
        let error = of(&server, location).with("format", format).read().await.expect_err(body);
        assert_eq!(error.reason(), reason, "{body}: {error}");
        assert!(!error.to_string().contains("hunter2") && !error.to_string().contains("x=1"), "{error}");
    }
}

#[tokio::test]
async fn each_mode_signs_in_its_way() {
    let server = Server::plain(|_| Reply::body(r#"{"n": 1}"#)).await;
    let plain = of(&server, "n");
    let key = plain.clone().with("authModes", "apiKey").auth("apiKey", "k/1");
    let both = key.clone().with("authModes", "apiKey,bearer").auth("token", "t");
    let basic = plain.clone().with("authModes", "basic").auth("username", "user").auth("password", "pass");
    let (x1, in_query) = ("/stats?x=1", "/stats?api_key=k%2F1&x=1");
    let rows = [
        ("none", plain.clone(), "authorization", None, x1),
        ("a key as header", key.clone(), "x-api-key", Some("k/1"), x1),
        ("a header of its own", key.clone().with("keyParamName", "X-Mine"), "x-mine", Some("k/1"), x1),
        ("a key in the query", key.clone().with("method", "query"), "x-api-key", None, in_query),
        (
            "in a parameter that is there",
            key.with("method", "query").with("keyParamName", "x"),
            "x-api-key",
            None,
            "/stats?x=k%2F1",
        ),
        ("key and bearer", both.clone(), "authorization", Some("Bearer t"), x1),
        ("bearer and key", both, "x-api-key", Some("k/1"), x1),
        ("basic", basic, "authorization", Some("Basic dXNlcjpwYXNz"), x1),
    ];
    for (name, query, header, expected, target) in rows {
        query.read().await.unwrap();
        let request = server.requests().pop().unwrap();
        assert_eq!((request.header(header), request.target.as_str()), (expected, target), "{name}");
    }
}

#[tokio::test]
async fn unsafe_ssl_counts_also_beside_a_ca() {
    let certified = rcgen::generate_simple_self_signed(["server".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["other server".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certified.cert.der().clone()], key).unwrap();
    let server = Server::tls(config, |_| Reply::body(r#"{"n": 1}"#)).await;
    let query = document(format!("https://{}", server.address), "n");
    let with_ca = query.clone().with("authModes", "bearer").auth("token", "t").auth("ca", &other.cert.pem());
    for (name, query) in [("alone", query), ("with a CA", with_ca)] {
        assert_eq!(query.read().await.unwrap_err().reason(), "SourceUntrusted", "{name}");
        assert!(query.with("unsafeSsl", "true").read().await.is_ok(), "{name}");
    }
}

/// A cluster with one Service.
#[derive(Debug)]
struct Endpoints(Vec<ServiceEndpoint>);

impl ClusterReads for Endpoints {
    fn pods<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<PodCount, ReadError>> {
        unreachable!("pods are not asked for")
    }

    fn endpoints<'a>(
        &'a self,
        namespace: &'a str,
        service: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ServiceEndpoint>, ReadError>> {
        assert_eq!((namespace, service), ("shop", "web"));
        Box::pin(async { Ok(self.0.clone()) })
    }

    fn content<'a>(&'a self, _: &'a Reference) -> BoxFuture<'a, Result<ReferenceContent, ReadError>> {
        unreachable!("no object is read")
    }
}

/// A registry whose every connection leads to the server, and whose Service has these addresses.
fn pods_behind(server: &Server, addresses: &[&str]) -> Registry {
    let target = server.address;
    let connect = move |_: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
        Box::pin(async move { Ok(Box::new(TcpStream::connect(target).await?) as BoxStream) })
    };
    let endpoint = |address: &&str| ServiceEndpoint { address: (*address).to_owned(), ports: vec![8080] };
    let cluster = Endpoints(addresses.iter().map(endpoint).collect());
    Registry::new(Settings::default(), Connector::new(connect), Arc::new(cluster))
}

fn of_service() -> Query {
    document("http://web.shop.svc:8080/stats?lost=1", "n").with("aggregateFromKubeServiceEndpoints", "true")
}

/// The last number of a pod's address.
fn pod_number(request: &ReceivedRequest) -> Option<&str> {
    request.header("host")?.split(['.', ':']).nth(3)
}

#[tokio::test]
async fn all_pods_behind_a_service_are_queried() {
    let server = Server::plain(|request| match pod_number(request) {
        Some(number) => Reply::body(&format!("{{\"n\": {number}}}")),
        None => Reply::status(400),
    })
    .await;
    let registry = pods_behind(&server, &["10.0.0.1", "10.0.0.2", "10.0.0.6", "10.0.0.1"]);
    for (aggregation, expected) in [("average", 3.0), ("sum", 9.0), ("max", 6.0), ("min", 1.0)] {
        let query = of_service().with("aggregationType", aggregation);
        assert_eq!(query.read_with(&registry).await, Ok(known(expected, Activity::Active)), "{aggregation}");
    }
    assert_eq!(of_service().read_with(&registry).await, Ok(known(3.0, Activity::Active)));
    assert!(server.requests().iter().all(|request| request.target == "/stats"));
    assert_eq!(server.requests().len(), 3 * 5, "once an address");
}

#[tokio::test]
async fn a_pod_that_fails_never_lowers_the_value() {
    let (factor, is_failing) = (Arc::new(AtomicUsize::new(1)), Arc::new(AtomicBool::new(true)));
    let (times, fails) = (factor.clone(), is_failing.clone());
    let server =
        Server::plain(move |request| match pod_number(request).and_then(|number| number.parse::<usize>().ok()) {
            Some(9) if fails.load(Ordering::SeqCst) => Reply::status(500),
            Some(number) => Reply::body(&format!("{{\"n\": {}}}", number * times.load(Ordering::SeqCst))),
            None => Reply::status(400),
        })
        .await;
    let registry = pods_behind(&server, &["10.0.0.1", "10.0.0.9"]);
    let scaler = of_service().with("aggregationType", "sum").build(&registry).unwrap();
    let read = async || scaler.read("s0", now()).await.map(|known| known.values[0]).map_err(|error| error.reason());
    assert_eq!(read().await, Err("SourceRefused"), "nothing is known yet");
    is_failing.store(false, Ordering::SeqCst);
    assert_eq!(read().await, Ok(10.0));
    is_failing.store(true, Ordering::SeqCst);
    assert_eq!(read().await, Err("SourceRefused"), "1 would lower the replicas");
    factor.store(20, Ordering::SeqCst);
    assert_eq!(read().await, Ok(20.0), "there is at least this much");
    is_failing.store(false, Ordering::SeqCst);
    factor.store(0, Ordering::SeqCst);
    assert_eq!(read().await, Ok(0.0), "all pods say so");
}

#[tokio::test]
async fn no_pod_that_answers_is_an_error() {
    let server = Server::plain(|_| Reply::status(503)).await;
    let error = of_service().read_with(&pods_behind(&server, &["10.0.0.1", "10.0.0.2"])).await.unwrap_err();
    assert!(matches!(error, ReadError::Status { code: 503, .. }), "{error}");
    let error = of_service().read_with(&pods_behind(&server, &[])).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read EndpointSlices from the cluster: Service web in namespace shop has none that is ready"
    );
    let error = of_service().read().await.unwrap_err();
    assert_eq!(error.reason(), "ClusterUnreadable");
}

#[tokio::test(start_paused = true)]
async fn five_pods_are_queried_at_once_and_each_has_its_own_deadline() {
    let under_way = Arc::new(Mutex::new((0, 0)));
    let seen = Arc::clone(&under_way);
    let connect = move |_: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
        let seen = Arc::clone(&seen);
        Box::pin(async move {
            {
                let mut seen = seen.lock().unwrap();
                seen.0 += 1;
                seen.1 = seen.0.max(seen.1);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            seen.lock().unwrap().0 -= 1;
            Err(io::Error::other("no server is there"))
        })
    };
    let endpoint = |last: u8| ServiceEndpoint { address: format!("10.0.0.{last}"), ports: Vec::new() };
    let cluster = Endpoints((0..12).map(endpoint).collect());
    let registry = Registry::new(Settings::default(), Connector::new(connect), Arc::new(cluster));
    let started = Instant::now();
    let error = of_service().read_with(&registry).await.unwrap_err();
    assert_eq!((error.reason(), started.elapsed()), ("SourceUnreachable", Duration::from_secs(3)));
    assert_eq!(under_way.lock().unwrap().1, 5);
}
