//! Shared connections to Redis servers and to sentinels.

use kedge_core::secret::Secret;
use kedge_wire::resp::{self, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::error::cut;
use crate::host_port::HostPort;
use crate::http::TlsProfile;
use crate::http::connector::BoxStream;
use crate::sessions::{ExchangeError, Protocol, Sessions, shown_words};

/// The most that is received without being a whole reply: hundreds of groups of a stream take less.
const RECEIVED_BYTES_MAX: usize = 1 << 20;

/// How much is read at a time, at least.
const CHUNK_BYTES_MIN: usize = 4096;

/// A command and its arguments.
pub(crate) type Command = Vec<String>;

/// Makes a command.
pub(crate) fn command<const N: usize>(parts: [&str; N]) -> Command {
    parts.map(str::to_owned).to_vec()
}

/// Who signs in, and to which database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Credentials {
    pub(crate) username: Option<String>,
    pub(crate) password: Option<Secret>,
    pub(crate) database: i64,
    pub(crate) role: ServerRole,
}

/// What is asked of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum ServerRole {
    /// For keys.
    #[default]
    Data,
    /// For the address of a master.
    Sentinel,
}

impl ServerRole {
    /// What to do where credentials are not accepted.
    fn check(self) -> &'static str {
        match self {
            Self::Data => "check `username` and `password`",
            Self::Sentinel => "check `sentinelUsername` and `sentinelPassword`",
        }
    }

    /// What to do where there are none.
    fn give(self) -> &'static str {
        match self {
            Self::Data => "give `password`",
            Self::Sentinel => "give `sentinelPassword`",
        }
    }
}

/// The sessions of this process.
pub(crate) type RedisSessions = Sessions<RedisPeer, RedisProtocol>;

/// What sets a session apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RedisPeer {
    pub(crate) server: HostPort,
    pub(crate) security: Option<TlsProfile>,
    pub(crate) credentials: Credentials,
}

/// How connections begin.
#[derive(Debug)]
pub(crate) struct RedisProtocol {
    pub(crate) credentials: Credentials,
}

pub(crate) struct RespConnection {
    stream: BoxStream,
    received: Vec<u8>,
}

impl Protocol for RedisProtocol {
    type Connection = RespConnection;
    type Request = Vec<Command>;
    type Answer = Vec<Reply>;

    async fn sign_in(&self, stream: BoxStream) -> Result<RespConnection, ExchangeError> {
        let mut connection = RespConnection { stream, received: Vec::new() };
        let Credentials { username, password, database, .. } = &self.credentials;
        if let Some(password) = password {
            let auth = match username {
                Some(username) => command(["AUTH", username, password.reveal()]),
                None => command(["AUTH", password.reveal()]),
            };
            let refused = |message: String| {
                let words = shown_words(without_arguments(&message), &[password]);
                if is_unrelated(&message) {
                    ExchangeError::Refused(words)
                } else {
                    ExchangeError::Denied(words).or_if_denied(self.credentials.role.check())
                }
            };
            connection.expect_ok(auth).await?.map_err(refused)?;
        }
        // go-redis: no other number chooses a database.
        if *database > 0 {
            let refused = |message: String| match is_denial(&message) {
                true => ExchangeError::Denied(explain(&message, self.credentials.role)),
                false => ExchangeError::Refused(format!("{}; check `databaseIndex`", cut(&message))),
            };
            connection.expect_ok(command(["SELECT", &database.to_string()])).await?.map_err(refused)?;
        }
        Ok(connection)
    }

    async fn exchange(connection: &mut RespConnection, commands: &Vec<Command>) -> Result<Vec<Reply>, ExchangeError> {
        connection.ask(commands).await
    }
}

impl RespConnection {
    /// Sends commands at once, and receives a reply for each.
    async fn ask(&mut self, commands: &[Command]) -> Result<Vec<Reply>, ExchangeError> {
        let encode = |command: &Command| resp::encode_command(command.iter().map(String::as_bytes));
        let bytes: Vec<u8> = commands.iter().flat_map(encode).collect();
        self.stream.write_all(&bytes).await?;
        self.stream.flush().await?;
        let mut replies = Vec::with_capacity(commands.len());
        for _ in commands {
            replies.push(self.receive().await?);
        }
        if self.received.is_empty() {
            Ok(replies)
        } else {
            Err(ExchangeError::Malformed("there is more than was asked for".to_owned()))
        }
    }

    async fn receive(&mut self) -> Result<Reply, ExchangeError> {
        loop {
            let decoded = resp::decode_reply(&self.received);
            if let Some((reply, length)) = decoded.map_err(|error| ExchangeError::Malformed(error.to_string()))? {
                self.received.drain(..length);
                return Ok(reply);
            }
            if self.received.len() > RECEIVED_BYTES_MAX {
                return Err(ExchangeError::Malformed("it is too large".to_owned()));
            }
            let before = self.received.len();
            // A long reply is decoded from its start each time: the more there is, the more is read.
            self.received.resize(before + before.max(CHUNK_BYTES_MIN), 0);
            let read = self.stream.read(&mut self.received[before..]).await?;
            self.received.truncate(before + read);
            if read == 0 {
                return Err(ExchangeError::closed());
            }
        }
    }

    /// The inner error has the words of the server.
    async fn expect_ok(&mut self, command: Command) -> Result<Result<(), String>, ExchangeError> {
        match self.ask(&[command]).await?.pop() {
            Some(Reply::Simple(_)) => Ok(Ok(())),
            Some(Reply::Error(message)) => Ok(Err(message)),
            other => Err(ExchangeError::Malformed(format!("{} is no confirmation", kind_of(other.as_ref())))),
        }
    }
}

/// An error of Redis without the arguments that it repeats: they hold the password.
fn without_arguments(message: &str) -> &str {
    message.split(", with args").next().unwrap_or_default()
}

/// Whether a sign-in failed for another reason than its credentials.
fn is_unrelated(message: &str) -> bool {
    message.starts_with("LOADING") || message.contains("max number of clients")
}

/// What a reply is, without its content.
pub(crate) fn kind_of(reply: Option<&Reply>) -> &'static str {
    match reply {
        Some(Reply::Simple(_) | Reply::Bulk(_)) => "a text",
        Some(Reply::Error(_)) => "an error",
        Some(Reply::Integer(_)) => "a number",
        Some(Reply::List(_)) => "a list",
        Some(Reply::Nil) | None => "nothing",
    }
}

/// What a server refuses, in its own words, and what to do where that is known.
pub(crate) fn explain(message: &str, role: ServerRole) -> String {
    let words = cut(message);
    match remedy(message, role) {
        Some(remedy) => format!("{words}; {remedy}"),
        None => words,
    }
}

fn remedy(message: &str, role: ServerRole) -> Option<&'static str> {
    match (message.split(' ').next().unwrap_or_default(), role) {
        ("NOAUTH", _) => Some(role.give()),
        ("WRONGPASS", _) => Some(role.check()),
        ("NOPERM", _) => Some("allow the user the command and the key"),
        ("NOGROUP", _) => Some("check `stream` and `consumerGroup`, or create them"),
        ("WRONGTYPE", _) => Some("check the name of the key"),
        ("MOVED" | "ASK", _) => Some("the server is a node of a cluster: use the trigger type for clusters"),
        ("ERR", ServerRole::Sentinel) if message.contains("unknown command") => {
            Some("check that `address` names sentinels, often with port 26379")
        }
        _ => None,
    }
}

/// Whether the server refuses for want of credentials or of permissions.
pub(crate) fn is_denial(message: &str) -> bool {
    let code = message.split(' ').next().unwrap_or_default();
    matches!(code, "NOAUTH" | "WRONGPASS" | "NOPERM" | "DENIED")
}
