//! Connections to brokers: which requests a broker must know, signing in, and several requests at once.

use std::io;
use std::sync::Arc;

use kedge_wire::kafka::messages::{ApiVersions, FindCoordinator, ListOffsets, Metadata, OffsetFetch};
use kedge_wire::kafka::{self, Api, KafkaError, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::sign_in::SignIn;
use crate::http::connector::BoxStream;
use crate::sessions::{ExchangeError, Protocol};

/// The name under which brokers see this program, in their quotas and logs.
const CLIENT_ID: &str = "kedge";

/// How much is read at a time, and what a connection keeps between requests.
const CHUNK_BYTES: usize = 16 << 10;

/// What is asked in every cluster.
const NEEDED: [Api; 4] = [Metadata::API, FindCoordinator::API, OffsetFetch::API, ListOffsets::API];

/// A request without its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    api: Api,
    body: Vec<u8>,
}

impl Question {
    pub(super) fn new<R: Request>(request: &R) -> Self {
        Self { api: R::API, body: kafka::encode(request) }
    }

    pub(super) fn length(&self) -> usize {
        self.body.len()
    }
}

/// How connections to one broker begin.
pub(super) struct KafkaProtocol {
    pub(super) sign_in: Arc<SignIn>,
    /// The host of the broker, as signatures name it.
    pub(super) host: String,
}

pub(super) struct KafkaConnection {
    stream: BoxStream,
    received: Vec<u8>,
    next_id: i32,
    state: State,
}

/// What has happened on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Beginning,
    /// Nothing was signed, and nothing was answered yet that needs it.
    Anonymous,
    Answering,
}

impl Protocol for KafkaProtocol {
    type Connection = KafkaConnection;
    type Request = Vec<Question>;
    type Answer = Vec<Vec<u8>>;

    async fn sign_in(&self, stream: BoxStream) -> Result<KafkaConnection, ExchangeError> {
        let mut connection = KafkaConnection { stream, received: Vec::new(), next_id: 1, state: State::Beginning };
        let known = connection.call(&ApiVersions {}).await?;
        if let Some(missing) = NEEDED.iter().find(|needed| !knows(&known.apis, **needed)) {
            let Api { name, version, .. } = missing;
            let problem = format!("it does not know {name} {version}; Kedge needs a broker of Kafka 0.11 or newer");
            return Err(ExchangeError::Refused(problem));
        }
        self.sign_in.run(&mut connection, &self.host).await?;
        connection.state = if self.sign_in.is_none() { State::Anonymous } else { State::Answering };
        Ok(connection)
    }

    async fn exchange(connection: &mut KafkaConnection, asked: &Vec<Question>) -> Result<Vec<Vec<u8>>, ExchangeError> {
        let answers = connection.ask(asked).await?;
        connection.state = State::Answering;
        Ok(answers)
    }
}

fn knows(apis: &[kafka::messages::ApiRange], needed: Api) -> bool {
    apis.iter().any(|api| api.key == needed.key && (api.version_min..=api.version_max).contains(&needed.version))
}

impl KafkaConnection {
    /// Sends one request, and receives its response.
    pub(super) async fn call<R: Request>(&mut self, request: &R) -> Result<R::Response, ExchangeError> {
        let answers = self.ask(&[Question::new(request)]).await?;
        kafka::decode(answers.first().map_or(&[][..], Vec::as_slice)).map_err(malformed)
    }

    /// Sends requests at once, and receives the response to each.
    async fn ask(&mut self, questions: &[Question]) -> Result<Vec<Vec<u8>>, ExchangeError> {
        let first_id = self.next_id;
        let mut frames = Vec::new();
        for Question { api, body } in questions {
            frames.extend(kafka::encode_request(*api, body, self.next_id, CLIENT_ID));
            self.next_id = self.next_id.wrapping_add(1);
        }
        self.stream.write_all(&frames).await?;
        self.stream.flush().await?;
        let mut answers = Vec::with_capacity(questions.len());
        for position in 0..questions.len() {
            let position = i32::try_from(position).map_err(|_| malformed(KafkaError::Length))?;
            answers.push(self.receive(first_id.wrapping_add(position)).await?);
        }
        if !self.received.is_empty() {
            return Err(malformed(KafkaError::TooLong));
        }
        self.received.shrink_to(CHUNK_BYTES);
        Ok(answers)
    }

    /// Receives the response to the request with this id.
    async fn receive(&mut self, id: i32) -> Result<Vec<u8>, ExchangeError> {
        loop {
            if let Some(frame) = kafka::frame(&self.received).map_err(malformed)? {
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

pub(super) fn malformed(error: KafkaError) -> ExchangeError {
    ExchangeError::Malformed(error.to_string())
}
