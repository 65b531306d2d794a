//! Shared connections to PostgreSQL servers: TLS where it is wanted, signing in, and queries.
//!
//! | module | what it holds |
//! |---|---|
//! | `peer` | what sets connections apart |
//! | `connection` | one connection, and queries on it |
//! | `sign_in` | how it begins |
//! | `failure` | what the errors of servers mean |

mod connection;
pub(crate) mod failure;
mod peer;
mod sign_in;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use kedge_core::secret::Secret;
use kedge_wire::postgres::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub(crate) use self::connection::QueryOutcome;
use self::connection::{PostgresConnection, malformed};
pub(crate) use self::peer::{Encryption, Login, Password, PostgresPeer, TlsRules, WantedServer};
use self::sign_in::{User, sign_in};
use crate::credential_file;
use crate::dial::Tls;
use crate::error::ReadError;
use crate::http::connector::BoxStream;
use crate::http::{HttpClients, TlsProfile};
use crate::identity::Signer;
use crate::sessions::{ExchangeError, Protocol, Sessions};

/// The sessions of this process.
pub(crate) type PostgresSessions = Sessions<Arc<PostgresPeer>, PostgresProtocol>;

/// How connections of one session begin.
pub(crate) struct PostgresProtocol {
    peer: Arc<PostgresPeer>,
    http: Arc<HttpClients>,
    /// Of the identity, where the password is its token.
    signer: Option<Arc<Signer>>,
    /// The time of the newest reading, in milliseconds of Unix: tokens depend on it.
    now_ms: AtomicI64,
}

impl PostgresProtocol {
    pub(crate) fn new(peer: Arc<PostgresPeer>, http: Arc<HttpClients>, signer: Option<Arc<Signer>>) -> Self {
        Self { peer, http, signer, now_ms: AtomicI64::new(0) }
    }

    /// Sets the time to that of a reading, also back: a clock that was ahead must not leave tokens in the future.
    pub(crate) fn set_now(&self, now: DateTime<Utc>) {
        self.now_ms.store(now.timestamp_millis(), Ordering::Relaxed);
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
        let mut connection = PostgresConnection::new(stream);
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
    let result = connection.query(query).await?.map_err(|error| failure::refusal(&error, None))?;
    match result.first_row.as_deref() {
        Some([Some(value)]) if value == expected => Ok(()),
        Some([Some(_)]) => {
            Err(ExchangeError::Refused(format!("{problem}, and `target_session_attrs` asks for another")))
        }
        _ => Err(malformed("it does not answer what kind of server it is")),
    }
}
