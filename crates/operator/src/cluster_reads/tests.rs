use std::convert::Infallible;

use http::{Request as HttpRequest, Response};
use kedge_cluster::NamespacedName;
use kedge_core::credentials::ReferenceKind;
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::credentials::SecretAccess;

/// An API server that answers by the query of the request, and remembers what it was asked.
fn server(answer: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) -> (KubeReads, Arc<Mutex<Vec<String>>>) {
    server_with(credentials::Settings::default(), answer)
}

fn server_with(
    settings: credentials::Settings,
    answer: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static,
) -> (KubeReads, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (seen, answer) = (asked.clone(), Arc::new(answer));
    let service = tower::service_fn(move |request: HttpRequest<Body>| {
        let uri = request.uri().to_string();
        seen.lock().unwrap().push(uri.clone());
        let answer = answer.clone();
        async move {
            // Answers take a moment, so that several can wait for one.
            tokio::time::sleep(Duration::from_millis(10)).await;
            let (status, body) = answer(&uri);
            let response = Response::builder().status(status).body(Body::from(body.to_string().into_bytes()));
            Ok::<_, Infallible>(response.unwrap())
        }
    });
    (KubeReads::new(Client::new(service, "default"), settings), asked)
}

fn pod(phase: Option<&str>, node: Option<&str>) -> Value {
    json!({ "metadata": { "name": "p" }, "spec": { "nodeName": node, "containers": [] }, "status": { "phase": phase } })
}

fn list(items: &[Value], next: &str) -> Value {
    json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": "7", "continue": next }, "items": items })
}

#[tokio::test(start_paused = true)]
async fn pods_that_have_not_ended_are_counted_over_all_pages() {
    let (reads, asked) = server(|uri| match uri.contains("continue=more") {
        false => {
            let terminating = json!({ "metadata": { "deletionTimestamp": "2026-08-20T10:11:12Z" },
                "spec": { "nodeName": "b" }, "status": { "phase": "Running" } });
            let pods = [
                pod(Some("Running"), Some("a")),
                pod(Some("Running"), Some("a")),
                pod(Some("Pending"), None),
                pod(Some("Pending"), Some("")),
                pod(Some("Succeeded"), Some("c")),
                pod(Some("Failed"), Some("d")),
                terminating,
            ];
            (200, list(&pods, "more"))
        }
        true => (200, list(&[pod(Some("Unknown"), Some("b")), pod(None, Some("e")), json!({ "metadata": {} })], "")),
    });
    assert_eq!(reads.pods("shop", "app in (a, b),!old").await, Ok(PodCount { pods: 8, nodes: 3 }));
    let asked = asked.lock().unwrap().clone();
    let path = "/api/v1/namespaces/shop/pods?&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed\
        &labelSelector=app+in+%28a%2C+b%29%2C%21old";
    let first = format!("{path}&resourceVersion=0&resourceVersionMatch=NotOlderThan");
    assert_eq!(asked, [first, format!("{path}&continue=more")]);
}

#[tokio::test(start_paused = true)]
async fn no_pods_are_zero_but_no_answer_is_not() {
    let (reads, _) = server(|_| (200, list(&[], "")));
    assert_eq!(reads.pods("shop", "a").await, Ok(PodCount { pods: 0, nodes: 0 }));
    let forbidden = json!({ "kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "pods is forbidden" });
    let rows = [(403, forbidden), (500, json!({})), (200, json!({ "metadata": {} })), (200, json!("hello"))];
    for (status, body) in rows {
        let (reads, _) = server(move |_| (status, body.clone()));
        let error = reads.pods("shop", "a").await.unwrap_err();
        assert_eq!(error.reason(), "ClusterUnreadable", "{status}: {error}");
    }
    let (reads, _) =
        server(|uri| if uri.contains("continue") { (410, json!({})) } else { (200, list(&[pod(None, None)], "x")) });
    assert!(reads.pods("shop", "a").await.is_err(), "half of a list is not a count");
}

#[tokio::test(start_paused = true)]
async fn triggers_that_want_the_same_share_one_list_for_a_moment() {
    let (reads, asked) = server(|_| (200, list(&[pod(Some("Running"), None)], "")));
    let (one, same, other, elsewhere) =
        tokio::join!(reads.pods("a", "x"), reads.pods("a", "x"), reads.pods("a", "y"), reads.pods("b", "x"));
    assert!([&one, &same, &other, &elsewhere].iter().all(|count| **count == Ok(PodCount { pods: 1, nodes: 0 })));
    assert_eq!(asked.lock().unwrap().len(), 3);
    tokio::time::advance(Duration::from_millis(900)).await;
    reads.pods("a", "x").await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 3);
    tokio::time::advance(Duration::from_millis(100)).await;
    reads.pods("a", "x").await.unwrap();
    assert_eq!((asked.lock().unwrap().len(), reads.counts.lock().unwrap().len()), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn one_that_gives_up_does_not_take_the_others_along() {
    let (reads, asked) = server(|_| (200, list(&[pod(Some("Running"), None)], "")));
    let impatient = tokio::time::timeout(Duration::from_millis(5), reads.pods("a", "x"));
    let (impatient, patient) = tokio::join!(impatient, reads.pods("a", "x"));
    assert!(impatient.is_err() && patient.is_ok());
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn endpoints_that_may_be_ready_are_found_with_their_ports() {
    let slices = [
        json!({ "metadata": {}, "addressType": "IPv4", "ports": [{ "port": 8080 }, { "name": "x" }], "endpoints": [
            { "addresses": ["10.0.0.1"], "conditions": { "ready": true } },
            { "addresses": ["10.0.0.2"], "conditions": { "ready": false } },
            { "addresses": ["10.0.0.3"], "conditions": {} },
            { "addresses": ["10.0.0.4"] },
        ] }),
        json!({ "metadata": {}, "addressType": "IPv6", "ports": null, "endpoints": [{ "addresses": ["fd00::1"] }] }),
        json!({ "metadata": {}, "addressType": "IPv4", "endpoints": null }),
    ];
    let (reads, asked) = server(move |_| (200, list(&slices, "")));
    let endpoint =
        |address: &str, ports: &[u16]| ServiceEndpoint { address: address.to_owned(), ports: ports.to_vec() };
    let expected = vec![
        endpoint("10.0.0.1", &[8080]),
        endpoint("10.0.0.3", &[8080]),
        endpoint("10.0.0.4", &[8080]),
        endpoint("fd00::1", &[]),
    ];
    assert_eq!(reads.endpoints("shop", "web").await, Ok(expected));
    assert_eq!(
        asked.lock().unwrap().clone(),
        ["/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?&labelSelector=kubernetes.io%2Fservice-name%3Dweb\
          &resourceVersion=0&resourceVersionMatch=NotOlderThan"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_is_read_by_its_name() {
    let (reads, asked) = server(|uri| match uri.trim_end_matches('?') {
        "/api/v1/namespaces/shop/configmaps/limits" => (200, json!({ "metadata": {}, "data": { "depth": "12" } })),
        "/api/v1/namespaces/shop/secrets/limits" => {
            (200, json!({ "metadata": {}, "data": { "depth": "MTI=", "odd": "/w==" } }))
        }
        "/api/v1/namespaces/shop/configmaps/locked" => {
            let message = "configmaps \"locked\" is forbidden";
            (
                403,
                json!({ "kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": message }),
            )
        }
        _ => (
            404,
            json!({ "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "not found" }),
        ),
    });
    let read = async |kind, name: &str| reads.content(&Reference::new(kind, "shop", name)).await;
    let depth = |content: ReferenceContent| match content {
        ReferenceContent::Data(data) => data["depth"].as_ref().map(|text| text.reveal().to_owned()),
        other => panic!("{other:?}"),
    };
    assert_eq!(depth(read(ReferenceKind::ConfigMap, "limits").await.unwrap()).as_deref(), Some("12"));
    let secret = read(ReferenceKind::Secret, "limits").await.unwrap();
    assert!(matches!(&secret, ReferenceContent::Data(data) if data["odd"].is_none()), "what is not text");
    assert_eq!(depth(secret).as_deref(), Some("12"));
    assert_eq!(read(ReferenceKind::ConfigMap, "gone").await, Ok(ReferenceContent::Missing));
    let error = read(ReferenceKind::ConfigMap, "locked").await.unwrap_err();
    assert_eq!(error.reason(), "ClusterUnreadable");
    assert!(
        error
            .to_string()
            .contains("cannot read ConfigMaps from the cluster: configmaps \"locked\" is forbidden; allow"),
        "{error}"
    );
    let before = asked.lock().unwrap().len();
    for name in ["../../keda/secrets/creds", "", "a b"] {
        assert_eq!(read(ReferenceKind::Secret, name).await, Ok(ReferenceContent::Missing), "{name}");
    }
    assert_eq!(asked.lock().unwrap().len(), before, "names that lead elsewhere are not requested");
}

#[tokio::test(start_paused = true)]
async fn secrets_that_are_withheld_are_not_requested() {
    let restricted = credentials::Settings {
        secrets: SecretAccess::ClusterObjectNamespaceOnly,
        cluster_object_namespace: Some("keda".to_owned()),
        own_secret: Some(NamespacedName::new("keda", "kedaorg-certs")),
        ..credentials::Settings::default()
    };
    let open = credentials::Settings { secrets: SecretAccess::EveryNamespace, ..restricted.clone() };
    let rows = [
        ("restricted, elsewhere", &restricted, ReferenceKind::Secret, "shop", "limits", true),
        ("restricted, in the operator's namespace", &restricted, ReferenceKind::Secret, "keda", "limits", false),
        ("restricted, a ConfigMap", &restricted, ReferenceKind::ConfigMap, "shop", "limits", false),
        ("the operator's own keys", &open, ReferenceKind::Secret, "keda", "kedaorg-certs", true),
        ("not restricted", &open, ReferenceKind::Secret, "shop", "limits", false),
    ];
    for (title, settings, kind, namespace, name, is_withheld) in rows {
        let (reads, asked) = server_with(settings.clone(), |_| (200, json!({ "metadata": {}, "data": {} })));
        let content = reads.content(&Reference::new(kind, namespace, name)).await.unwrap();
        assert_eq!(content == ReferenceContent::Withheld, is_withheld, "{title}");
        assert_eq!(asked.lock().unwrap().is_empty(), is_withheld, "{title}");
    }
}
