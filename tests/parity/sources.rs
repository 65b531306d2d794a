//! The sources of events that the cases scale on: Prometheus and JSON over HTTP, and a gRPC external scaler.
//!
//! A source has the namespace of its case and a name. A case sets its response, and may change it at any step. Both servers
//! record the last request to each source, and count them.

#[path = "sources/grpc.rs"]
mod grpc;
#[path = "sources/web.rs"]
mod web;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The response of a source.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Source {
    /// Prometheus: a vector of one element.
    value: Option<Value>,
    /// Prometheus: the elements of a vector. gRPC: values of metrics, each with its name.
    values: Vec<Value>,
    /// Prometheus: a vector without elements.
    empty: bool,
    /// JSON: the document.
    json: Option<Value>,
    /// HTTP: respond with this status instead.
    status: Option<u16>,
    /// HTTP: respond with 503 to the first request after a pause of this many milliseconds.
    fails_after_pause: Option<u64>,
    /// HTTP: respond with 401 to a request without these headers.
    require: BTreeMap<String, String>,
    /// gRPC: the result of IsActive.
    active: bool,
    /// gRPC: the metric specs.
    specs: Vec<Value>,
    /// gRPC: methods that fail, with their messages.
    fail: BTreeMap<String, String>,
}

impl Source {
    /// Its response to a request after this pause.
    fn after(self, pause: Duration) -> Self {
        let fails = self.fails_after_pause.is_some_and(|limit| pause >= Duration::from_millis(limit));
        Self { status: if fails { Some(503) } else { self.status }, ..self }
    }
}

/// The running servers. They end when this value is dropped.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) http: SocketAddr,
    pub(crate) grpc: SocketAddr,
    base: String,
    table: Table,
    servers: [JoinHandle<()>; 2],
}

/// What both servers share.
#[derive(Clone, Debug, Default)]
struct Table(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    /// By namespace and name.
    sources: BTreeMap<(String, String), Source>,
    requests: BTreeMap<(String, String), Requests>,
}

/// The requests to one source.
#[derive(Debug)]
struct Requests {
    last: Value,
    last_at: Instant,
    /// Since the counts were last taken.
    count: u64,
}

impl Sources {
    /// Starts both on free ports of the loopback address.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let table = Table::default();
        let [http_listener, grpc_listener] =
            [TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?];
        let (http, grpc) = (http_listener.local_addr()?, grpc_listener.local_addr()?);
        let servers = [
            tokio::spawn(web::serve(http_listener, table.clone())),
            tokio::spawn(grpc::serve(grpc_listener, table.clone())),
        ];
        Ok(Self { http, grpc, base: format!("http://{http}"), table, servers })
    }

    /// The base URL of the HTTP sources.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Replaces the named sources of a namespace.
    pub(crate) fn set(&self, namespace: &str, sources: &BTreeMap<String, Source>) {
        let entry = |(name, source): (&String, &Source)| ((namespace.to_owned(), name.clone()), source.clone());
        self.table.entries().sources.extend(sources.iter().map(entry));
    }

    /// The last request to each source of a namespace.
    pub(crate) fn last_requests(&self, namespace: &str) -> Value {
        let entries = self.table.entries();
        let own = entries.requests.iter().filter(|((of, _), _)| of == namespace);
        Value::Object(own.map(|((_, name), requests)| (name.clone(), requests.last.clone())).collect::<Map<_, _>>())
    }

    /// The number of requests to each source of a namespace since the last call.
    pub(crate) fn take_counts(&self, namespace: &str) -> Value {
        let mut entries = self.table.entries();
        let Entries { sources, requests } = &mut *entries;
        let own = sources.keys().filter(|(of, _)| of == namespace);
        let mut count = |key| requests.get_mut(key).map(|requests| std::mem::take(&mut requests.count));
        Value::Object(own.map(|key| (key.1.clone(), count(key).unwrap_or_default().into())).collect::<Map<_, _>>())
    }

    /// Removes the sources of a namespace.
    pub(crate) fn remove(&self, namespace: &str) {
        let mut entries = self.table.entries();
        entries.sources.retain(|(of, _), _| of != namespace);
        entries.requests.retain(|(of, _), _| of != namespace);
    }
}

impl Drop for Sources {
    fn drop(&mut self) {
        self.servers.iter().for_each(JoinHandle::abort);
    }
}

impl Table {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().expect("no holder of the lock panics")
    }

    /// Records a request, and returns its source, if there is one.
    fn record_request(&self, namespace: &str, name: &str, request: Value) -> Option<Source> {
        let key = (namespace.to_owned(), name.to_owned());
        let now = Instant::now();
        let mut entries = self.entries();
        let source = entries.sources.get(&key).cloned();
        let before = entries.requests.get(&key);
        let pause = before.map_or(Duration::MAX, |requests| now - requests.last_at);
        let count = before.map_or(0, |requests| requests.count) + 1;
        entries.requests.insert(key, Requests { last: request, last_at: now, count });
        source.map(|source| source.after(pause))
    }

    /// The source as it is now, without a request.
    fn source(&self, namespace: &str, name: &str) -> Option<Source> {
        self.entries().sources.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn sources_belong_to_one_namespace() {
        let sources = Sources::start().await.unwrap();
        let with_activity = |active| BTreeMap::from([("a".to_owned(), Source { active, ..Source::default() })]);
        sources.set("one", &with_activity(true));
        sources.set("two", &with_activity(false));
        assert!(sources.table.record_request("one", "a", json!("first")).unwrap().active);
        assert!(sources.table.record_request("one", "absent", json!("lost")).is_none());
        assert!(!sources.table.record_request("two", "a", json!("other")).unwrap().active);
        assert_eq!(sources.take_counts("one"), json!({ "a": 1 }));
        sources.table.record_request("one", "a", json!("second"));
        sources.table.record_request("one", "a", json!("second"));
        assert_eq!(sources.take_counts("one"), json!({ "a": 2 }));
        assert_eq!(sources.take_counts("one"), json!({ "a": 0 }));
        assert_eq!(sources.last_requests("one"), json!({ "a": "second", "absent": "lost" }));
        sources.remove("one");
        assert_eq!(sources.last_requests("one"), json!({}));
        assert_eq!(sources.last_requests("two"), json!({ "a": "other" }));
        assert!(sources.table.record_request("one", "a", json!("again")).is_none());
    }

    #[test]
    fn a_source_may_fail_after_a_pause() {
        let source = Source { fails_after_pause: Some(300), ..Source::default() };
        let rows = [(299, None), (300, Some(503))];
        for (pause, expected) in rows {
            assert_eq!(source.clone().after(Duration::from_millis(pause)).status, expected, "{pause} ms");
        }
        assert_eq!(Source::default().after(Duration::MAX).status, None);
    }
}
