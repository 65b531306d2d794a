//! Connections that triggers share: one for each server, TLS profile and credentials. Exchanges take turns on it.
//!
//! A connection is kept only after a whole answer. One that may hold the rest of an answer, or that no answer came from in time, is
//! thrown away. If a kept connection turns out to be closed, the exchange is repeated once on a new one.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::dial::Dial;
use crate::error::{Endpoint, ReadError};
use crate::host_port::HostPort;
use crate::http::connector::BoxStream;
use crate::http::{find_tls_failure, innermost};

/// How connections begin, and what is exchanged on them.
pub(crate) trait Protocol: Send + Sync + 'static {
    type Connection: Send + 'static;
    type Request: Sync;
    type Answer: Send;

    /// Signs in on a new connection.
    fn sign_in(&self, stream: BoxStream) -> impl Future<Output = Result<Self::Connection, ExchangeError>> + Send;

    /// Sends a request and receives the whole answer.
    fn exchange(
        connection: &mut Self::Connection,
        request: &Self::Request,
    ) -> impl Future<Output = Result<Self::Answer, ExchangeError>> + Send;
}

/// Why an exchange failed. The connection is of no use afterwards.
#[derive(Debug)]
pub(crate) enum ExchangeError {
    /// The connection ended.
    Ended(io::Error),
    /// What was received is not the protocol.
    Malformed(String),
    /// The server did not accept the credentials, in its own words.
    Denied(String),
    /// The server refused the connection otherwise, in its own words.
    Refused(String),
    /// Something else that signing in needs failed.
    Other(ReadError),
}

impl From<io::Error> for ExchangeError {
    fn from(error: io::Error) -> Self {
        Self::Ended(error)
    }
}

/// The end of a limit that begins now.
pub(crate) fn deadline(limit: Duration) -> Instant {
    /// Nothing is waited for longer; more would overflow.
    const LIMIT_MAX: Duration = Duration::from_secs(24 * 3600);
    let now = Instant::now();
    now + limit.min(LIMIT_MAX)
}

/// Tries servers in turn until one can be reached. Each has an equal share of the time that is left.
pub(crate) async fn first_reachable<T, F>(
    servers: &[HostPort],
    until: Instant,
    ask: impl Fn(HostPort, Instant) -> F,
) -> Result<T, ReadError>
where
    F: Future<Output = Result<T, ReadError>>,
{
    let mut failed = None;
    for (position, server) in servers.iter().enumerate() {
        let left = u32::try_from(servers.len() - position).unwrap_or(u32::MAX);
        let now = Instant::now();
        match ask(server.clone(), now + until.saturating_duration_since(now) / left).await {
            Err(error @ (ReadError::Connect { .. } | ReadError::Timeout { .. } | ReadError::Malformed { .. })) => {
                failed = Some(error);
            }
            outcome => return outcome,
        }
    }
    Err(failed.expect("a trigger has a server"))
}

/// A shared connection to one server.
pub(crate) struct Session<P: Protocol> {
    protocol: P,
    dial: Dial,
    server: HostPort,
    kept: Mutex<Option<P::Connection>>,
}

impl<P: Protocol> Session<P> {
    pub(crate) fn new(protocol: P, dial: Dial, server: HostPort) -> Self {
        Self { protocol, dial, server, kept: Mutex::new(None) }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.server.endpoint()
    }

    /// One exchange; the wait for other exchanges and the connection count too.
    pub(crate) async fn exchange(&self, request: &P::Request, until: Instant) -> Result<P::Answer, ReadError> {
        let started = Instant::now();
        match tokio::time::timeout_at(until, self.exchange_unlimited(request)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                Err(ReadError::Timeout { endpoint: self.endpoint(), limit: until.saturating_duration_since(started) })
            }
        }
    }

    async fn exchange_unlimited(&self, request: &P::Request) -> Result<P::Answer, ReadError> {
        let mut kept = self.kept.lock().await;
        // Taken out: when this future is dropped, so is the connection.
        if let Some(mut connection) = kept.take() {
            match P::exchange(&mut connection, request).await {
                Ok(answer) => {
                    *kept = Some(connection);
                    return Ok(answer);
                }
                // The server had closed it; a question can be asked twice.
                Err(ExchangeError::Ended(_)) => {}
                Err(error) => return Err(self.explain(error)),
            }
        }
        let stream = self.dial.open(&self.server).await.map_err(|error| self.explain_connect(&error))?;
        let mut connection = self.protocol.sign_in(stream).await.map_err(|error| self.explain(error))?;
        let answer = P::exchange(&mut connection, request).await.map_err(|error| self.explain(error))?;
        *kept = Some(connection);
        Ok(answer)
    }

    fn explain_connect(&self, error: &io::Error) -> ReadError {
        let endpoint = self.endpoint();
        match find_tls_failure(error) {
            Some(problem) => ReadError::Untrusted { endpoint, problem },
            None => ReadError::Connect { endpoint, problem: innermost(error) },
        }
    }

    fn explain(&self, error: ExchangeError) -> ReadError {
        let endpoint = self.endpoint();
        match error {
            // TLS 1.3 reports a refused client certificate with the first answer.
            ExchangeError::Ended(error) => match find_tls_failure(&error) {
                Some(problem) => ReadError::Untrusted { endpoint, problem },
                None => ReadError::Malformed { endpoint, problem: format!("it broke off: {}", innermost(&error)) },
            },
            ExchangeError::Malformed(problem) => ReadError::Malformed { endpoint, problem },
            ExchangeError::Denied(message) => ReadError::Denied { endpoint, message },
            ExchangeError::Refused(message) => ReadError::Refused { endpoint, message },
            ExchangeError::Other(error) => error,
        }
    }
}

impl<P: Protocol> fmt::Debug for Session<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Session").field(&self.server).finish()
    }
}

/// The sessions of one protocol, by what sets them apart.
pub(crate) struct Sessions<K, P: Protocol>(std::sync::Mutex<HashMap<K, Arc<Session<P>>>>);

impl<K, P: Protocol> Default for Sessions<K, P> {
    fn default() -> Self {
        Self(std::sync::Mutex::default())
    }
}

impl<K: Eq + Hash, P: Protocol> Sessions<K, P> {
    /// The session of a key: the one in use, or a new one. Nothing is connected yet.
    pub(crate) fn session(&self, key: K, open: impl FnOnce(&K) -> Session<P>) -> Arc<Session<P>> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(&key) {
            return Arc::clone(session);
        }
        // Those that no scaler holds any more are dropped when a new one is added.
        sessions.retain(|_, session| Arc::strong_count(session) > 1);
        let session = Arc::new(open(&key));
        sessions.insert(key, Arc::clone(&session));
        session
    }
}

impl<K, P: Protocol> fmt::Debug for Sessions<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sessions")
    }
}
