//! One broker, asked by many triggers over one connection. What is asked while the connection is busy is sent together, and equal
//! questions are sent once.

use std::sync::{Arc, Mutex, PoisonError};

use kedge_wire::kafka::{self, Request};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::time::Instant;

use super::session::{KafkaProtocol, Question};
use crate::dial::Dial;
use crate::error::{Endpoint, ReadError};
use crate::host_port::HostPort;
use crate::sessions::Session;

/// How much is sent before answers are received: less than what waits in sockets, so that the two sides never wait for each other.
const SENT_BYTES_MAX: usize = 16 << 10;

/// What a request takes beside its body.
const HEADER_BYTES: usize = 32;

type Outcome = Result<Arc<[u8]>, ReadError>;

/// A question that was not sent yet, and who waits for the answer.
struct Waiting {
    question: Question,
    askers: Vec<oneshot::Sender<Outcome>>,
}

pub(super) struct Broker {
    session: Session<KafkaProtocol>,
    turn: tokio::sync::Mutex<()>,
    waiting: Mutex<Vec<Waiting>>,
}

impl Broker {
    pub(super) fn new(protocol: KafkaProtocol, dial: Dial, server: HostPort) -> Self {
        Self {
            session: Session::new(protocol, dial, server),
            turn: tokio::sync::Mutex::default(),
            waiting: Mutex::default(),
        }
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        self.session.endpoint()
    }

    /// The response to a request that is sent after this call.
    pub(super) async fn call<R: Request>(&self, request: &R, until: Instant) -> Result<R::Response, ReadError> {
        let body = self.answer(&Question::new(request), until).await?;
        let explain = |error: kafka::KafkaError| self.malformed(&format!("{}: {error}", R::API.name));
        kafka::decode(&body).map_err(explain)
    }

    /// The answer cannot be used.
    pub(super) fn malformed(&self, problem: &str) -> ReadError {
        ReadError::Malformed { endpoint: self.endpoint(), problem: problem.to_owned() }
    }

    async fn answer(&self, question: &Question, until: Instant) -> Outcome {
        let started = Instant::now();
        loop {
            if let Some(outcome) = self.wait(self.enqueue(question), until).await {
                return outcome;
            }
            if Instant::now() >= until {
                let limit = until.saturating_duration_since(started);
                return Err(ReadError::Timeout { endpoint: self.endpoint(), limit });
            }
        }
    }

    /// Waits until the answer is there, and sends what waits when it is this caller's turn. None where nothing came in time, to this
    /// caller or to the one who had sent the question.
    async fn wait(&self, mut answered: oneshot::Receiver<Outcome>, until: Instant) -> Option<Outcome> {
        loop {
            let _turn = tokio::select! {
                biased;
                outcome = &mut answered => return outcome.ok(),
                turn = self.turn.lock() => turn,
            };
            match answered.try_recv() {
                Ok(outcome) => return Some(outcome),
                Err(TryRecvError::Closed) => return None,
                Err(TryRecvError::Empty) => self.send(until).await,
            }
        }
    }

    fn enqueue(&self, question: &Question) -> oneshot::Receiver<Outcome> {
        let (asker, answered) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.iter_mut().find(|waiting| waiting.question == *question) {
            Some(same) => same.askers.push(asker),
            None => waiting.push(Waiting { question: question.clone(), askers: vec![asker] }),
        }
        answered
    }

    /// Sends the questions that wait the longest. Whoever calls has the turn.
    async fn send(&self, until: Instant) {
        let (questions, askers): (Vec<_>, Vec<_>) =
            self.take().into_iter().map(|waiting| (waiting.question, waiting.askers)).unzip();
        match self.session.exchange(&questions, until).await {
            Ok(answers) => {
                for (asker, answer) in askers.into_iter().zip(answers) {
                    tell(asker, &Ok(answer.into()));
                }
            }
            // The others may have more time left: they ask again.
            Err(ReadError::Timeout { .. }) => {}
            Err(error) => askers.into_iter().for_each(|asker| tell(asker, &Err(error.clone()))),
        }
    }

    /// At least one question, and no more than is sent at once. Those that nobody waits for any more are dropped.
    fn take(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|waiting| waiting.askers.iter().any(|asker| !asker.is_closed()));
        let mut length = 0;
        let fits = waiting.iter().take_while(|waiting| {
            length += waiting.question.length() + HEADER_BYTES;
            length <= SENT_BYTES_MAX
        });
        let count = fits.count().max(1).min(waiting.len());
        waiting.drain(..count).collect()
    }
}

/// Those who do not wait any more are left out.
fn tell(askers: Vec<oneshot::Sender<Outcome>>, outcome: &Outcome) {
    for asker in askers {
        let _ = asker.send(outcome.clone());
    }
}
