//! One connection: its messages, and queries.

use std::io;

use kedge_wire::postgres::{self, PostgresError, Request, Response, ServerError, TransactionStatus};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::error::cut;
use crate::http::connector::BoxStream;
use crate::sessions::ExchangeError;
use crate::sql::QueryResult;

/// How much is read at a time, and what a connection keeps between queries.
const CHUNK_BYTES: usize = 16 << 10;

pub(crate) struct PostgresConnection {
    pub(super) stream: BoxStream,
    received: Vec<u8>,
    /// How much of it was read.
    read: usize,
}

/// What a query gave; or the server's error, after which the connection is as good as before.
pub(crate) type QueryOutcome = Result<QueryResult, ServerError>;

impl PostgresConnection {
    pub(super) fn new(stream: BoxStream) -> Self {
        Self { stream, received: Vec::new(), read: 0 }
    }

    pub(super) async fn send(&mut self, request: Request<'_>) -> Result<(), ExchangeError> {
        self.stream.write_all(&request.encode()).await?;
        Ok(self.stream.flush().await?)
    }

    pub(super) async fn receive(&mut self) -> Result<Response, ExchangeError> {
        loop {
            if let Some(message) = postgres::message(&self.received[self.read..]).map_err(unreadable)? {
                self.read += message.length();
                return Response::decode(message).map_err(unreadable);
            }
            self.received.drain(..self.read);
            self.read = 0;
            let before = self.received.len();
            self.received.resize(before + CHUNK_BYTES, 0);
            let read = self.stream.read(&mut self.received[before..]).await?;
            self.received.truncate(before + read);
            if read == 0 {
                return Err(ExchangeError::closed());
            }
        }
    }

    /// Runs one statement.
    pub(super) async fn query(&mut self, query: &str) -> Result<QueryOutcome, ExchangeError> {
        self.send(Request::Query(query)).await?;
        let mut collected = Collected::default();
        let status = loop {
            if let Some(status) = collected.add(self.receive().await?)? {
                break status;
            }
        };
        if self.read < self.received.len() {
            return Err(malformed("there is more than was asked for"));
        }
        self.received.shrink_to(CHUNK_BYTES);
        collected.finish(status)
    }
}

/// The messages of one answer, put together.
#[derive(Debug, Default)]
struct Collected {
    columns: Option<usize>,
    first_row: Option<Vec<Option<String>>>,
    completed: usize,
    error: Option<ServerError>,
}

impl Collected {
    /// Takes a message. The last one has the status.
    fn add(&mut self, response: Response) -> Result<Option<TransactionStatus>, ExchangeError> {
        match response {
            Response::ReadyForQuery(status) => return Ok(Some(status)),
            // The server ends the session, often because it is shut down.
            Response::Error(error) if error.is_fatal() => {
                return Err(ExchangeError::Ended(io::Error::other(cut(&error.to_string()))));
            }
            Response::Error(error) => self.error = Some(error),
            Response::RowDescription { columns } if self.completed == 0 && self.columns.is_none() => {
                self.columns = Some(columns);
            }
            Response::DataRow(values) if self.completed == 0 && self.columns == Some(values.len()) => {
                self.first_row.get_or_insert(values);
            }
            // What comes after the first result is not read.
            Response::RowDescription { .. } | Response::DataRow(_) if self.completed > 0 => {}
            Response::CommandComplete | Response::EmptyQuery => self.completed += 1,
            Response::Copy => {
                return Err(ExchangeError::Refused("the query is a COPY; write a SELECT of one number".to_owned()));
            }
            Response::Notice(_) | Response::ParameterStatus { .. } | Response::Notification => {}
            _ => return Err(malformed("the messages of the answer are out of order")),
        }
        Ok(None)
    }

    fn finish(self, status: TransactionStatus) -> Result<QueryOutcome, ExchangeError> {
        let refused = |problem: &str| Err(ExchangeError::Refused(problem.to_owned()));
        match (self.error, self.completed) {
            _ if status != TransactionStatus::Idle => {
                refused("the query leaves a transaction open; write a SELECT alone")
            }
            (Some(error), _) => Ok(Err(error)),
            // KEDA: an error, too; there the server reports it.
            (None, 2..) => refused("the query has several statements; write one"),
            (None, 1) => Ok(Ok(QueryResult { columns: self.columns.unwrap_or(0), first_row: self.first_row })),
            (None, 0) => Err(malformed("it ends without a result")),
        }
    }
}

fn unreadable(error: PostgresError) -> ExchangeError {
    malformed(&error.to_string())
}

pub(super) fn malformed(problem: &str) -> ExchangeError {
    ExchangeError::Malformed(problem.to_owned())
}
