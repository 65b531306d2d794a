//! An API server for unit tests: a plane, beside what tests want to do to it and to know of it.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use kedge_plane::{Options, Plane};
use kedge_scalers::{Connector, NoCluster, Registry};
use kube::client::Body;
use serde_json::{Value, json};
use tower_service::Service;

use crate::operator::{Operator, Settings};
use kedge_cluster::Clock;
use kedge_cluster::NamespacedName;
use kedge_cluster::target::{ScaleTarget, TargetKind};

/// What every test begins with: namespaces and our kinds.
static PREPARED: LazyLock<Plane> = LazyLock::new(|| {
    let cluster = TestCluster::on(Plane::new(Options::default()));
    for name in ["shop", "keda"] {
        cluster.apply(&format!("/api/v1/namespaces/{name}"), json!({}));
    }
    for crd in kedge_api::crd::all() {
        let name = crd.metadata.name.clone().expect("a name");
        let crd = serde_json::to_value(crd).expect("a CRD is JSON");
        cluster.apply(&format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"), crd);
    }
    cluster.plane
});

/// A Deployment as a target.
pub(crate) fn deployment(namespace: &str, name: &str) -> ScaleTarget {
    let reference = serde_json::from_value(json!({ "name": name })).expect("a reference");
    let kind = TargetKind::built_in(&reference).expect("a Deployment by default");
    ScaleTarget { kind, key: NamespacedName::new(namespace, name) }
}

type AnyBody = UnsyncBoxBody<Bytes, tower::BoxError>;

/// The server. Clones are the same one.
#[derive(Clone)]
pub(crate) struct TestCluster {
    plane: Plane,
    notes: Arc<Mutex<Notes>>,
}

#[derive(Default)]
struct Notes {
    /// Paths that fail, with their status.
    broken: BTreeMap<String, u16>,
    /// The end of paths whose requests take this long.
    slow: Option<(String, Duration)>,
    requests: Vec<String>,
    watched: BTreeMap<String, usize>,
}

impl TestCluster {
    pub(crate) fn new() -> Self {
        let issue = Arc::new(|user: &str, audiences: &[String]| match audiences {
            [one] if one == "https://kubernetes.default.svc" => format!("token of {user}"),
            _ => token(user, audiences),
        });
        Self::on(PREPARED.fork(Options { issue, ..Options::default() }))
    }

    fn on(plane: Plane) -> Self {
        Self { plane, notes: Arc::default() }
    }

    /// A client whose requests are noted, and fail where paths are broken.
    pub(crate) fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    /// An operator of this cluster, at noon, which has not begun.
    pub(crate) fn operator(&self) -> Operator {
        self.operator_with(Registry::new(Default::default(), Connector::tcp(), Arc::new(NoCluster)))
    }

    /// The same, with this registry.
    pub(crate) fn operator_with(&self, registry: Registry) -> Operator {
        self.start(registry, false)
    }

    /// The same, which runs ScaledJobs.
    pub(crate) fn operator_of_jobs(&self, registry: Registry) -> Operator {
        self.start(registry, true)
    }

    fn start(&self, registry: Registry, runs_scaled_jobs: bool) -> Operator {
        let settings = Settings {
            namespaces: Vec::new(),
            selector: None,
            concurrency: 1,
            instance: "one".to_owned(),
            version: "1.0.0".to_owned(),
            credentials: Default::default(),
            election: None,
            history: None,
            runs_scaled_jobs,
        };
        let noon: DateTime<Utc> = "2026-06-01T12:00:00Z".parse().expect("a time");
        Operator::start(self.client(), Clock::starting_at(noon), registry, settings)
    }

    /// Creates a Deployment in the namespace `shop`, and a ScaledObject that an earlier process managed, with a cron trigger whose
    /// window is open all year and asks for 4. `spec` is merged over that.
    pub(crate) fn apply_known(&self, name: &str, replicas: i32, spec: Value) {
        let labels = json!({ "app": name });
        let pod = json!({ "containers": [{ "name": "main", "image": "main" }] });
        let template = json!({ "metadata": { "labels": labels }, "spec": pod });
        let workload = json!({ "replicas": replicas, "selector": { "matchLabels": labels }, "template": template });
        self.apply(&format!("/apis/apps/v1/namespaces/shop/deployments/{name}"), json!({ "spec": workload }));
        let cron =
            json!({ "timezone": "Etc/UTC", "start": "0 0 1 1 *", "end": "59 23 31 12 *", "desiredReplicas": "4" });
        let trigger = json!({ "type": "cron", "metadata": cron });
        let mut object = json!({
            "spec": { "scaleTargetRef": { "name": name }, "triggers": [trigger] },
            "status": { "hpaName": format!("keda-hpa-{name}") },
        });
        for (field, value) in spec.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        self.apply(&format!("/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects/{name}"), object);
    }

    /// Creates or replaces an object, status included, as another client does.
    pub(crate) fn apply(&self, path: &str, mut object: Value) {
        let (collection, name) = path.rsplit_once('/').expect("a path with a name");
        let (api_version, kind) = named_by(collection);
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object["metadata"]["name"] = json!(name);
        let version = |stored: &Value| stored["metadata"]["resourceVersion"].clone();
        object["metadata"]["resourceVersion"] = self.object(path).as_ref().map(version).unwrap_or_default();
        let stored = match object["metadata"]["resourceVersion"].is_string() {
            true => self.send(Method::PUT, path, &object),
            false => self.send(Method::POST, collection, &object),
        };
        if object.get("status").is_some() {
            object["metadata"]["resourceVersion"] = version(&stored);
            self.send(Method::PUT, &format!("{path}/status"), &object);
        }
    }

    pub(crate) fn delete(&self, path: &str) {
        self.send(Method::DELETE, path, &json!({}));
    }

    fn send(&self, method: Method, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask(method, path, body.to_string().into());
        assert!(status.is_success(), "{path}: {answer}");
        answer
    }

    /// Sends a request to the plane itself, which answers at once: no other request is in flight.
    fn ask(&self, method: Method, path: &str, body: Vec<u8>) -> (http::StatusCode, Value) {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.body(Body::from(body)).expect("a request");
        let answering = async {
            let (head, body) = self.plane.handle("another-client", request).await.into_parts();
            let body = body.collect().await.expect("a complete body").to_bytes();
            (head.status, serde_json::from_slice(&body).unwrap_or_default())
        };
        answering.now_or_never().expect("nothing has to be waited for")
    }

    /// Lets every request for a path fail from now on; with `?` at its end, every one that selects no name.
    pub(crate) fn break_path(&self, path: &str, code: u16) {
        self.notes().broken.insert(path.to_owned(), code);
    }

    /// Lets requests for a path succeed again.
    pub(crate) fn mend_path(&self, path: &str) {
        self.notes().broken.remove(path);
    }

    /// Delays every request for a path with this end from now on.
    pub(crate) fn slow_down(&self, path_end: &str, delay: Duration) {
        self.notes().slow = Some((path_end.to_owned(), delay));
    }

    pub(crate) fn object(&self, path: &str) -> Option<Value> {
        let (status, object) = self.ask(Method::GET, path, Vec::new());
        status.is_success().then_some(object)
    }

    /// All objects of a collection.
    pub(crate) fn objects(&self, path: &str) -> Vec<Value> {
        self.send(Method::GET, path, &Value::Null)["items"].as_array().cloned().unwrap_or_default()
    }

    /// The requests of clients so far, as `METHOD path`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.notes().requests.clone()
    }

    /// What is being watched now, as paths with the name that is selected.
    pub(crate) fn watched(&self) -> BTreeSet<String> {
        self.notes().watched.iter().filter(|(_, count)| **count > 0).map(|(what, _)| what.clone()).collect()
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().expect("no holder of the lock panics")
    }

    async fn answer(self, request: Request<Body>) -> Response<AnyBody> {
        let (path, query) = (request.uri().path().to_owned(), request.uri().query().unwrap_or_default().to_owned());
        let is_watch = query.contains("watch=true");
        let kind = if is_watch { " watch" } else { "" };
        self.notes().requests.push(format!("{} {path}{kind}", request.method()));
        let delay = self.notes().slow.as_ref().filter(|(end, _)| path.ends_with(end)).map(|(_, delay)| *delay);
        if let Some(delay) = delay {
            tokio::time::sleep(delay).await;
        }
        let selection = format!("{path}?{}", selected(&query));
        let broken = |notes: &Notes| notes.broken.get(&path).or_else(|| notes.broken.get(&selection)).copied();
        let failure = broken(&self.notes());
        if let Some(code) = failure {
            return status(code);
        }
        let watched = is_watch.then(|| Watched::begin(&self, selection));
        let answer = self.plane.serve("operator", request).await;
        let counted = move |frame| {
            let _lasts = &watched;
            frame
        };
        answer.map(|body| body.map_frame(counted).boxed_unsync())
    }
}

/// Counts a watch while it lasts.
struct Watched {
    cluster: TestCluster,
    what: String,
}

impl Watched {
    fn begin(cluster: &TestCluster, what: String) -> Self {
        *cluster.notes().watched.entry(what.clone()).or_default() += 1;
        Self { cluster: cluster.clone(), what }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(count) = self.cluster.notes().watched.get_mut(&self.what) {
            *count -= 1;
        }
    }
}

/// The version and kind of the objects of a collection.
fn named_by(collection: &str) -> (String, &'static str) {
    let parts: Vec<&str> = collection.trim_start_matches('/').split('/').collect();
    let api_version = if parts[0] == "api" { parts[1].to_owned() } else { parts[1..3].join("/") };
    let kind = match *parts.last().expect("a resource") {
        "clustertriggerauthentications" => "ClusterTriggerAuthentication",
        "configmaps" => "ConfigMap",
        "customresourcedefinitions" => "CustomResourceDefinition",
        "deployments" => "Deployment",
        "horizontalpodautoscalers" => "HorizontalPodAutoscaler",
        "jobs" => "Job",
        "leases" => "Lease",
        "namespaces" => "Namespace",
        "pods" => "Pod",
        "scaledjobs" => "ScaledJob",
        "scaledobjects" => "ScaledObject",
        "secrets" => "Secret",
        "serviceaccounts" => "ServiceAccount",
        "triggerauthentications" => "TriggerAuthentication",
        other => panic!("no test has needed {other} so far"),
    };
    (api_version, kind)
}

/// The name that a field selector asks for.
fn selected(query: &str) -> &str {
    let selector = query.split('&').find_map(|pair| pair.strip_prefix("fieldSelector=metadata.name%3D"));
    selector.unwrap_or_default()
}

fn status(code: u16) -> Response<AnyBody> {
    let text = json!({ "kind": "Status", "status": "Failure", "message": format!("status {code}"), "reason": "", "code": code });
    let mut response =
        Response::new(Full::new(Bytes::from(text.to_string())).map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = http::StatusCode::from_u16(code).expect("a status code");
    response
}

impl Service<Request<Body>> for TestCluster {
    type Response = Response<AnyBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.clone().answer(request).map(Ok).boxed()
    }
}

/// A token of a service account, which ends in the year 2100.
pub(crate) fn token(user: &str, audiences: &[String]) -> String {
    let claims = json!({ "sub": user, "aud": audiences, "exp": 4_102_444_800_u64 });
    format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string()))
}
