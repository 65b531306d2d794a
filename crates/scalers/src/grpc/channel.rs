//! Calls to one peer over one connection, which is made when it is needed and made anew when nothing is heard from it.
//!
//! A peer whose machine vanished says nothing, and TCP waits for a quarter of an hour. Pings would tell sooner, but servers
//! hang up on those who ping more often than every five minutes. So the calls themselves tell: one that gets no answer in
//! time, while nothing else came either, is a reason to begin a new connection, also for the streams on the old one.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::Stream;
use http::Uri;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status, Streaming};

use super::address::Address;
use super::dial::Dial;
use super::explain::{explain, is_an_answer};
use super::listening::Listening;
use crate::error::{Endpoint, ReadError};

/// Above the five minutes that gRPC servers ask for between pings; pings are sent only while a stream is open.
const PING_EVERY: Duration = Duration::from_secs(310);
const PING_TIMEOUT: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("kedge/", env!("CARGO_PKG_VERSION"));

/// What generated clients are made of, together with an [`Origin`].
pub(crate) type Client = legacy::Client<Dial, tonic::body::Body>;

/// What requests name as their server.
pub(crate) type Origin = Uri;

/// The way to one peer.
pub(crate) struct Channel {
    dial: Dial,
    origin: Origin,
    endpoint: Endpoint,
    limit: Duration,
    line: watch::Sender<Arc<Line>>,
}

/// One connection, or the promise of one.
pub(super) struct Line {
    client: Client,
    heard_at: Mutex<Option<Instant>>,
}

impl Channel {
    pub(super) fn new(peer: &Address, dial: Dial, limit: Duration) -> Self {
        let origin = peer.uri(dial.scheme()).expect("an address is read only if it is a URI");
        let line = watch::Sender::new(Arc::new(Line::new(dial.clone())));
        Self { dial, origin, endpoint: peer.endpoint(), limit, line }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }

    /// How long a call may take.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// One call, within the limit, connecting included.
    pub(crate) async fn call<T, F>(
        &self,
        method: &'static str,
        call: impl FnOnce(Client, Origin) -> F,
    ) -> Result<T, ReadError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let (line, started_at) = (self.line(), Instant::now());
        match tokio::time::timeout(self.limit, call(line.client.clone(), self.origin.clone())).await {
            Ok(Ok(response)) => {
                line.heard();
                Ok(response.into_inner())
            }
            Ok(Err(status)) => Err(self.failed(&line, &status, method)),
            Err(_) => {
                self.begin_anew_if_silent(&line, started_at);
                Err(ReadError::Timeout { endpoint: self.endpoint(), limit: self.limit })
            }
        }
    }

    /// The messages of a streaming call. An error is the last of them.
    ///
    /// There is no limit: many servers say nothing, not even that they are there, before the first message.
    pub(crate) fn stream<T, F>(
        self: Arc<Self>,
        method: &'static str,
        open: impl FnOnce(Client, Origin) -> F + Send + 'static,
    ) -> impl Stream<Item = Result<T, ReadError>> + Send + 'static
    where
        T: Send + 'static,
        F: Future<Output = Result<Response<Streaming<T>>, Status>> + Send + 'static,
    {
        let (line, lines) = (self.line(), self.line.subscribe());
        let opening = open(line.client.clone(), self.origin.clone());
        Listening::new(self, method, line, lines, opening).messages()
    }

    fn line(&self) -> Arc<Line> {
        Arc::clone(&self.line.borrow())
    }

    pub(super) fn failed(&self, line: &Line, status: &Status, method: &'static str) -> ReadError {
        if is_an_answer(status) {
            line.heard();
        }
        explain(status, method, self.endpoint(), self.limit)
    }

    fn begin_anew_if_silent(&self, line: &Arc<Line>, since: Instant) {
        self.line.send_if_modified(|current| {
            let silent = Arc::ptr_eq(current, line) && !line.heard_since(since);
            if silent {
                *current = Arc::new(Line::new(self.dial.clone()));
            }
            silent
        });
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Channel").field(&self.endpoint).finish()
    }
}

impl Line {
    fn new(dial: Dial) -> Self {
        let client = legacy::Client::builder(TokioExecutor::new())
            .http2_only(true)
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(None)
            .http2_keep_alive_interval(PING_EVERY)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .build(dial);
        Self { client, heard_at: Mutex::new(None) }
    }

    pub(super) fn heard(&self) {
        *self.heard_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn heard_since(&self, since: Instant) -> bool {
        self.heard_at.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|heard_at| heard_at >= since)
    }
}

/// A request that says who asks, and how long the answer is waited for.
pub(crate) fn request<T>(message: T, limit: Option<Duration>) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("user-agent", MetadataValue::from_static(USER_AGENT));
    if let Some(limit) = limit {
        request.set_timeout(limit);
    }
    request
}
