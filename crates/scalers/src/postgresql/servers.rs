//! The servers of a trigger: which of them is asked, and with which encryption.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use crate::error::{Endpoint, ReadError};
use crate::host_port::HostPort;
use crate::postgres_session::failure::is_final;
use crate::postgres_session::{PostgresProtocol, QueryOutcome};
use crate::sessions::{Session, share};

/// One server, with a session for each encryption that is tried.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) server: HostPort,
    pub(super) sessions: Vec<Arc<Session<PostgresProtocol>>>,
}

/// At least one server.
#[derive(Debug)]
pub(super) struct Servers {
    candidates: Vec<Candidate>,
    /// The one that answered last: the others are asked when it does not.
    last: AtomicUsize,
}

/// What a server answered.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) endpoint: Endpoint,
    pub(super) outcome: QueryOutcome,
}

impl Servers {
    pub(super) fn new(candidates: Vec<Candidate>) -> Self {
        Self { candidates, last: AtomicUsize::new(0) }
    }

    /// The host that is shown.
    pub(super) fn host(&self) -> Option<String> {
        self.candidates.first().map(|candidate| candidate.server.to_string())
    }

    /// Asks servers in turn until one answers. Each has an equal share of the time that is left.
    pub(super) async fn ask(&self, query: &String, now: DateTime<Utc>, until: Instant) -> Result<Answered, ReadError> {
        let (count, last) = (self.candidates.len(), self.last.load(Ordering::Relaxed));
        let order = std::iter::once(last).chain((0..count).filter(|index| *index != last));
        let mut failed = None;
        for (position, index) in order.enumerate() {
            match self.candidates[index].ask(query, now, share(until, count - position)).await {
                Ok(answered) => {
                    self.last.store(index, Ordering::Relaxed);
                    return Ok(answered);
                }
                Err(error) if is_final(&error) => return Err(in_words_of_trigger(error)),
                Err(error) => failed = Some(error),
            }
        }
        Err(in_words_of_trigger(failed.expect("a trigger has a server")))
    }
}

impl Candidate {
    async fn ask(&self, query: &String, now: DateTime<Utc>, until: Instant) -> Result<Answered, ReadError> {
        let mut failed = None;
        for session in &self.sessions {
            session.protocol().set_now(now);
            match session.exchange(query, until).await {
                Ok(outcome) => return Ok(Answered { endpoint: session.endpoint(), outcome }),
                Err(error) => {
                    // Encryption makes no difference to a server that is not there.
                    let is_absent = matches!(error, ReadError::Connect { .. } | ReadError::Timeout { .. });
                    if is_absent || is_final(&error) {
                        return Err(error);
                    }
                    failed = Some(error);
                }
            }
        }
        Err(failed.expect("there is a way to connect"))
    }
}

/// The parameter for CAs has a name of its own.
fn in_words_of_trigger(error: ReadError) -> ReadError {
    match error {
        ReadError::Untrusted { endpoint, problem } => {
            ReadError::Untrusted { endpoint, problem: problem.replace("`ca`", "`sslrootcert`") }
        }
        other => other,
    }
}
