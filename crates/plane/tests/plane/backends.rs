//! Servers behind the plane: webhooks that are asked, and groups that others serve.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use k8s_openapi::api::core::v1::{ConfigMap, Event as CoreEvent};
use k8s_openapi::api::events::v1::Event;
use kedge_plane::{AsOf, Backend, Call, Gvr, Options, Plane, Verb};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::Instant;

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixture is well-formed")
}

fn dynamic(client: &Client, group: &str, kind: &str) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind)))
}

async fn configure(client: &Client, policy: &str) {
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": { "name": "w" },
        "webhooks": [{
            "name": "w.example.com", "failurePolicy": policy, "timeoutSeconds": 7, "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": { "service": { "name": "hooks", "namespace": "default", "path": "/check", "port": 443 } },
            "objectSelector": { "matchLabels": { "checked": "yes" } },
            "rules": [{ "operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "scope": "Namespaced" }],
        }],
    });
    let api = dynamic(client, "admissionregistration.k8s.io", "ValidatingWebhookConfiguration");
    api.create(&PostParams::default(), &from(configuration)).await.expect("create");
}

fn named(name: &str) -> ConfigMap {
    from(json!({ "metadata": { "name": name, "labels": { "checked": "yes" } } }))
}

/// A webhook that allows names that begin with `good`.
fn strict(seen: Arc<Mutex<Vec<Value>>>) -> Backend {
    Backend::new(move |request: Request<Body>| {
        let seen = seen.clone();
        async move {
            let review: Value =
                serde_json::from_slice(&request.into_body().collect_bytes().await.map_err(|e| e.to_string())?)
                    .expect("JSON");
            let (uid, name) =
                (review["request"]["uid"].clone(), review["request"]["name"].as_str().unwrap_or("").to_owned());
            seen.lock().expect("unpoisoned").push(review);
            let status = json!({ "code": 403, "reason": "Forbidden", "message": format!("{name} is not good") });
            let response = json!({ "uid": uid, "allowed": name.starts_with("good"), "status": status });
            let answer =
                json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response });
            Ok(Response::new(Body::from(answer.to_string().into_bytes())))
        }
    })
}

fn message(error: kube::Error) -> (u16, String) {
    match error {
        kube::Error::Api(status) => (status.code, status.message.clone()),
        other => panic!("not a refusal: {other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn webhooks_are_called_and_their_denials_returned() {
    let plane = Plane::new(Options::default());
    let client = plane.client("tester");
    let seen = Arc::new(Mutex::new(Vec::new()));
    plane.register_backend("hooks.default.svc", strict(seen.clone()));
    configure(&client, "Fail").await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &named("good")).await.expect("create");
    let refused = message(api.create(&PostParams::default(), &named("bad")).await.expect_err("refused"));
    assert_eq!(refused, (403, "admission webhook \"w.example.com\" denied the request: bad is not good".to_owned()));
    let exempt: ConfigMap = from(json!({ "metadata": { "name": "bad" } }));
    api.create(&PostParams::default(), &exempt).await.expect("no webhook matches");
    let seen = seen.lock().expect("unpoisoned");
    assert_eq!(seen[0]["request"]["operation"], "CREATE");
    assert_eq!(seen[0]["request"]["userInfo"]["username"], "tester");
    assert_eq!(seen[0]["request"]["resource"], json!({ "group": "", "version": "v1", "resource": "configmaps" }));
}

#[tokio::test(start_paused = true)]
async fn webhooks_that_fail_count_as_their_policy_says() {
    let fail = "Internal error occurred: failed calling webhook \"w.example.com\": failed to call webhook: Post \"https://hooks.default.svc:443/check?timeout=7s\": ";
    let rows: [(&str, Option<Backend>, Option<String>, u64); 4] = [
        ("Fail", None, Some(format!("{fail}service \"hooks\" not found")), 0),
        ("Ignore", None, None, 0),
        (
            "Fail",
            Some(Backend::new(|_| async { Err("connection refused".to_owned()) })),
            Some(format!("{fail}connection refused")),
            0,
        ),
        ("Fail", Some(Backend::new(|_| std::future::pending())), Some(format!("{fail}context deadline exceeded")), 7),
    ];
    for (policy, backend, expected, seconds) in rows {
        let plane = Plane::new(Options::default());
        let client = plane.client("tester");
        if let Some(backend) = backend {
            plane.register_backend("hooks.default.svc", backend);
        }
        configure(&client, policy).await;
        let started = Instant::now();
        let created = Api::<ConfigMap>::default_namespaced(client).create(&PostParams::default(), &named("x")).await;
        assert_eq!(created.err().map(|error| message(error).1), expected, "{policy}");
        assert_eq!(started.elapsed(), Duration::from_secs(seconds), "{policy}");
    }
}

fn metrics_service() -> DynamicObject {
    from(json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": { "name": "v1beta1.external.metrics.k8s.io" },
        "spec": {
            "group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": { "name": "metrics", "namespace": "default", "port": 443 },
        },
    }))
}

#[tokio::test(start_paused = true)]
async fn groups_of_other_servers_are_passed_on() {
    let plane = Plane::new(Options::default());
    let client = plane.client("tester");
    let services = dynamic(&client, "apiregistration.k8s.io", "APIService");
    services.create(&PostParams::default(), &metrics_service()).await.expect("create");
    let available = |service: &DynamicObject| service.data["status"]["conditions"][0]["status"].clone();
    let name = "v1beta1.external.metrics.k8s.io";
    assert_eq!(available(&services.get(name).await.expect("get")), "False");
    let call = Call {
        user: "tester".to_owned(),
        verb: Verb::List,
        resource: Gvr::new("external.metrics.k8s.io", "v1beta1", "queue"),
        namespace: Some("default".to_owned()),
        name: None,
        subresource: None,
        params: vec![("labelSelector".to_owned(), "a=b".to_owned())],
        body: None,
    };
    let refused = plane.call(call.clone()).await.expect_err("no backend is registered");
    assert_eq!((refused.code, refused.message.as_str()), (503, "service unavailable"));
    plane.register_backend(
        "metrics.default.svc",
        Backend::new(|request: Request<Body>| async move {
            let user = request.headers()["x-remote-user"].to_str().unwrap_or("").to_owned();
            let answer = json!({ "path": request.uri().to_string(), "user": user });
            Ok(Response::new(Body::from(answer.to_string().into_bytes())))
        }),
    );
    assert_eq!(available(&services.get(name).await.expect("get")), "True");
    let answer = plane.call(call).await.expect("an answer");
    let path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue?labelSelector=a%3Db";
    assert_eq!(answer, json!({ "path": path, "user": "tester" }));
    let groups = client.list_api_groups().await.expect("groups");
    assert!(groups.groups.iter().any(|group| group.name == "external.metrics.k8s.io"));
}

#[tokio::test(start_paused = true)]
async fn events_have_two_faces() {
    let client = Plane::new(Options::default()).client("tester");
    let new: Api<Event> = Api::default_namespaced(client.clone());
    let event = json!({
        "metadata": { "name": "e" }, "eventTime": "2026-01-01T00:00:00.000000Z", "regarding": { "kind": "Pod", "name": "p", "namespace": "default" },
        "reason": "Tested", "note": "it was", "type": "Normal", "action": "Test", "reportingController": "tests/c", "reportingInstance": "c-0",
    });
    new.create(&PostParams::default(), &from(event)).await.expect("create");
    let old: Api<CoreEvent> = Api::default_namespaced(client);
    let read = old.get("e").await.expect("get");
    assert_eq!((read.message.as_deref(), read.involved_object.name.as_deref()), (Some("it was"), Some("p")));
    assert_eq!(read.reporting_component.as_deref(), Some("tests/c"));
    assert_eq!(new.get("e").await.expect("get").note.as_deref(), Some("it was"));
}

#[tokio::test(start_paused = true)]
async fn reads_can_be_made_stale() {
    let plane = Plane::new(Options::default());
    let api: Api<ConfigMap> = Api::default_namespaced(plane.client("tester"));
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &named(name)).await.expect("create");
    }
    for (behind, expected) in [(0, 2), (1, 1), (2, 0)] {
        let mut request = Request::get("/api/v1/namespaces/default/configmaps").body(Body::empty()).expect("a request");
        request.extensions_mut().insert(AsOf { revisions_behind: behind });
        let bytes = plane.handle("tester", request).await.into_body().collect_bytes().await.expect("a body");
        let list: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(list["items"].as_array().map(Vec::len), Some(expected), "{behind}");
    }
}

#[tokio::test(start_paused = true)]
async fn applying_takes_back_what_is_no_longer_applied() {
    let client = Plane::new(Options::default()).client("tester");
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let apply = PatchParams::apply("tester").force();
    let config =
        |data: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data });
    api.patch("a", &apply, &Patch::Apply(config(json!({ "x": "1", "y": "1" })))).await.expect("apply");
    api.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "data": { "z": "1" } }))).await.expect("patch");
    let applied = api.patch("a", &apply, &Patch::Apply(config(json!({ "x": "2" })))).await.expect("apply");
    assert_eq!(json!(applied.data), json!({ "x": "2", "z": "1" }));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_served_is_said_to_be_so() {
    let plane = Plane::new(Options::default());
    let rows = [
        ("GET", "/nowhere", "", 404, "404 page not found"),
        ("GET", "/apis/example.com/v1/things", "", 404, "404 page not found"),
        ("GET", "/api/v1/things", "", 404, "the server could not find the requested resource"),
        ("POST", "/api/v1/pods", "", 405, "the server does not allow this method on the requested resource"),
        ("PATCH", "/api/v1/namespaces/default", "text/plain", 415, "415: Unsupported Media Type"),
        ("POST", "/api/v1/namespaces", "application/json", 400, "json parse error"),
        ("GET", "/openapi/v2", "", 404, "404 page not found"),
        ("GET", "/readyz", "", 200, "ok"),
        ("GET", "/version", "", 200, "v1.36"),
    ];
    for (method, path, content_type, code, text) in rows {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(Body::from(b"{".to_vec()))
            .expect("a request");
        let answer = plane.handle("tester", request).await;
        assert_eq!(answer.status().as_u16(), code, "{method} {path}");
        let bytes = answer.into_body().collect_bytes().await.expect("a body");
        let body = String::from_utf8_lossy(&bytes);
        assert!(body.contains(text), "{method} {path}: {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_streaming_answer_can_be_had_with_the_clients_body() {
    let plane = Plane::new(Options::default());
    let request =
        Request::get("/api/v1/namespaces?watch=true&timeoutSeconds=1").body(Body::empty()).expect("a request");
    let bytes = plane.handle("tester", request).await.into_body().collect_bytes().await.expect("a body");
    assert_eq!(String::from_utf8_lossy(&bytes).lines().count(), 4);
}

#[tokio::test(start_paused = true)]
async fn reviews_are_answered() {
    let client = Plane::new(Options::default()).client("tester");
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}, "spec": { "token": "user:me" } });
    let answer = dynamic(&client, "authentication.k8s.io", "TokenReview")
        .create(&PostParams::default(), &from(review))
        .await
        .expect("create");
    assert_eq!(answer.data["status"]["user"]["username"], "me");
    let listed =
        Api::<k8s_openapi::api::core::v1::Namespace>::all(client).list(&ListParams::default()).await.expect("list");
    assert_eq!(
        listed.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(),
        ["default", "kube-node-lease", "kube-public", "kube-system"]
    );
}
