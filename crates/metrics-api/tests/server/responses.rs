//! The responses of the API.

use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, LOCATION, RETRY_AFTER, VARY};

use crate::support::{Http, RESOURCES, TestServer, metric};

const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const V2BETA1: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

#[tokio::test]
async fn a_metric_has_the_form_that_the_hpa_reads() {
    let server = TestServer::start().await;
    let hpa = [
        ("Accept", "application/vnd.kubernetes.protobuf, */*"),
        ("X-Remote-User", "system:serviceaccount:kube-system:horizontal-pod-autoscaler"),
        ("X-Remote-Group", "system:serviceaccounts"),
    ];
    for http in [Http::One, Http::Two] {
        let response = server.front_proxy(http).await.request("GET", &metric("pair"), &hpa).await;
        assert_eq!(response.code, 200, "{http:?}");
        assert_eq!(response.headers[CONTENT_TYPE], "application/json");
        assert_eq!(response.headers[CACHE_CONTROL], "no-cache, private");
        let expected = concat!(
            r#"{"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1","metadata":{},"items":["#,
            r#"{"metricName":"pair","metricLabels":null,"timestamp":"2024-05-01T10:00:00Z","value":"1500m"},"#,
            r#"{"metricName":"pair","metricLabels":null,"timestamp":"2024-05-01T10:00:00Z","value":"12"}]}"#,
            "\n",
        );
        assert_eq!(response.body, expected);
    }
    let read = ("shop".to_owned(), "web".to_owned(), "pair".to_owned());
    assert_eq!(*server.source.reads.lock().expect("not poisoned"), [read.clone(), read]);
}

#[tokio::test]
async fn failed_requests_report_their_reason() {
    let server = TestServer::start().await;
    let mut client = server.anyone().await;
    let queue = format!("{RESOURCES}/namespaces/shop/queue");
    #[rustfmt::skip]
    let rows = [
        ("GET", metric("absent"), "*/*", 404, "no metric absent in ScaledObject shop/web"),
        ("GET", metric("down"), "*/*", 503, "prometheus does not answer"),
        ("GET", metric("broken"), "*/*", 500, "the formula divides by zero"),
        ("GET", metric("empty"), "*/*", 404, "no value was found for metric empty"),
        ("GET", queue.clone(), "*/*", 400, "the label selector is missing; expected scaledobject.keda.sh/name=<name of the ScaledObject>"),
        ("GET", format!("{queue}?labelSelector=a+in+%28b%29"), "*/*", 400, r#"the label selector "a in (b)" is not made of key=value pairs alone: "a in (b)"; expected scaledobject.keda.sh/name=<name of the ScaledObject>"#),
        ("GET", format!("{queue}?watch=true"), "*/*", 405, r#"watch is not supported on resources of kind "externalmetrics.external.metrics.k8s.io""#),
        ("POST", metric("queue"), "*/*", 405, "the server does not allow this method on the requested resource"),
        ("DELETE", RESOURCES.to_owned(), "*/*", 405, "the server does not allow this method on the requested resource"),
        ("GET", metric("queue"), "application/yaml", 406, "only the following media types are accepted: application/json"),
        ("GET", "/apis".to_owned(), V2BETA1, 406, "only the following media types are accepted: application/json"),
        ("GET", "/".to_owned(), "*/*", 404, "the server could not find the requested resource"),
        ("GET", "/apis/external.metrics.k8s.io/v2".to_owned(), "*/*", 404, "the server could not find the requested resource"),
        ("GET", "/apis/%zz".to_owned(), "*/*", 400, r#"the path "/apis/%zz" is not percent-encoded UTF-8"#),
        ("GET", "/livez/other".to_owned(), "*/*", 404, "the server could not find the requested resource"),
    ];
    for (method, path, accept, code, message) in rows {
        let response = client.request(method, &path, &[("Accept", accept)]).await;
        assert_eq!((response.code.as_u16(), response.message().as_str()), (code, message), "{method} {path}");
        assert_eq!(response.headers[CONTENT_TYPE], "application/json", "{path}");
        assert!(!response.headers.contains_key(RETRY_AFTER) && !response.headers.contains_key(LOCATION), "{path}");
    }
}

#[tokio::test]
async fn discovery_is_plain_by_default() {
    let server = TestServer::start().await;
    let mut client = server.anyone().await;
    let rows = [
        ("/apis", "APIGroupList"),
        ("/apis/external.metrics.k8s.io", "APIGroup"),
        (RESOURCES, "APIResourceList"),
        ("/apis/external.metrics.k8s.io/v1beta1/", "APIResourceList"),
    ];
    for (path, kind) in rows {
        let response = client.get(path).await;
        assert_eq!(response.code, 200, "{path}");
        assert_eq!(response.headers[CONTENT_TYPE], "application/json", "{path}");
        assert_eq!(response.headers[CACHE_CONTROL], "no-cache, private", "{path}");
        assert_eq!(response.json()["kind"], kind, "{path}");
        assert!(response.body.ends_with("}\n"), "{path}");
    }
    let resources = client.get(RESOURCES).await.json()["resources"].clone();
    let expected = serde_json::json!([{
        "name": "externalmetrics",
        "singularName": "",
        "namespaced": true,
        "kind": "ExternalMetricValueList",
        "verbs": ["get"],
    }]);
    assert_eq!(resources, expected);
}

#[tokio::test]
async fn aggregated_discovery_is_complete_and_sent_once() {
    let server = TestServer::start().await;
    let mut client = server.anyone().await;
    let accept = format!("{V2},{V2BETA1}");
    let response = client.request("GET", "/apis", &[("Accept", &accept)]).await;
    assert_eq!(response.code, 200);
    assert_eq!(response.headers[CONTENT_TYPE], V2);
    assert_eq!(response.headers[VARY], "Accept");
    assert_eq!(response.headers[CACHE_CONTROL], "public");
    let group = &response.json()["items"][0];
    assert_eq!(group["metadata"]["name"], "external.metrics.k8s.io");
    assert_eq!(group["versions"][0]["resources"][0]["resource"], "externalmetrics");
    let tag = response.headers[ETAG].to_str().expect("text").to_owned();
    let again = client.request("GET", "/apis", &[("Accept", &accept), ("If-None-Match", &tag)]).await;
    assert_eq!((again.code.as_u16(), again.body.as_str()), (304, ""));
    assert_eq!(again.headers[ETAG], tag.as_str());
    let plain = client.request("GET", "/apis", &[("If-None-Match", &tag)]).await;
    assert_eq!(plain.code, 200, "the plain document is another one");
}

#[tokio::test]
async fn openapi_is_found_by_its_index() {
    let server = TestServer::start().await;
    let mut client = server.anyone().await;
    assert_eq!(client.get("/openapi/v2").await.json()["swagger"], "2.0");
    let index = client.get("/openapi/v3").await.json();
    let address =
        index["paths"]["apis/external.metrics.k8s.io/v1beta1"]["serverRelativeURL"].as_str().expect("an address");
    let document = client.get(address).await;
    assert_eq!(document.json()["openapi"], "3.0.0");
    let tag = document.headers[ETAG].to_str().expect("text").trim_matches('"').to_owned();
    assert!(address.ends_with(&format!("?hash={tag}")), "{address}");
    let stale = client.get("/openapi/v3/apis/external.metrics.k8s.io/v1beta1?hash=STALE").await;
    assert_eq!((stale.code.as_u16(), stale.body), (200, document.body), "never a redirect");
}

#[tokio::test]
async fn probes_follow_the_readiness_of_the_process() {
    let server = TestServer::start().await;
    let mut client = server.anyone().await;
    let waiting = client.get("/readyz").await;
    assert_eq!(waiting.code, 500);
    assert!(waiting.body.contains("[-]metrics failed: reason withheld\n"), "{}", waiting.body);
    assert_eq!(client.get("/livez").await.body, "ok");
    server.readiness.mark_ready();
    let ready = client.get("/readyz").await;
    assert_eq!((ready.code.as_u16(), ready.body.as_str()), (200, "ok"));
    assert_eq!(ready.headers[CONTENT_TYPE], "text/plain; charset=utf-8");
    server.readiness.mark_unready();
    assert_eq!(client.get("/readyz").await.code, 500);
}

#[tokio::test]
async fn a_head_has_all_but_the_body() {
    let server = TestServer::start().await;
    for http in [Http::One, Http::Two] {
        let mut client = server.front_proxy(http).await;
        let user = [("X-Remote-User", "ann")];
        let full = client.request("GET", &metric("queue"), &user).await;
        let head = client.request("HEAD", &metric("queue"), &user).await;
        assert_eq!((head.code.as_u16(), head.body.as_str()), (200, ""), "{http:?}");
        assert_eq!(head.headers[CONTENT_LENGTH], full.body.len().to_string().as_str(), "{http:?}");
        assert_eq!(head.headers[CONTENT_TYPE], "application/json", "{http:?}");
    }
}

#[tokio::test]
async fn the_version_is_served() {
    let server = TestServer::start().await;
    let version = server.anyone().await.get("/version").await.json();
    assert_eq!(version["gitVersion"], concat!("v", env!("CARGO_PKG_VERSION")));
}
