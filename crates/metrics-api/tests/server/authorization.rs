//! Who may do what.

use std::sync::atomic::Ordering;

use crate::support::{Http, TestServer, metric};

const AS_ANN: [(&str, &str); 1] = [("X-Remote-User", "ann")];
const AS_BOB: [(&str, &str); 1] = [("X-Remote-User", "bob")];
const AS_CAROL: [(&str, &str); 1] = [("X-Remote-User", "carol")];

#[tokio::test]
async fn a_caller_that_may_read_every_metric_is_reviewed_once() {
    let server = TestServer::start().await;
    let mut proxy = server.front_proxy(Http::Two).await;
    for name in ["queue-depth", "queue-depth", "other"] {
        assert_ne!(proxy.request("GET", &metric(name), &AS_ANN).await.code, 403, "{name}");
    }
    assert_eq!(server.reviewer.access_count(), 1);
    let attributes = server.reviewer.last_access().resource_attributes.expect("a resource");
    assert_eq!((attributes.verb.as_deref(), attributes.resource.as_deref()), (Some("list"), Some("*")));
    assert_eq!(attributes.namespace, None, "all of them");
}

#[tokio::test]
async fn an_allowed_read_is_reviewed_once_for_many_requests() {
    let server = TestServer::start().await;
    let mut proxy = server.front_proxy(Http::Two).await;
    for _ in 0..3 {
        assert_eq!(proxy.request("GET", &metric("queue-depth"), &AS_CAROL).await.code, 200);
    }
    assert_eq!(server.reviewer.access_count(), 2, "one for all metrics, and one for this one");
    let spec = server.reviewer.last_access();
    assert_eq!(spec.non_resource_attributes, None);
    let attributes = spec.resource_attributes.expect("a resource");
    assert_eq!(attributes.verb.as_deref(), Some("list"));
    assert_eq!(attributes.group.as_deref(), Some("external.metrics.k8s.io"));
    assert_eq!(attributes.version.as_deref(), Some("v1beta1"));
    assert_eq!(attributes.namespace.as_deref(), Some("shop"));
    assert_eq!(attributes.resource.as_deref(), Some("queue-depth"));
    assert_eq!((attributes.name, attributes.subresource), (None, None));
    proxy.request("GET", &metric("other"), &AS_CAROL).await;
    assert_eq!(server.reviewer.access_count(), 3, "another metric is another question");
}

#[tokio::test]
async fn a_denied_read_is_reported_and_cached() {
    let server = TestServer::start().await;
    let mut proxy = server.front_proxy(Http::One).await;
    for _ in 0..3 {
        let response = proxy.request("GET", &metric("queue-depth"), &AS_BOB).await;
        assert_eq!(response.code, 403);
        let expected = r#"queue-depth.external.metrics.k8s.io is forbidden: User "bob" cannot list resource "queue-depth" in API group "external.metrics.k8s.io" in the namespace "shop""#;
        assert_eq!(response.message(), expected);
    }
    assert_eq!(server.reviewer.access_count(), 2, "one for all metrics, and one for this one");
    assert!(server.source.reads.lock().expect("not poisoned").is_empty());
    let response = proxy.request("GET", "/version", &AS_BOB).await;
    assert_eq!(
        (response.code.as_u16(), response.message().as_str()),
        (403, r#"forbidden: User "bob" cannot get path "/version""#)
    );
    for (method, path) in [("GET", "/nowhere"), ("POST", "/version")] {
        let response = proxy.request(method, path, &AS_BOB).await;
        assert_eq!(response.code, 403, "{method} {path}: unauthorized callers do not learn which paths exist");
    }
}

#[tokio::test]
async fn masters_and_probes_need_no_review() {
    let server = TestServer::start().await;
    let mut proxy = server.front_proxy(Http::Two).await;
    let aggregator = [("X-Remote-User", "system:kube-aggregator"), ("X-Remote-Group", "system:masters")];
    server.reviewer.failing.store(true, Ordering::SeqCst);
    assert_eq!(proxy.request("GET", "/apis/external.metrics.k8s.io/v1beta1", &aggregator).await.code, 200);
    let mut anyone = server.anyone().await;
    for path in ["/livez", "/healthz"] {
        assert_eq!(anyone.get(path).await.code, 200, "{path}");
    }
    assert_eq!(server.reviewer.access_count(), 0);
    assert_eq!(anyone.get("/livez/ping").await.code, 500, "not open to everyone");
    assert_eq!(server.reviewer.access_count(), 1);
}

#[tokio::test]
async fn a_failed_review_is_reported_and_not_cached() {
    let server = TestServer::start().await;
    let mut proxy = server.front_proxy(Http::One).await;
    server.reviewer.failing.store(true, Ordering::SeqCst);
    let response = proxy.request("GET", "/openapi/v2", &AS_ANN).await;
    assert_eq!(response.code, 500);
    assert_eq!(response.message(), r#"Internal Server Error: "/openapi/v2": subjectaccessreviews is forbidden"#);
    server.reviewer.failing.store(false, Ordering::SeqCst);
    assert_eq!(proxy.request("GET", "/openapi/v2", &AS_ANN).await.code, 200);
}
