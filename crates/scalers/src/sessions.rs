//! Connections that triggers share: a few for each server, TLS profile and credentials. An exchange has a connection to itself.
//!
//! A connection is kept only after a whole answer. One that may hold the rest of an answer, or that no answer came from in time, is
//! thrown away. If a kept connection turns out to be closed, the exchange is repeated once on a new one.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use kedge_core::secret::Secret;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::dial::Dial;
use crate::error::{Endpoint, ReadError, cut};
use crate::host_port::HostPort;
use crate::http::connector::BoxStream;
use crate::http::{find_tls_failure, innermost};

/// How connections begin, and what is exchanged on them.
pub(crate) trait Protocol: Send + Sync + 'static {
    type Connection: Send + 'static;
    type Request: Sync;
    type Answer: Send;

    /// How long a new connection may take until it is signed in, where that is less than the time of the exchange.
    fn connect_limit(&self) -> Option<Duration> {
        None
    }

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

impl ExchangeError {
    /// The server ended the connection before it answered.
    pub(crate) fn closed() -> Self {
        Self::Ended(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"))
    }

    /// The same, with the server's words as they are shown.
    pub(crate) fn hiding(self, secrets: &[&Secret]) -> Self {
        match self {
            Self::Denied(message) => Self::Denied(shown_words(&message, secrets)),
            Self::Refused(message) => Self::Refused(shown_words(&message, secrets)),
            other => other,
        }
    }

    /// The same, with what to do where the server did not accept the credentials.
    pub(crate) fn or_if_denied(self, remedy: &str) -> Self {
        match self {
            Self::Denied(message) => Self::Denied(format!("{message}; {remedy}")),
            other => other,
        }
    }
}

/// A server's words as they are shown: without secrets, which it may repeat, on one line, and not much longer. A cut before would
/// leave a part of a secret.
pub(crate) fn shown_words(words: &str, secrets: &[&Secret]) -> String {
    let secrets = secrets.iter().map(|secret| secret.reveal()).filter(|secret| !secret.is_empty());
    cut(&secrets.fold(words.to_owned(), |words, secret| words.replace(secret, "***")))
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

/// A limit as messages show it. What earlier exchanges of a reading took would make each message another one.
pub(crate) fn shown_limit(limit: Duration) -> Duration {
    let step = if limit > Duration::from_secs(1) { Duration::from_secs(1) } else { Duration::from_millis(100) };
    let steps = limit.as_nanos().div_ceil(step.as_nanos());
    step * u32::try_from(steps).unwrap_or(u32::MAX)
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
    first_that(servers, until, |error| !is_silent(error), ask).await
}

/// Tries servers in turn until one has the answer. Each has an equal share of the time that is left. If none has, the error is the
/// last of those that say most.
pub(crate) async fn first_answering<T, F>(
    servers: &[HostPort],
    until: Instant,
    ask: impl Fn(HostPort, Instant) -> F,
) -> Result<T, ReadError>
where
    F: Future<Output = Result<T, ReadError>>,
{
    first_that(servers, until, |_| false, ask).await
}

async fn first_that<T, F>(
    servers: &[HostPort],
    until: Instant,
    is_final: impl Fn(&ReadError) -> bool,
    ask: impl Fn(HostPort, Instant) -> F,
) -> Result<T, ReadError>
where
    F: Future<Output = Result<T, ReadError>>,
{
    let mut failed = None;
    for (position, server) in servers.iter().enumerate() {
        match ask(server.clone(), share(until, servers.len() - position)).await {
            Err(error) if !is_final(&error) => {
                if !is_silent(&error) || failed.as_ref().is_none_or(is_silent) {
                    failed = Some(error);
                }
            }
            outcome => return outcome,
        }
    }
    Err(failed.expect("a trigger has a server"))
}

/// The end of the share that the next of so many servers has of the time that is left.
pub(crate) fn share(until: Instant, servers_left: usize) -> Instant {
    let (now, left) = (Instant::now(), u32::try_from(servers_left).unwrap_or(u32::MAX));
    now + until.saturating_duration_since(now) / left
}

/// Whether the server said nothing that can be understood.
fn is_silent(error: &ReadError) -> bool {
    matches!(error, ReadError::Connect { .. } | ReadError::Timeout { .. } | ReadError::Malformed { .. })
}

/// How many exchanges with a server run at once. One that is slow leaves room for the others.
const CONNECTIONS_MAX: usize = 4;

/// How long an idle connection is kept: longer, and something on the way may have dropped it without a word.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// The shared connections to one server.
pub(crate) struct Session<P: Protocol> {
    protocol: P,
    dial: Dial,
    server: HostPort,
    turns: Semaphore,
    /// With the time of the last answer.
    idle: Mutex<Vec<(Instant, P::Connection)>>,
}

impl<P: Protocol> Session<P> {
    pub(crate) fn new(protocol: P, dial: Dial, server: HostPort) -> Self {
        Self { protocol, dial, server, turns: Semaphore::new(CONNECTIONS_MAX), idle: Mutex::default() }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.server.endpoint()
    }

    pub(crate) fn protocol(&self) -> &P {
        &self.protocol
    }

    /// One exchange; the wait for other exchanges and the connection count too.
    pub(crate) async fn exchange(&self, request: &P::Request, until: Instant) -> Result<P::Answer, ReadError> {
        let started = Instant::now();
        match tokio::time::timeout_at(until, self.exchange_unlimited(request)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let limit = shown_limit(until.saturating_duration_since(started));
                Err(ReadError::Timeout { endpoint: self.endpoint(), limit })
            }
        }
    }

    async fn exchange_unlimited(&self, request: &P::Request) -> Result<P::Answer, ReadError> {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        // Taken out: when this future is dropped, so is the connection.
        if let Some(mut connection) = self.take_idle() {
            match P::exchange(&mut connection, request).await {
                Ok(answer) => {
                    self.keep(connection);
                    return Ok(answer);
                }
                // The server had closed it, and most likely the others; a question can be asked twice.
                Err(ExchangeError::Ended(_)) => self.idle().clear(),
                Err(error) => return Err(self.explain(error)),
            }
        }
        let mut connection = match self.protocol.connect_limit() {
            None => self.connect().await?,
            Some(limit) => match tokio::time::timeout(limit, self.connect()).await {
                Ok(connected) => connected?,
                Err(_) => return Err(ReadError::Timeout { endpoint: self.endpoint(), limit }),
            },
        };
        let answer = P::exchange(&mut connection, request).await.map_err(|error| self.explain(error))?;
        self.keep(connection);
        Ok(answer)
    }

    /// The connection that was used last.
    fn take_idle(&self) -> Option<P::Connection> {
        let (since, connection) = self.idle().pop()?;
        (since.elapsed() < IDLE_MAX).then_some(connection)
    }

    fn keep(&self, connection: P::Connection) {
        let mut idle = self.idle();
        idle.retain(|(since, _)| since.elapsed() < IDLE_MAX);
        idle.push((Instant::now(), connection));
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Instant, P::Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<P::Connection, ReadError> {
        let stream = self.dial.open(&self.server).await.map_err(|error| self.explain_connect(&error))?;
        self.protocol.sign_in(stream).await.map_err(|error| self.explain(error))
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

/// The sessions of one protocol, by what sets them apart. A session ends with the last scaler that holds it.
pub(crate) struct Sessions<K, P: Protocol>(Mutex<HashMap<K, Weak<Session<P>>>>);

impl<K, P: Protocol> Default for Sessions<K, P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, P: Protocol> Sessions<K, P> {
    /// The session of a key: the one in use, or a new one. Nothing is connected yet.
    pub(crate) fn session(&self, key: K, open: impl FnOnce(&K) -> Session<P>) -> Arc<Session<P>> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(&key).and_then(Weak::upgrade) {
            return session;
        }
        sessions.retain(|_, session| session.strong_count() > 0);
        let session = Arc::new(open(&key));
        sessions.insert(key, Arc::downgrade(&session));
        session
    }
}

impl<K, P: Protocol> fmt::Debug for Sessions<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sessions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_also_where_the_message_is_cut() {
        let secret = Secret::new("hunter2hunter2");
        for padding in 0..220 {
            let message = format!("{}{}", "x".repeat(padding), secret.reveal());
            let shown = shown_words(&message, &[&Secret::new(""), &secret]);
            assert!(!shown.contains("hun") && shown.len() < 220, "{shown}");
        }
    }

    #[test]
    fn a_limit_is_shown_as_it_was_configured() {
        let rows = [(3_000_000, 3_000), (2_999_981, 3_000), (2_950_000, 3_000), (1_000_000, 1_000), (499_990, 500)];
        for (micros, millis) in rows {
            assert_eq!(shown_limit(Duration::from_micros(micros)), Duration::from_millis(millis), "{micros}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn servers_are_tried_in_turn() {
        let at = |name: &str| HostPort { host: name.to_owned(), port: 1 };
        let connect =
            |server: &HostPort| ReadError::Connect { endpoint: server.endpoint(), problem: "down".to_owned() };
        let denied = |server: &HostPort| ReadError::Denied { endpoint: server.endpoint(), message: "no".to_owned() };
        let ask = |server: HostPort, _| {
            std::future::ready(match server.host.as_str() {
                "down" => Err(connect(&server)),
                "closed" => Err(denied(&server)),
                _ => Ok(server.host),
            })
        };
        let until = deadline(Duration::from_secs(3));
        let reached = async |names: &[&str]| {
            let servers: Vec<HostPort> = names.iter().map(|name| at(name)).collect();
            (first_reachable(&servers, until, ask).await, first_answering(&servers, until, ask).await)
        };
        let up = || Ok("up".to_owned());
        assert_eq!(reached(&["down", "up"]).await, (up(), up()));
        assert_eq!(reached(&["closed", "up"]).await, (Err(denied(&at("closed"))), up()));
        let (closed, down) = (Err(denied(&at("closed"))), Err(connect(&at("down"))));
        assert_eq!(reached(&["closed", "down"]).await, (closed.clone(), closed));
        assert_eq!(reached(&["down"]).await, (down.clone(), down));
    }
}
