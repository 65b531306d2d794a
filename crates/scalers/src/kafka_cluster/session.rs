//! How connections to brokers begin, and what is exchanged on them.

use std::sync::Arc;

use kedge_wire::kafka::messages::{FindCoordinator, ListOffsets, Metadata, OffsetFetch};
use kedge_wire::kafka::{Api, Request};

use super::connection::{Answer, KafkaConnection, Question, State};
use super::sign_in::SignIn;
use crate::http::connector::BoxStream;
use crate::sessions::{ExchangeError, Protocol};

/// What is asked in every cluster.
const NEEDED: [Api; 4] = [Metadata::API, FindCoordinator::API, OffsetFetch::API, ListOffsets::API];

/// How connections to one broker begin.
pub(super) struct KafkaProtocol {
    pub(super) sign_in: Arc<SignIn>,
    /// The host of the broker, as signatures name it.
    pub(super) host: String,
}

impl Protocol for KafkaProtocol {
    type Connection = KafkaConnection;
    type Request = Vec<Question>;
    type Answer = Vec<Answer>;

    async fn sign_in(&self, stream: BoxStream) -> Result<KafkaConnection, ExchangeError> {
        let mut connection = KafkaConnection::begin(stream, &NEEDED).await?;
        self.sign_in.run(&mut connection, &self.host).await?;
        connection.set_state(if self.sign_in.is_none() { State::Anonymous } else { State::Answering });
        Ok(connection)
    }

    async fn exchange(connection: &mut KafkaConnection, asked: &Vec<Question>) -> Result<Vec<Answer>, ExchangeError> {
        let answers = connection.ask(asked).await?;
        if answers.iter().any(Result::is_ok) {
            connection.set_state(State::Answering);
        }
        Ok(answers)
    }
}
