//! Shared connections to MySQL servers: signing in, over TLS where it is wanted, and queries. `peer` is what sets them apart.

mod peer;

use std::io;

use kedge_core::secret::Secret;
use kedge_wire::mysql::rsa::SEED_LENGTH;
use kedge_wire::mysql::{
    AuthError, Authentication, Client, Greeting, MysqlError, Outcome, Permissions, Progress, ServerError, Step,
    TextResults, decode_packet, encode_packet,
};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub(crate) use self::peer::{MysqlOptions, MysqlPeer, MysqlTls};
use crate::dial::Dial;
use crate::error::cut;
use crate::http::connector::BoxStream;
use crate::sessions::{ExchangeError, Protocol, Sessions, shown_words};
use crate::sql::QueryResult;

/// How much is read at a time.
const CHUNK_BYTES: usize = 4096;

/// The command of a query.
const QUERY: u8 = 3;

/// The sessions of this process, by namespace: queries are the users' own, and may be slow, but no namespace waits for another.
pub(crate) type MysqlSessions = Sessions<(String, MysqlPeer), MysqlProtocol>;

/// How connections begin.
#[derive(Debug)]
pub(crate) struct MysqlProtocol {
    pub(crate) peer: MysqlPeer,
    /// Puts TLS on connections that are open.
    pub(crate) upgrade: Dial,
}

pub(crate) struct MysqlConnection {
    stream: BoxStream,
    received: Vec<u8>,
    /// The number of the next packet.
    sequence: u8,
    password: Secret,
    /// Whether a query left a transaction open.
    is_in_transaction: bool,
}

impl Protocol for MysqlProtocol {
    type Connection = MysqlConnection;
    type Request = String;
    type Answer = QueryResult;

    async fn sign_in(&self, stream: BoxStream) -> Result<MysqlConnection, ExchangeError> {
        let password = self.peer.password.clone();
        let received = Vec::new();
        let mut connection = MysqlConnection { stream, received, sequence: 0, password, is_in_transaction: false };
        let first = connection.receive().await?;
        if let Some(error) = ServerError::decode(&first).map_err(malformed)? {
            return Err(connection.explain(&error));
        }
        let greeting = Greeting::decode(&first).map_err(malformed)?;
        connection = self.authenticate(connection, &greeting).await?;
        for statement in self.peer.options.statements() {
            connection.run(&statement).await?;
        }
        Ok(connection)
    }

    async fn exchange(connection: &mut MysqlConnection, query: &String) -> Result<QueryResult, ExchangeError> {
        if connection.is_in_transaction {
            // It would see the data as they were when the transaction began.
            return Err(io::Error::new(io::ErrorKind::ConnectionReset, "a transaction was left open").into());
        }
        let Outcome { columns, first_row, is_in_transaction } = connection.ask(query).await?;
        connection.is_in_transaction = is_in_transaction;
        let text = |value: Vec<u8>| String::from_utf8_lossy(&value).into_owned();
        let first_row = first_row.map(|row| row.into_iter().map(|value| value.map(text)).collect());
        Ok(QueryResult { columns, first_row })
    }
}

impl MysqlProtocol {
    async fn authenticate(
        &self,
        mut connection: MysqlConnection,
        greeting: &Greeting,
    ) -> Result<MysqlConnection, ExchangeError> {
        let MysqlPeer { server, username, password, database, options } = &self.peer;
        let has_tls = match options.tls {
            Some(tls) if !greeting.capabilities.has_tls() && !tls.falls_back => {
                let problem =
                    "it has no TLS, which `connectionString` asks for; set it up in the server, or use tls=preferred";
                return Err(ExchangeError::Refused(problem.to_owned()));
            }
            tls => tls.is_some() && greeting.capabilities.has_tls(),
        };
        let client = Client { user: username, database, has_multi_statements: options.multi_statements, has_tls };
        if has_tls {
            connection.send(&client.encode_tls_request(greeting.capabilities)).await?;
            connection.stream = self.upgrade.upgrade(server, connection.stream).await?;
        }
        let permissions = Permissions {
            is_encrypted: has_tls,
            clear_password: options.clear_password,
            native_password: options.native_password,
        };
        let begun = Authentication::begin(greeting, password.reveal(), permissions, seed()?);
        let (mut authentication, answer) = begun.map_err(|error| connection.explain_sign_in(&error))?;
        let response = client.encode_response(greeting.capabilities, authentication.plugin(), &answer);
        connection.send(&response).await?;
        loop {
            let payload = connection.receive().await?;
            match authentication.step(&payload).map_err(|error| connection.explain_sign_in(&error))? {
                Step::Send(answer) => connection.send(&answer).await?,
                Step::Wait => {}
                Step::Done => return Ok(connection),
            }
        }
    }
}

impl MysqlConnection {
    async fn run(&mut self, alternatives: &[String]) -> Result<(), ExchangeError> {
        let mut refused = None;
        for statement in alternatives {
            match self.ask(statement).await {
                Ok(_) => return Ok(()),
                Err(error @ ExchangeError::Refused(_)) => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// Runs a query and receives all of its results.
    async fn ask(&mut self, query: &str) -> Result<Outcome, ExchangeError> {
        self.sequence = 0;
        self.send(&[&[QUERY], query.as_bytes()].concat()).await?;
        let mut results = TextResults::default();
        loop {
            let payload = self.receive().await?;
            match results.push(&payload).map_err(malformed)? {
                Progress::More => {}
                Progress::Refused(error) => return Err(self.explain(&error)),
                Progress::Done(_) if !self.received.is_empty() => return Err(malformed(MysqlError::Surplus)),
                Progress::Done(outcome) => return Ok(outcome),
            }
        }
    }

    /// Sends a payload. What came unasked is no answer to it; before TLS begins, it may come from another than the server.
    async fn send(&mut self, payload: &[u8]) -> Result<(), ExchangeError> {
        if !self.received.is_empty() {
            return Err(malformed(MysqlError::Surplus));
        }
        let bytes = encode_packet(self.sequence, payload);
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.write_all(&bytes).await?;
        Ok(self.stream.flush().await?)
    }

    /// Receives the payload of the next packet.
    async fn receive(&mut self) -> Result<Vec<u8>, ExchangeError> {
        loop {
            if let Some((packet, length)) = decode_packet(&self.received).map_err(malformed)? {
                // An error that came before the query has another number.
                let is_error = packet.payload.first() == Some(&ServerError::MARK);
                if packet.sequence != self.sequence && !is_error {
                    return Err(malformed(MysqlError::Sequence));
                }
                let payload = packet.payload.to_vec();
                self.sequence = packet.sequence.wrapping_add(1);
                self.received.drain(..length);
                return Ok(payload);
            }
            let before = self.received.len();
            self.received.resize(before + CHUNK_BYTES, 0);
            let read = self.stream.read(&mut self.received[before..]).await?;
            self.received.truncate(before + read);
            if read == 0 {
                return Err(ExchangeError::closed());
            }
        }
    }

    fn explain(&self, error: &ServerError) -> ExchangeError {
        let words = shown_words(&error.to_string(), &[&self.password]);
        let text = remedy(error.code).map_or_else(|| words.clone(), |remedy| format!("{words}; {remedy}"));
        match error {
            _ if error.ends_connection() => io::Error::new(io::ErrorKind::ConnectionReset, text).into(),
            _ if error.is_denial() => ExchangeError::Denied(text),
            _ => ExchangeError::Refused(text),
        }
    }

    fn explain_sign_in(&self, error: &AuthError) -> ExchangeError {
        let remedy = match error {
            AuthError::Refused(error) => return self.explain(error),
            AuthError::Malformed(error) => return malformed(*error),
            AuthError::Plugin(_) => "create the user with caching_sha2_password or mysql_native_password",
            AuthError::ClearWithoutEncryption => "add tls=true to `connectionString`",
            AuthError::ClearNotAllowed => "add tls=true&allowCleartextPasswords=true to `connectionString`",
            AuthError::NativeNotAllowed => "leave allowNativePasswords=false out of `connectionString`",
            AuthError::Key => "add tls=true to `connectionString`, so that none is needed",
        };
        ExchangeError::Refused(cut(&format!("{error}; {remedy}")))
    }
}

fn remedy(code: u16) -> Option<&'static str> {
    match code {
        1045 | 1698 => Some("check the user and the password in `connectionString`, or `username` and `password`"),
        1044 => Some("grant the user the database, or check its name in `connectionString`, or `dbName`"),
        1049 => Some("check the name of the database in `connectionString`, or `dbName`"),
        1142 | 1143 | 1227 | 1370 => Some("grant the user what the query needs"),
        1820 | 1862 => Some("change the password, which has expired"),
        1054 | 1064 | 1146 => Some("correct `query`"),
        1193 => Some("correct the variables in `connectionString`"),
        1040 | 1203 | 1226 => Some("raise the number of connections that the server allows"),
        _ => None,
    }
}

fn malformed(error: MysqlError) -> ExchangeError {
    ExchangeError::Malformed(error.to_string())
}

fn seed() -> Result<[u8; SEED_LENGTH], ExchangeError> {
    let mut seed = [0; SEED_LENGTH];
    let filled = SystemRandom::new().fill(&mut seed);
    filled.map_err(|_| ExchangeError::Malformed("the machine has no random numbers".to_owned()))?;
    Ok(seed)
}
