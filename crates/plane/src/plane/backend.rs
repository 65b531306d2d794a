//! Backends: servers that the plane calls, webhooks and aggregated API servers. They are named by
//! host: `NAME.NAMESPACE.svc`, or `host:port`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::Body;

type Answering = dyn Fn(Request<Body>) -> BoxFuture<'static, Result<Response<Body>, String>> + Send + Sync;

/// A server, as a function. An error is one of the connection; its text becomes a part of messages.
#[derive(Clone)]
pub struct Backend(Arc<Answering>);

impl Backend {
    pub fn new<F>(answer: impl Fn(Request<Body>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Response<Body>, String>> + Send + 'static,
    {
        Self(Arc::new(move |request| Box::pin(answer(request))))
    }

    pub(crate) fn call(&self, request: Request<Body>) -> BoxFuture<'static, Result<Response<Body>, String>> {
        (self.0)(request)
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Backend")
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Backends(Mutex<BTreeMap<String, Backend>>);

impl Backends {
    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Backend>> {
        self.0.lock().expect("no thread panics while it holds the lock")
    }

    pub(crate) fn insert(&self, host: &str, backend: Backend) {
        self.all().insert(host.to_owned(), backend);
    }

    pub(crate) fn remove(&self, host: &str) {
        self.all().remove(host);
    }

    pub(crate) fn get(&self, host: &str) -> Option<Backend> {
        self.all().get(host).cloned()
    }
}
