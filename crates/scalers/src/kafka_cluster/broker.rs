//! One broker, asked by many triggers over one connection. What is asked while the connection is busy is sent together, and equal
//! questions are sent once.
//!
//! A task of the broker does the exchanges, so that a caller that ends or gives up takes nothing from the others: a caller awaits only
//! its own answer, within its own time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use kedge_wire::kafka::{self, Request};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::connection::Question;
use super::session::KafkaProtocol;
use crate::dial::Dial;
use crate::error::{Endpoint, ReadError};
use crate::host_port::HostPort;
use crate::sessions::{Session, shown_limit};

/// How much is sent before answers are received: less than what waits in sockets, so that the two sides never wait for each other.
const SENT_BYTES_MAX: usize = 16 << 10;

/// What a request takes beside its body.
const HEADER_BYTES: usize = 32;

type Outcome = Result<Bytes, ReadError>;

/// A connection, and what waits for it.
pub(crate) struct Broker(Arc<Exchanges>);

struct Exchanges {
    session: Session<KafkaProtocol>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// The task that sends what waits; it ends when nothing does.
    task: Option<AbortHandle>,
}

/// A question that was not sent yet, and who waits for the answer.
struct Waiting {
    question: Question,
    /// When the last of the askers gives up.
    until: Instant,
    askers: Vec<oneshot::Sender<Outcome>>,
}

impl Broker {
    pub(super) fn new(protocol: KafkaProtocol, dial: Dial, server: HostPort) -> Self {
        Self(Arc::new(Exchanges { session: Session::new(protocol, dial, server), queue: Mutex::default() }))
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        self.0.session.endpoint()
    }

    /// The response to a request that is sent after this call.
    pub(crate) async fn call<R: Request>(&self, request: &R, until: Instant) -> Result<R::Response, ReadError> {
        let body = self.answer(Question::new(request), until).await?;
        let explain = |error: kafka::KafkaError| self.malformed(&format!("{}: {error}", R::API.name));
        kafka::decode(&body).map_err(explain)
    }

    /// The answer cannot be used.
    pub(crate) fn malformed(&self, problem: &str) -> ReadError {
        ReadError::Malformed { endpoint: self.endpoint(), problem: problem.to_owned() }
    }

    async fn answer(&self, question: Question, until: Instant) -> Outcome {
        let started = Instant::now();
        let answered = self.enqueue(question, until);
        match tokio::time::timeout_at(until, answered).await {
            Ok(Ok(outcome)) => outcome,
            // The exchange ended when all of its askers had given up.
            Ok(Err(_)) | Err(_) => {
                let limit = shown_limit(until.saturating_duration_since(started));
                Err(ReadError::Timeout { endpoint: self.endpoint(), limit })
            }
        }
    }

    fn enqueue(&self, question: Question, until: Instant) -> oneshot::Receiver<Outcome> {
        let (asker, answered) = oneshot::channel();
        let mut queue = self.0.queue();
        match queue.waiting.iter_mut().find(|waiting| waiting.question == question) {
            Some(same) => {
                same.until = same.until.max(until);
                same.askers.push(asker);
            }
            None => queue.waiting.push(Waiting { question, until, askers: vec![asker] }),
        }
        // One that has ended otherwise lived on a runtime that is gone.
        if queue.task.as_ref().is_none_or(AbortHandle::is_finished) {
            let exchanges = Arc::clone(&self.0);
            let task = tokio::spawn(async move {
                while let Some(batch) = exchanges.take() {
                    exchanges.send(batch).await;
                }
            });
            queue.task = Some(task.abort_handle());
        }
        answered
    }
}

impl Drop for Broker {
    /// Closes the connection. No caller is left that could wait for an answer.
    fn drop(&mut self) {
        if let Some(task) = self.0.queue().task.take() {
            task.abort();
        }
    }
}

impl Exchanges {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The questions that wait the longest, no more than are sent at once. Those that no caller waits for any more are dropped. None ends
    /// the task: the next question starts another one.
    fn take(&self) -> Option<Vec<Waiting>> {
        let mut queue = self.queue();
        queue.waiting.retain(|waiting| waiting.askers.iter().any(|asker| !asker.is_closed()));
        if queue.waiting.is_empty() {
            queue.task = None;
            return None;
        }
        let mut length = 0;
        let fits = queue.waiting.iter().take_while(|waiting| {
            length += waiting.question.length() + HEADER_BYTES;
            length <= SENT_BYTES_MAX
        });
        let count = fits.count().max(1);
        Some(queue.waiting.drain(..count).collect())
    }

    async fn send(&self, batch: Vec<Waiting>) {
        let until = batch.iter().map(|waiting| waiting.until).max().unwrap_or_else(Instant::now);
        let (questions, askers): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|waiting| (waiting.question, waiting.askers)).unzip();
        match self.session.exchange(&questions, until).await {
            Ok(answers) => {
                for (askers, answer) in askers.into_iter().zip(answers) {
                    let refused = |message| ReadError::Refused { endpoint: self.session.endpoint(), message };
                    hand_over(askers, &answer.map(Bytes::from).map_err(|unknown| refused(unknown.to_string())));
                }
            }
            // Every asker has its own limit, which has passed.
            Err(ReadError::Timeout { .. }) => {}
            Err(error) => askers.into_iter().for_each(|askers| hand_over(askers, &Err(error.clone()))),
        }
    }
}

/// Those who do not wait any more are left out.
fn hand_over(askers: Vec<oneshot::Sender<Outcome>>, outcome: &Outcome) {
    for asker in askers {
        let _ = asker.send(outcome.clone());
    }
}
