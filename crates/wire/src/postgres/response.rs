//! What the server sends.

use std::fmt;

use super::{Body, Message, PostgresError, text};

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    Authentication(Authentication),
    Error(ServerError),
    Notice(ServerError),
    ParameterStatus {
        name: String,
        value: String,
    },
    BackendKeyData,
    /// The server does not know some of what was asked for at the start.
    NegotiateProtocolVersion,
    ReadyForQuery(TransactionStatus),
    /// A result begins, with so many columns.
    RowDescription {
        columns: usize,
    },
    /// `None` in it is NULL.
    DataRow(Vec<Option<String>>),
    CommandComplete,
    EmptyQuery,
    /// Something that another session sent by NOTIFY.
    Notification,
    /// The statement is a COPY.
    Copy,
}

/// What the server wants to know of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// Nothing more.
    Ok,
    CleartextPassword,
    Md5Password {
        salt: [u8; 4],
    },
    Sasl {
        mechanisms: Vec<String>,
    },
    SaslContinue(Vec<u8>),
    SaslFinal(Vec<u8>),
    /// A method by its name.
    Unsupported(&'static str),
}

/// Whether a transaction is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    Open,
    Failed,
}

/// The kind of an error: five characters, of which the first two are its class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlState(pub String);

/// An error of the server, or a notice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// `ERROR`, or `FATAL` and `PANIC` where the session is over; not translated where the server is not older than 9.6.
    pub severity: String,
    pub code: SqlState,
    pub message: String,
}

impl SqlState {
    pub const INVALID_PASSWORD: &'static str = "28P01";
    pub const INVALID_AUTHORIZATION: &'static str = "28000";
    pub const INSUFFICIENT_PRIVILEGE: &'static str = "42501";
    pub const INVALID_CATALOG_NAME: &'static str = "3D000";

    pub fn class(&self) -> &str {
        self.0.get(..2).unwrap_or_default()
    }
}

impl ServerError {
    /// Whether the server ends the session.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.0, self.message)
    }
}

impl Response {
    /// Reads a whole message.
    pub fn decode(message: Message<'_>) -> Result<Self, PostgresError> {
        let mut body = Body(message.body);
        let response = match message.kind {
            b'R' => Self::Authentication(read_authentication(&mut body)?),
            b'E' => Self::Error(read_error(&mut body)?),
            b'N' => Self::Notice(read_error(&mut body)?),
            b'S' => Self::ParameterStatus { name: body.text()?, value: body.words()? },
            b'K' => read_key(&mut body)?,
            b'v' => read_negotiation(&mut body)?,
            b'Z' => Self::ReadyForQuery(read_status(&mut body)?),
            b'T' => read_columns(&mut body)?,
            b'D' => Self::DataRow(read_row(&mut body)?),
            b'C' => {
                body.text()?;
                Self::CommandComplete
            }
            b'I' => Self::EmptyQuery,
            b'A' => {
                body.long()?;
                body.words()?;
                body.words()?;
                Self::Notification
            }
            b'G' | b'H' | b'W' => {
                body.rest();
                Self::Copy
            }
            kind => return Err(PostgresError::Unknown(kind)),
        };
        if body.is_empty() { Ok(response) } else { Err(PostgresError::TooLong) }
    }
}

fn read_authentication(body: &mut Body<'_>) -> Result<Authentication, PostgresError> {
    Ok(match body.long()? {
        0 => Authentication::Ok,
        3 => Authentication::CleartextPassword,
        5 => Authentication::Md5Password { salt: body.array()? },
        10 => {
            let mut mechanisms = Vec::new();
            loop {
                match body.text()? {
                    end if end.is_empty() => break,
                    mechanism => mechanisms.push(mechanism),
                }
            }
            Authentication::Sasl { mechanisms }
        }
        11 => Authentication::SaslContinue(body.rest().to_vec()),
        12 => Authentication::SaslFinal(body.rest().to_vec()),
        other => {
            body.rest();
            Authentication::Unsupported(match other {
                2 => "Kerberos 5",
                6 => "SCM credentials",
                7 | 8 => "GSSAPI",
                9 => "SSPI",
                _ => "a method that Kedge does not know",
            })
        }
    })
}

/// Fields with a letter each, until a zero.
fn read_error(body: &mut Body<'_>) -> Result<ServerError, PostgresError> {
    let mut error = ServerError::default();
    let mut translated = String::new();
    loop {
        match body.byte()? {
            0 => break,
            b'S' => translated = body.words()?,
            b'V' => error.severity = body.words()?,
            b'C' => error.code = SqlState(body.words()?),
            b'M' => error.message = body.words()?,
            _ => drop(body.bytes()?),
        }
    }
    if error.severity.is_empty() {
        error.severity = translated;
    }
    Ok(error)
}

/// A process, and what a request to cancel its query has to name.
fn read_key(body: &mut Body<'_>) -> Result<Response, PostgresError> {
    body.long()?;
    match body.rest().len() {
        4..=256 => Ok(Response::BackendKeyData),
        _ => Err(PostgresError::Length),
    }
}

fn read_negotiation(body: &mut Body<'_>) -> Result<Response, PostgresError> {
    let (_, options) = (body.long()?, body.long()?);
    for _ in 0..options {
        body.bytes()?;
    }
    Ok(Response::NegotiateProtocolVersion)
}

fn read_status(body: &mut Body<'_>) -> Result<TransactionStatus, PostgresError> {
    match body.byte()? {
        b'I' => Ok(TransactionStatus::Idle),
        b'T' => Ok(TransactionStatus::Open),
        b'E' => Ok(TransactionStatus::Failed),
        other => Err(PostgresError::Unknown(other)),
    }
}

/// What comes between the name and the format of a column: table and number in it; type, its size and its modifier.
const COLUMN_BYTES: usize = 4 + 2 + 4 + 2 + 4;

fn read_columns(body: &mut Body<'_>) -> Result<Response, PostgresError> {
    let columns = body.count()?;
    for _ in 0..columns {
        body.bytes()?;
        body.take(COLUMN_BYTES)?;
        if body.short()? != 0 {
            return Err(PostgresError::Format);
        }
    }
    Ok(Response::RowDescription { columns })
}

fn read_row(body: &mut Body<'_>) -> Result<Vec<Option<String>>, PostgresError> {
    let count = body.count()?;
    // No more is reserved than can be there.
    let mut values = Vec::with_capacity(count.min(body.0.len() / 4));
    for _ in 0..count {
        values.push(match body.long()? {
            -1 => None,
            length => {
                let length = usize::try_from(length).map_err(|_| PostgresError::Length)?;
                Some(text(body.take(length)?)?)
            }
        });
    }
    Ok(values)
}
