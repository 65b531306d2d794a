//! A small API server without a cluster, for tests: it keeps objects, lists and watches them, and takes merge patches.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::watch as signal;
use tower_service::Service;

use crate::key::Key;
use crate::target::{Target, TargetKind};

/// A Deployment as a target.
pub(crate) fn deployment(namespace: &str, name: &str) -> Target {
    let text = |text: &str| text.to_owned();
    let kind = TargetKind {
        group: text("apps"),
        version: text("v1"),
        kind: text("Deployment"),
        resource: text("deployments"),
    };
    Target { kind, key: Key::new(namespace, name) }
}

type AnyBody = UnsyncBoxBody<Bytes, Infallible>;

/// The server. Clones are the same one.
#[derive(Clone)]
pub(crate) struct FakeCluster {
    state: Arc<Mutex<State>>,
    version: signal::Sender<u64>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    history: Vec<Change>,
    /// Paths that fail, with their status.
    broken: BTreeMap<String, u16>,
    requests: Vec<String>,
    watched: BTreeMap<String, usize>,
}

struct Change {
    version: u64,
    what: &'static str,
    path: String,
    object: Value,
}

impl FakeCluster {
    pub(crate) fn new() -> Self {
        Self { state: Arc::default(), version: signal::Sender::new(0) }
    }

    pub(crate) fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    /// Creates or replaces an object, as if applied by somebody.
    pub(crate) fn apply(&self, path: &str, mut object: Value) {
        let mut state = self.lock();
        let (collection, name) = path.rsplit_once('/').expect("a path with a name");
        let version = *self.version.borrow() + 1;
        let before = state.objects.get(path);
        let generation = before.and_then(|old| old["metadata"]["generation"].as_u64()).unwrap_or(0);
        let changed = before.is_none_or(|old| old["spec"] != object["spec"]);
        let meta = &mut object["metadata"];
        meta["name"] = json!(name);
        if let Some((_, rest)) = collection.split_once("/namespaces/") {
            meta["namespace"] = json!(rest.split('/').next());
        }
        meta["uid"] = before.map_or_else(|| json!(format!("uid-{version}")), |old| old["metadata"]["uid"].clone());
        meta["resourceVersion"] = json!(version.to_string());
        meta["generation"] = json!(generation + u64::from(changed));
        state.history.push(Change { version, what: "MODIFIED", path: path.to_owned(), object: object.clone() });
        state.objects.insert(path.to_owned(), object);
        drop(state);
        self.version.send_replace(version);
    }

    pub(crate) fn delete(&self, path: &str) {
        let mut state = self.lock();
        let Some(mut object) = state.objects.remove(path) else { return };
        let version = *self.version.borrow() + 1;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        state.history.push(Change { version, what: "DELETED", path: path.to_owned(), object });
        drop(state);
        self.version.send_replace(version);
    }

    /// Lets every request for a path fail, or none again.
    pub(crate) fn break_path(&self, path: &str, code: Option<u16>) {
        match code {
            Some(code) => drop(self.lock().broken.insert(path.to_owned(), code)),
            None => drop(self.lock().broken.remove(path)),
        }
    }

    pub(crate) fn object(&self, path: &str) -> Option<Value> {
        self.lock().objects.get(path).cloned()
    }

    /// Everything below a path.
    pub(crate) fn below(&self, prefix: &str) -> Vec<Value> {
        let state = self.lock();
        state.objects.iter().filter(|(path, _)| path.starts_with(prefix)).map(|(_, object)| object.clone()).collect()
    }

    /// The requests so far, as `METHOD path`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.lock().requests.clone()
    }

    /// What is being watched now, as paths with their field selectors.
    pub(crate) fn watched(&self) -> BTreeSet<String> {
        self.lock().watched.iter().filter(|(_, count)| **count > 0).map(|(what, _)| what.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics holding it")
    }

    async fn answer(self, request: Request<Body>) -> Response<AnyBody> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().trim_end_matches('/').to_owned();
        let query = head.uri.query().unwrap_or_default().to_owned();
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let is_watch = query.contains("watch=true");
        let metadata_only = head
            .headers
            .get("accept")
            .is_some_and(|accept| accept.to_str().unwrap_or_default().contains("PartialObjectMetadata"));
        self.lock().requests.push(format!("{} {path}{}", head.method, if is_watch { " watch" } else { "" }));
        if let Some(code) = self.lock().broken.get(&path).copied() {
            return status(code);
        }
        let view = View { collection: path.clone(), name: selected(&query), metadata_only };
        match head.method {
            Method::GET if is_watch => self.watch(view, &query),
            Method::GET if query.contains("limit=") => self.list(&view),
            Method::GET => self.object(&path).map_or_else(|| status(404), |object| answer(&object)),
            Method::POST if path.ends_with("/token") => self.token(&path, &body),
            Method::POST => {
                let object: Value = serde_json::from_slice(&body).unwrap_or_default();
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                self.apply(&format!("{path}/{name}"), object.clone());
                answer(&object)
            }
            Method::PATCH => self.patch(path.trim_end_matches("/status"), &body),
            _ => status(405),
        }
    }

    fn list(&self, view: &View) -> Response<AnyBody> {
        let state = self.lock();
        let items: Vec<Value> =
            state.objects.iter().filter(|(path, _)| view.holds(path)).map(|(_, object)| view.show(object)).collect();
        let version = self.version.borrow().to_string();
        answer(
            &json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": version }, "items": items }),
        )
    }

    fn watch(&self, view: View, query: &str) -> Response<AnyBody> {
        let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.parse::<u64>().ok());
        let from = parameter("resourceVersion=").unwrap_or(0);
        let watched = format!("{}?{}", view.collection, view.name.clone().unwrap_or_default());
        *self.lock().watched.entry(watched.clone()).or_default() += 1;
        let guard = Watched { cluster: self.clone(), what: watched };
        let start = (self.clone(), self.version.subscribe(), from, view, guard);
        let events = stream::unfold(start, |(cluster, mut versions, from, view, guard)| async move {
            loop {
                let next = {
                    let state = cluster.lock();
                    let later = state.history.iter().find(|one| one.version > from && view.holds(&one.path));
                    // In the order of a real server, which its clients rely on.
                    later.map(|one| {
                        (one.version, format!(r#"{{"type":"{}","object":{}}}"#, one.what, view.show(&one.object)))
                    })
                };
                if let Some((version, event)) = next {
                    let line = Bytes::from(format!("{event}\n"));
                    let frame = Ok::<_, Infallible>(Frame::data(line));
                    return Some((frame, (cluster, versions, version, view, guard)));
                }
                versions.changed().await.ok()?;
            }
        });
        Response::new(StreamBody::new(events).boxed_unsync())
    }

    fn patch(&self, path: &str, body: &[u8]) -> Response<AnyBody> {
        let Some(mut object) = self.object(path) else { return status(404) };
        let mut patch: Value = serde_json::from_slice(body).unwrap_or_default();
        let wanted = patch["metadata"]["resourceVersion"].take();
        if wanted.is_string() && wanted != object["metadata"]["resourceVersion"] {
            return status(409);
        }
        merge(&mut object, &patch);
        let is_done = object["metadata"]["deletionTimestamp"].is_string()
            && object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty);
        self.apply(path, object);
        let now = self.object(path).unwrap_or_default();
        if is_done {
            self.delete(path);
        }
        answer(&now)
    }

    fn token(&self, path: &str, body: &[u8]) -> Response<AnyBody> {
        let account = path.trim_end_matches("/token");
        if self.object(account).is_none() {
            return status(404);
        }
        let mut request: Value = serde_json::from_slice(body).unwrap_or_default();
        request["metadata"] = json!({});
        request["status"] =
            json!({ "token": format!("token of {account}"), "expirationTimestamp": "2030-01-01T00:00:00Z" });
        answer(&request)
    }
}

/// What a list or watch is about.
struct View {
    collection: String,
    name: Option<String>,
    metadata_only: bool,
}

impl View {
    fn holds(&self, path: &str) -> bool {
        let Some((collection, name)) = path.rsplit_once('/') else { return false };
        // The whole cluster's collection has no namespace in its path.
        let cluster_wide = collection
            .split_once("/namespaces/")
            .and_then(|(prefix, rest)| rest.split_once('/').map(|(_, resource)| format!("{prefix}/{resource}")));
        let is_inside = collection == self.collection || cluster_wide.as_deref() == Some(&self.collection);
        is_inside && self.name.as_deref().is_none_or(|wanted| wanted == name)
    }

    fn show(&self, object: &Value) -> Value {
        if self.metadata_only { json!({ "metadata": object["metadata"] }) } else { object.clone() }
    }
}

/// Counts a watch while it lasts.
struct Watched {
    cluster: FakeCluster,
    what: String,
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(count) = self.cluster.lock().watched.get_mut(&self.what) {
            *count -= 1;
        }
    }
}

fn selected(query: &str) -> Option<String> {
    let selector = query.split('&').find_map(|pair| pair.strip_prefix("fieldSelector="))?;
    Some(selector.trim_start_matches("metadata.name%3D").to_owned())
}

fn merge(object: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else { return };
    for (key, value) in patch {
        match value {
            Value::Null => drop(object.as_object_mut().map(|object| object.remove(key))),
            Value::Object(_) => {
                if !object[key].is_object() {
                    object[key] = json!({});
                }
                merge(&mut object[key], value);
            }
            other => object[key] = other.clone(),
        }
    }
}

fn answer(object: &Value) -> Response<AnyBody> {
    Response::new(Full::new(Bytes::from(object.to_string())).boxed_unsync())
}

fn status(code: u16) -> Response<AnyBody> {
    let text = json!({ "kind": "Status", "status": "Failure", "message": format!("status {code}"), "reason": "", "code": code });
    let mut response = answer(&text);
    *response.status_mut() = http::StatusCode::from_u16(code).expect("a status code");
    response
}

impl Service<Request<Body>> for FakeCluster {
    type Response = Response<AnyBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let cluster = self.clone();
        Box::pin(async { Ok(cluster.answer(request).await) })
    }
}
