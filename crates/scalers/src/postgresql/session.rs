//! Connections to servers: TLS where it is wanted, signing in, and queries.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use kedge_core::secret::Secret;
use kedge_wire::postgres::{self, PostgresError, Request, Response, ServerError, TransactionStatus};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::settings::{Encryption, TlsRules, WantedServer};
use super::sign_in::{User, sign_in};
use crate::credential_file;
use crate::dial::Tls;
use crate::error::ReadError;
use crate::host_port::HostPort;
use crate::http::connector::BoxStream;
use crate::http::{HttpClients, TlsProfile};
use crate::identity::{CloudIdentity, Signer};
use crate::sessions::{ExchangeError, Protocol, Sessions};
use crate::sql::QueryResult;

/// How much is read at a time, and what a connection keeps between queries.
const CHUNK_BYTES: usize = 16 << 10;

/// The sessions of this process.
pub(crate) type PostgresSessions = Sessions<Arc<PostgresPeer>, PostgresProtocol>;

/// What sets a session apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PostgresPeer {
    pub(super) server: HostPort,
    pub(super) encryption: Encryption,
    pub(super) wanted: WantedServer,
    pub(super) login: Arc<Login>,
    /// Queries of several lanes run at once.
    pub(super) lane: u64,
}

/// Who signs in, to which database, and how.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) database: Option<String>,
    pub(super) password: Password,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) tls: TlsRules,
    pub(super) connect_limit: Option<Duration>,
}

/// Where the password comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Password {
    None,
    Given(Secret),
    /// A token of the identity, for each connection.
    Token(CloudIdentity),
}

/// How connections of one session begin.
pub(crate) struct PostgresProtocol {
    peer: Arc<PostgresPeer>,
    http: Arc<HttpClients>,
    /// Of the identity, where the password is its token.
    signer: Option<Arc<Signer>>,
    /// The time of the newest reading, in milliseconds of Unix: tokens depend on it.
    now_ms: AtomicI64,
}

pub(crate) struct PostgresConnection {
    stream: BoxStream,
    received: Vec<u8>,
    /// How much of it was read.
    read: usize,
}

/// What a query gave; or the server's error, after which the connection is as good as before.
pub(super) type QueryOutcome = Result<QueryResult, ServerError>;

impl PostgresProtocol {
    pub(super) fn new(peer: Arc<PostgresPeer>, http: Arc<HttpClients>, signer: Option<Arc<Signer>>) -> Self {
        Self { peer, http, signer, now_ms: AtomicI64::new(0) }
    }

    /// Sets the time of a reading.
    pub(super) fn set_now(&self, now: DateTime<Utc>) {
        self.now_ms.fetch_max(now.timestamp_millis(), Ordering::Relaxed);
    }

    async fn password(&self) -> Result<Option<Secret>, ReadError> {
        match (&self.peer.login.password, &self.signer) {
            (Password::Token(_), Some(signer)) => {
                let now = DateTime::from_timestamp_millis(self.now_ms.load(Ordering::Relaxed)).unwrap_or_default();
                signer.token(now).await.map(Some)
            }
            (Password::Given(password), _) => Ok(Some(password.clone())),
            _ => Ok(None),
        }
    }

    /// Begins TLS where it is wanted.
    async fn secure(&self, mut stream: BoxStream) -> Result<BoxStream, ExchangeError> {
        if self.peer.encryption == Encryption::None {
            return Ok(stream);
        }
        stream.write_all(&Request::Ssl.encode()).await?;
        stream.flush().await?;
        match (stream.read_u8().await?, self.peer.encryption) {
            (b'S', _) => {
                let tls = self.tls().await.map_err(ExchangeError::Other)?;
                Ok(tls.begin(&self.peer.server.host, stream).await?)
            }
            (b'N', Encryption::IfOffered) => Ok(stream),
            (b'N', _) => {
                let problem = "the server has no TLS, and `sslmode` asks for it; set `ssl` of the server to on";
                Err(ExchangeError::Refused(problem.to_owned()))
            }
            _ => Err(malformed("it does not answer whether it has TLS")),
        }
    }

    /// Made for each connection: the file of CAs may have changed.
    async fn tls(&self) -> Result<Tls, ReadError> {
        let TlsRules { verification, ca_file } = &self.peer.login.tls;
        let unusable = |problem: String| ReadError::Config {
            field: "connection",
            problem: format!("has an `sslrootcert` that cannot be used: {problem}"),
            remedy: "name a file of the operator's pod with CAs as PEM, or give the operator the CA with --ca-dir",
        };
        let ca = match ca_file {
            Some(file) => Some(Secret::new(credential_file::read(file).await.map_err(unusable)?)),
            None => None,
        };
        let profile = TlsProfile { verification: *verification, ca, identity: None };
        self.http.tls(&profile).map(Tls::new).map_err(|error| unusable(error.problem))
    }
}

impl Protocol for PostgresProtocol {
    type Connection = PostgresConnection;
    type Request = String;
    type Answer = QueryOutcome;

    fn connect_limit(&self) -> Option<Duration> {
        self.peer.login.connect_limit
    }

    async fn sign_in(&self, stream: BoxStream) -> Result<PostgresConnection, ExchangeError> {
        let password = self.password().await.map_err(ExchangeError::Other)?;
        let stream = self.secure(stream).await?;
        let mut connection = PostgresConnection { stream, received: Vec::new(), read: 0 };
        let login = &self.peer.login;
        let mut parameters = vec![("user", login.user.as_str())];
        parameters.extend(login.database.as_deref().map(|database| ("database", database)));
        parameters.extend(login.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        sign_in(&mut connection, &parameters, User { name: &login.user, password: password.as_ref() }).await?;
        check_server(&mut connection, self.peer.wanted).await?;
        Ok(connection)
    }

    async fn exchange(connection: &mut PostgresConnection, query: &String) -> Result<QueryOutcome, ExchangeError> {
        connection.query(query).await
    }
}

/// Passes over a server that is not of the wanted kind.
async fn check_server(connection: &mut PostgresConnection, wanted: WantedServer) -> Result<(), ExchangeError> {
    let (query, expected, problem) = match wanted {
        WantedServer::Any => return Ok(()),
        WantedServer::ReadWrite => ("SHOW transaction_read_only", "off", "the server is read-only"),
        WantedServer::ReadOnly => ("SHOW transaction_read_only", "on", "the server is not read-only"),
        WantedServer::Primary => ("SELECT pg_catalog.pg_is_in_recovery()", "f", "the server is a standby"),
        WantedServer::Standby | WantedServer::PreferStandby => {
            ("SELECT pg_catalog.pg_is_in_recovery()", "t", "the server is no standby")
        }
    };
    let result = connection.query(query).await?.map_err(|error| super::failure::refusal(&error))?;
    match result.first_row.as_deref() {
        Some([Some(value)]) if value == expected => Ok(()),
        Some([Some(_)]) => {
            Err(ExchangeError::Refused(format!("{problem}, and `target_session_attrs` asks for another")))
        }
        _ => Err(malformed("it does not answer what kind of server it is")),
    }
}

impl PostgresConnection {
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
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection").into());
            }
        }
    }

    /// Runs one statement.
    async fn query(&mut self, query: &str) -> Result<QueryOutcome, ExchangeError> {
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
                return Err(ExchangeError::Ended(io::Error::other(crate::error::cut(&error.to_string()))));
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
