//! Calls to one peer over one connection, which is opened when it is needed and replaced when it is silent.
//!
//! A peer whose machine vanished sends nothing, and TCP waits for a quarter of an hour. Pings would detect it sooner, but
//! servers close connections that ping more often than every five minutes. So the calls detect it: when one times out and
//! nothing else was received meanwhile, the channel opens a new connection, also for the streams on the old one.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Response, Status};

use super::connector::GrpcConnector;
use super::explain::{explain, is_from_server};
use super::observed::ObservedCall;
use crate::error::{Endpoint, ReadError};
use crate::host_port::HostPort;
use crate::http::USER_AGENT;
use crate::http::connector::HyperConnector;
use crate::observer::GrpcCall;

/// Above the five minutes that gRPC servers require between pings; pings are sent only while a stream is open.
const PING_EVERY: Duration = Duration::from_secs(310);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// The transport of generated clients, together with an [`Origin`].
pub(crate) type Client = legacy::Client<HyperConnector<GrpcConnector>, tonic::body::Body>;

/// What requests name as their server.
pub(crate) type Origin = Uri;

/// The shared connection to one peer.
pub(crate) struct Channel {
    connector: GrpcConnector,
    origin: Origin,
    endpoint: Endpoint,
    /// How long connecting may take.
    connect_limit: Duration,
    connection: watch::Sender<Arc<Connection>>,
}

/// One connection, which is opened by the first call.
pub(super) struct Connection {
    client: Client,
    active_at: Mutex<Option<Instant>>,
}

impl Channel {
    pub(super) fn new(peer: &HostPort, connector: GrpcConnector, connect_limit: Duration) -> Self {
        let origin = peer.uri(connector.scheme()).expect("an address is read only if it is a URI");
        let connection = watch::Sender::new(Arc::new(Connection::new(connector.clone())));
        Self { connector, origin, endpoint: peer.endpoint(), connect_limit, connection }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }

    /// One call, within the limit, connecting included.
    pub(crate) async fn call<T, F>(
        &self,
        method: &'static str,
        limit: Duration,
        call: impl FnOnce(Client, Origin) -> F,
    ) -> Result<T, ReadError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let started_at = Instant::now();
        let observed = ObservedCall::start(GrpcCall { method, is_stream: false });
        let (connection, response) = self.start(call);
        match tokio::time::timeout(limit, response).await {
            Ok(Ok(response)) => {
                connection.record_activity();
                observed.received();
                observed.end(Code::Ok);
                Ok(response.into_inner())
            }
            Ok(Err(status)) => {
                observed.end(status.code());
                Err(self.failed(&connection, &status, method))
            }
            Err(_) => {
                observed.end(Code::DeadlineExceeded);
                self.reconnect_if_silent(&connection, started_at);
                Err(ReadError::Timeout { endpoint: self.endpoint(), limit })
            }
        }
    }

    /// Starts a call on the present connection.
    pub(super) fn start<F>(&self, call: impl FnOnce(Client, Origin) -> F) -> (Arc<Connection>, F) {
        let connection = Arc::clone(&self.connection.borrow());
        let response = call(connection.client.clone(), self.origin.clone());
        (connection, response)
    }

    /// The present connection, and those that replace it.
    pub(super) fn connections(&self) -> watch::Receiver<Arc<Connection>> {
        self.connection.subscribe()
    }

    pub(super) fn failed(&self, connection: &Connection, status: &Status, method: &'static str) -> ReadError {
        if is_from_server(status) {
            connection.record_activity();
        }
        explain(status, method, self.endpoint(), self.connect_limit)
    }

    fn reconnect_if_silent(&self, connection: &Arc<Connection>, since: Instant) {
        self.connection.send_if_modified(|current| {
            let silent = Arc::ptr_eq(current, connection) && !connection.was_active_since(since);
            if silent {
                *current = Arc::new(Connection::new(self.connector.clone()));
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

impl Connection {
    fn new(connector: GrpcConnector) -> Self {
        let client = legacy::Client::builder(TokioExecutor::new())
            .http2_only(true)
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(None)
            .http2_keep_alive_interval(PING_EVERY)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .build(HyperConnector(connector));
        Self { client, active_at: Mutex::new(None) }
    }

    pub(super) fn record_activity(&self) {
        *self.active_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn was_active_since(&self, since: Instant) -> bool {
        self.active_at.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|active_at| active_at >= since)
    }
}

/// A request with the user agent and the deadline.
pub(crate) fn request<T>(message: T, limit: Option<Duration>) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("user-agent", MetadataValue::from_static(USER_AGENT));
    if let Some(limit) = limit {
        request.set_timeout(limit);
    }
    request
}
