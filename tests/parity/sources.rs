//! The sources of events that the cases scale on: Prometheus and JSON over HTTP, and a gRPC external scaler.
//!
//! A source is known by the namespace of its case and a name. A case sets what it answers, and may change it at any step.
//! Both servers remember what each source was asked last.

#[path = "sources/grpc.rs"]
mod grpc;
#[path = "sources/web.rs"]
mod web;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What a source answers.
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
    /// HTTP: answer this status instead.
    status: Option<u16>,
    /// HTTP: answer 401 to a request without these headers.
    require: BTreeMap<String, String>,
    /// gRPC: the answer to IsActive.
    active: bool,
    /// gRPC: the metrics there are.
    specs: Vec<Value>,
    /// gRPC: methods that fail, with what they say.
    fail: BTreeMap<String, String>,
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
    answers: BTreeMap<(String, String), Source>,
    asked: BTreeMap<(String, String), Value>,
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

    /// The base URL of everything that speaks HTTP.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Replaces the named sources of a namespace.
    pub(crate) fn set(&self, namespace: &str, sources: &BTreeMap<String, Source>) {
        let of = |(name, source): (&String, &Source)| ((namespace.to_owned(), name.clone()), source.clone());
        self.table.entries().answers.extend(sources.iter().map(of));
    }

    /// What each source of a namespace was asked last.
    pub(crate) fn asked(&self, namespace: &str) -> Value {
        let entries = self.table.entries();
        let asked = entries.asked.iter().filter(|((of, _), _)| of == namespace);
        Value::Object(asked.map(|((_, name), question)| (name.clone(), question.clone())).collect::<Map<_, _>>())
    }

    /// Takes the sources of a namespace away.
    pub(crate) fn forget(&self, namespace: &str) {
        let mut entries = self.table.entries();
        entries.answers.retain(|(of, _), _| of != namespace);
        entries.asked.retain(|(of, _), _| of != namespace);
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

    /// Notes a question, and answers the source it was put to, if there is one.
    fn ask(&self, namespace: &str, name: &str, question: Value) -> Option<Source> {
        let key = (namespace.to_owned(), name.to_owned());
        let mut entries = self.entries();
        let source = entries.answers.get(&key).cloned();
        entries.asked.insert(key, question);
        source
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn sources_belong_to_one_namespace() {
        let sources = Sources::start().await.unwrap();
        let answering = |active| BTreeMap::from([("a".to_owned(), Source { active, ..Source::default() })]);
        sources.set("one", &answering(true));
        sources.set("two", &answering(false));
        assert!(sources.table.ask("one", "a", json!("first")).unwrap().active);
        assert!(sources.table.ask("one", "absent", json!("lost")).is_none());
        assert!(!sources.table.ask("two", "a", json!("other")).unwrap().active);
        sources.table.ask("one", "a", json!("second"));
        assert_eq!(sources.asked("one"), json!({ "a": "second", "absent": "lost" }));
        sources.forget("one");
        assert_eq!(sources.asked("one"), json!({}));
        assert_eq!(sources.asked("two"), json!({ "a": "other" }));
        assert!(sources.table.ask("one", "a", json!("again")).is_none());
    }
}
