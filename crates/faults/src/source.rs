//! The metric sources of a run, reached through an in-memory network: a Prometheus server, an external scaler, a Redis server, a Kafka
//! broker, and a Vault with a credential.

mod external;
mod freezable;
mod kafka;
mod prometheus;
mod redis;
mod vault;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kedge_scalers::http::connector::BoxStream;
use kedge_scalers::{BoxFuture, Connector};
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::fault::SourceFault;
use crate::scenario::HUNG_QUERY;
use freezable::{Freezable, Frozen};

/// The buffer of a connection, in bytes.
const PIPE: usize = 16 * 1024;

/// The sources. Clones share their state.
#[derive(Clone, Debug)]
pub struct Sources {
    state: Arc<Mutex<State>>,
    /// The activity that the external scaler pushes.
    pushed: watch::Sender<bool>,
    /// The metrics that the external scaler has.
    metric_names: watch::Sender<&'static [&'static str]>,
}

#[derive(Debug, Default)]
struct State {
    values: BTreeMap<String, f64>,
    /// The token in Vault.
    vault_token: String,
    /// Tokens that queries require.
    tokens: BTreeMap<String, String>,
    queries: u32,
    faults: Vec<FailingQueries>,
    served: Vec<ServedReading>,
    failed_at: Option<Instant>,
    /// Whether the connections to the external scaler that were opened last are frozen.
    frozen: Frozen,
}

/// Queries that fail: the first of them, and how many.
#[derive(Clone, Copy, Debug)]
struct FailingQueries {
    first: u32,
    times: u32,
    how: SourceFault,
}

/// A response that a source gave.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedReading {
    pub at: Instant,
    pub query: String,
    /// None where the query failed.
    pub value: Option<f64>,
}

/// The response to a query.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SourceResponse {
    Value(f64),
    Unauthorized,
    Faulty(SourceFault),
}

impl Sources {
    pub fn new() -> Self {
        let metric_names: &[&str] = &[external::QUERY];
        Self {
            state: Arc::default(),
            pushed: watch::Sender::new(false),
            metric_names: watch::Sender::new(metric_names),
        }
    }

    /// Sets the value that a query returns.
    pub fn set_value(&self, query: &str, value: f64) {
        self.lock().values.insert(query.to_owned(), value);
    }

    /// Adds to the value that a query returns.
    pub fn add_value(&self, query: &str, more: f64) {
        *self.lock().values.entry(query.to_owned()).or_default() += more;
    }

    /// Sets the token that a query requires, or none.
    pub fn require_token(&self, query: &str, token: Option<&str>) {
        let tokens = &mut self.lock().tokens;
        match token {
            Some(token) => drop(tokens.insert(query.to_owned(), token.to_owned())),
            None => drop(tokens.remove(query)),
        }
    }

    /// Stores a token in Vault.
    pub fn set_vault_token(&self, token: &str) {
        self.lock().vault_token = token.to_owned();
    }

    fn vault_token(&self) -> String {
        self.lock().vault_token.clone()
    }

    /// Lets the external scaler push its activity.
    pub fn push(&self, active: bool) {
        self.pushed.send_replace(active);
    }

    /// Changes the metrics that the external scaler has.
    pub fn set_metrics(&self, names: &'static [&'static str]) {
        self.metric_names.send_replace(names);
    }

    /// Lets the connections to the external scaler go silent; new ones are not affected.
    pub fn freeze_connections(&self) {
        std::mem::take(&mut self.lock().frozen).set();
    }

    /// Lets queries fail from the `first` on, this many `times`.
    pub fn fail_from(&self, first: u32, times: u32, how: SourceFault) {
        self.lock().faults.push(FailingQueries { first, times, how });
    }

    /// Injects no more faults.
    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    /// When a query last failed.
    pub fn failed_at(&self) -> Option<Instant> {
        self.lock().failed_at
    }

    /// The number of queries so far.
    pub fn queries(&self) -> u32 {
        self.lock().queries
    }

    /// All responses so far.
    pub fn served(&self) -> Vec<ServedReading> {
        self.lock().served.clone()
    }

    /// Connects to the sources.
    pub fn connector(&self) -> Connector {
        let sources = self.clone();
        Connector::new(move |uri: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            let (ours, theirs) = tokio::io::duplex(PIPE);
            let ours = Freezable::new(
                ours,
                match uri.host() {
                    Some("scaler") => sources.lock().frozen.clone(),
                    _ => Frozen::default(),
                },
            );
            match uri.host() {
                Some("vault") => drop(tokio::spawn(serve_http(sources.clone(), theirs, vault::respond))),
                Some("scaler") => drop(tokio::spawn(external::serve(sources.clone(), theirs))),
                Some("redis") => drop(tokio::spawn(redis::serve(sources.clone(), theirs))),
                Some(kafka::HOST) => drop(tokio::spawn(kafka::serve(sources.clone(), theirs))),
                _ => drop(tokio::spawn(serve_http(sources.clone(), theirs, prometheus::respond))),
            }
            Box::pin(async move { Ok(Box::new(ours) as BoxStream) })
        })
    }

    /// Whether a new connection may sign in with this token.
    fn accepts(&self, query: &str, token: &str) -> bool {
        self.lock().tokens.get(query).is_none_or(|needed| needed == token)
    }

    /// The response on a connection that signs in once, or never.
    fn respond_to_connection(&self, query: &str, is_signed_in: bool) -> SourceResponse {
        let token = is_signed_in.then(|| self.lock().tokens.get(query).cloned()).flatten();
        self.respond(query, token.as_deref())
    }

    /// The response to a query with a token of its own.
    fn respond(&self, query: &str, token: Option<&str>) -> SourceResponse {
        if query == HUNG_QUERY {
            return SourceResponse::Faulty(SourceFault::Hangs);
        }
        let mut state = self.lock();
        state.queries += 1;
        let number = state.queries;
        let is_affected = |failing: &&FailingQueries| (failing.first..failing.first + failing.times).contains(&number);
        let response = match state.faults.iter().find(is_affected) {
            Some(failing) => SourceResponse::Faulty(failing.how),
            None if state.tokens.get(query).is_some_and(|needed| Some(needed.as_str()) != token) => {
                SourceResponse::Unauthorized
            }
            None => SourceResponse::Value(state.values.get(query).copied().unwrap_or(0.0)),
        };
        if let SourceResponse::Faulty(_) = response {
            state.failed_at = Some(Instant::now());
        }
        let value = match response {
            SourceResponse::Value(value) => Some(value),
            SourceResponse::Unauthorized | SourceResponse::Faulty(_) => None,
        };
        state.served.push(ServedReading { at: Instant::now(), query: query.to_owned(), value });
        response
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

/// Serves one connection until it ends.
async fn serve_http<F>(sources: Sources, stream: DuplexStream, respond: fn(Sources, Request<Incoming>) -> F)
where
    F: Future<Output = io::Result<Response<Full<Bytes>>>>,
{
    let service = service_fn(move |request| respond(sources.clone(), request));
    // A broken connection may be an injected fault.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

impl Default for Sources {
    fn default() -> Self {
        Self::new()
    }
}
