//! One connection to a broker: several requests at once, and the response to each.

use std::io;

use kedge_wire::kafka::messages::{ApiRange, ApiVersions, FindCoordinator, SaslAuthenticate, SaslHandshake};
use kedge_wire::kafka::{self, Api, FRAME_BYTES_MAX, KafkaError, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::http::connector::BoxStream;
use crate::sessions::ExchangeError;

/// The name under which brokers see this program, in their quotas and logs.
const CLIENT_ID: &str = "kedge";

/// How much is read at a time, and what a connection keeps between requests.
const CHUNK_BYTES: usize = 16 << 10;

/// What the responses of one exchange may have together. A batch of questions about offsets has 16 KiB, and so 4,000 partitions at most,
/// of which each can have 4 KiB of text in a response.
const EXCHANGE_BYTES_MAX: usize = FRAME_BYTES_MAX;

/// The longest response to a question whose answer is short. Some are read before the broker has proved anything.
const SHORT_BYTES_MAX: usize = 64 << 10;

/// The requests that sign in.
const SASL: [Api; 2] = [SaslHandshake::API, SaslAuthenticate::API];

/// A request without its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    api: Api,
    body: Vec<u8>,
}

/// The body of a response; or the request that the broker does not know, and that was not sent.
pub(super) type Answer = Result<Vec<u8>, UnknownApi>;

/// A request that a broker does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it does not know {name} {version}; Kedge needs a broker of Kafka {oldest} or newer", name = .0.name, version = .0.version, oldest = oldest(.0))]
pub(super) struct UnknownApi(Api);

/// The first release of Kafka that has a request.
fn oldest(api: &Api) -> &'static str {
    if SASL.contains(api) { "1.0" } else { "0.11" }
}

impl Question {
    pub(super) fn new<R: Request>(request: &R) -> Self {
        Self { api: R::API, body: kafka::encode(request) }
    }

    pub(super) fn length(&self) -> usize {
        self.body.len()
    }

    fn response_bytes_max(&self) -> usize {
        let is_short = [ApiVersions::API, FindCoordinator::API].contains(&self.api) || SASL.contains(&self.api);
        if is_short { SHORT_BYTES_MAX } else { EXCHANGE_BYTES_MAX }
    }
}

pub(super) struct KafkaConnection {
    stream: BoxStream,
    received: Vec<u8>,
    next_id: i32,
    state: State,
    /// The requests that the broker knows.
    apis: Vec<ApiRange>,
}

/// What has happened on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Beginning,
    /// Nothing was signed, and nothing was answered yet that needs it.
    Anonymous,
    Answering,
}

impl KafkaConnection {
    /// Begins with asking which requests the broker knows. It must know the needed ones.
    pub(super) async fn begin(stream: BoxStream, needed: &[Api]) -> Result<Self, ExchangeError> {
        let (received, apis) = (Vec::new(), Vec::new());
        let mut connection = Self { stream, received, next_id: 1, state: State::Beginning, apis };
        connection.apis = connection.call(&ApiVersions {}).await?.apis;
        match needed.iter().find(|needed| !connection.knows(**needed)) {
            None => Ok(connection),
            Some(missing) => Err(ExchangeError::Refused(UnknownApi(*missing).to_string())),
        }
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.state = state;
    }

    fn knows(&self, asked: Api) -> bool {
        let covers = |api: &ApiRange| (api.version_min..=api.version_max).contains(&asked.version);
        // The versions are asked for before anything is known.
        asked == ApiVersions::API || self.apis.iter().any(|api| api.key == asked.key && covers(api))
    }

    /// Sends one request, and receives its response.
    pub(super) async fn call<R: Request>(&mut self, request: &R) -> Result<R::Response, ExchangeError> {
        match self.ask(&[Question::new(request)]).await?.pop() {
            Some(Ok(body)) => kafka::decode(&body).map_err(malformed),
            Some(Err(unknown)) => Err(ExchangeError::Refused(unknown.to_string())),
            None => Err(malformed(KafkaError::TooShort)),
        }
    }

    /// Sends at once the requests that the broker knows, and receives the response to each.
    pub(super) async fn ask(&mut self, questions: &[Question]) -> Result<Vec<Answer>, ExchangeError> {
        let (first_id, mut frames) = (self.next_id, Vec::new());
        for Question { api, body } in questions {
            if self.knows(*api) {
                frames.extend(kafka::encode_request(*api, body, self.next_id, CLIENT_ID));
                self.next_id = self.next_id.wrapping_add(1);
            }
        }
        self.stream.write_all(&frames).await?;
        self.stream.flush().await?;
        let (mut answers, mut budget, mut id) = (Vec::with_capacity(questions.len()), EXCHANGE_BYTES_MAX, first_id);
        for question in questions {
            if !self.knows(question.api) {
                answers.push(Err(UnknownApi(question.api)));
                continue;
            }
            let body = self.receive(id, budget.min(question.response_bytes_max())).await?;
            id = id.wrapping_add(1);
            budget = budget.saturating_sub(body.len());
            answers.push(Ok(body));
        }
        if !self.received.is_empty() {
            return Err(malformed(KafkaError::TooLong));
        }
        self.received.shrink_to(CHUNK_BYTES);
        Ok(answers)
    }

    /// Receives the response to the request with this id.
    async fn receive(&mut self, id: i32, length_max: usize) -> Result<Vec<u8>, ExchangeError> {
        loop {
            if let Some(frame) = kafka::frame(&self.received, length_max).map_err(malformed)? {
                let body = kafka::response_body(frame, id).map_err(malformed)?.to_vec();
                let length = kafka::LENGTH_BYTES + frame.len();
                self.received.drain(..length);
                return Ok(body);
            }
            let before = self.received.len();
            self.received.resize(before + CHUNK_BYTES, 0);
            let read = self.stream.read(&mut self.received[before..]).await?;
            self.received.truncate(before + read);
            match (read, self.state) {
                (1.., _) => {}
                // A broker that wants to know who asks says nothing else.
                (0, State::Anonymous) => {
                    let problem =
                        "the broker closed the connection at the first request; if it wants a user, set `sasl`";
                    return Err(ExchangeError::Refused(problem.to_owned()));
                }
                (0, _) => {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the broker closed the connection").into());
                }
            }
        }
    }
}

fn malformed(error: KafkaError) -> ExchangeError {
    ExchangeError::Malformed(error.to_string())
}
