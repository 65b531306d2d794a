//! Connections to brokers that speak AMQP 0-9-1, which triggers with the same server, vhost, TLS profile and credentials share.

use std::io;

use kedge_core::secret::Secret;
use kedge_wire::amqp::{
    self, AmqpError, Closing, Frame, LongText, Method, PAYLOAD_BYTES_MAX, PROTOCOL_HEADER, SaslResponse, ShortText,
    Table, Tuning, Value,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::host_port::HostPort;
use crate::http::TlsProfile;
use crate::http::connector::BoxStream;
use crate::sessions::{ExchangeError, Protocol, Sessions, shown_words};

/// The name under which brokers show connections.
const CONNECTION_NAME: &str = "kedge";

/// How much is read at a time.
const CHUNK_BYTES: usize = 4096;

/// The connection itself, and the only channel on it.
const CONNECTION: u16 = 0;
const CHANNEL: u16 = 1;

/// What a broker is asked to accept: no broker may say less.
const FRAME_BYTES_MIN: u32 = 4096;

const ACCESS_REFUSED: u16 = 403;
const CONNECTION_FORCED: u16 = 320;
const NOT_ALLOWED: u16 = 530;

/// The sessions of this process.
pub(crate) type AmqpSessions = Sessions<AmqpPeer, BrokerProtocol>;

/// What sets a session apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AmqpPeer {
    pub(crate) server: HostPort,
    pub(crate) security: Option<TlsProfile>,
    pub(crate) vhost: ShortText,
    pub(crate) credentials: Credentials,
}

/// Who signs in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Credentials {
    Plain {
        username: String,
        password: Secret,
    },
    /// The client certificate says who.
    Certificate,
}

impl Credentials {
    pub(crate) fn mechanism(&self) -> Mechanism {
        match self {
            Self::Plain { .. } => Mechanism::Plain,
            Self::Certificate => Mechanism::External,
        }
    }

    fn response(&self) -> SaslResponse {
        match self {
            Self::Plain { username, password } => SaslResponse::plain(username, password.reveal()),
            Self::Certificate => SaslResponse(Vec::new()),
        }
    }

    fn password(&self) -> Option<&Secret> {
        match self {
            Self::Plain { password, .. } => Some(password),
            Self::Certificate => None,
        }
    }
}

/// How to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    Plain,
    /// By the client certificate.
    External,
}

impl Mechanism {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::External => "EXTERNAL",
        }
    }
}

/// How connections begin.
#[derive(Debug)]
pub(crate) struct BrokerProtocol {
    pub(crate) vhost: ShortText,
    pub(crate) credentials: Credentials,
}

/// What a broker says about a queue.
#[derive(Debug)]
pub(crate) enum Declared {
    /// It is there, with so many messages that are ready.
    Ready(u32),
    /// The broker closed the channel, not the connection.
    Refused(Closing),
}

pub(crate) struct BrokerConnection {
    stream: BoxStream,
    received: Vec<u8>,
    channel: Channel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    Open,
    Closed,
}

impl Protocol for BrokerProtocol {
    type Connection = BrokerConnection;
    type Request = ShortText;
    type Answer = Declared;

    async fn sign_in(&self, stream: BoxStream) -> Result<BrokerConnection, ExchangeError> {
        let mut connection = BrokerConnection { stream, received: Vec::new(), channel: Channel::Closed };
        let offered = connection.begin().await?;
        let tuning = self.authenticate(&mut connection, &offered).await?;
        self.open(&mut connection, tuning).await?;
        connection.open_channel().await?;
        Ok(connection)
    }

    async fn exchange(connection: &mut BrokerConnection, queue: &ShortText) -> Result<Declared, ExchangeError> {
        if connection.channel == Channel::Closed {
            connection.open_channel().await?;
        }
        connection.declare(queue).await
    }
}

impl BrokerProtocol {
    async fn authenticate(
        &self,
        connection: &mut BrokerConnection,
        offered: &LongText,
    ) -> Result<Tuning, ExchangeError> {
        let mechanism = self.credentials.mechanism();
        let name = mechanism.name();
        if !offered.words().any(|offered| offered == name.as_bytes()) {
            let remedy = match mechanism {
                Mechanism::Plain => "enable it in the broker",
                Mechanism::External => "enable it in the broker, or give `username` and `password`",
            };
            return Err(ExchangeError::Refused(format!("the mechanism {name} is not offered; {remedy}")));
        }
        let response = self.credentials.response();
        let start_ok = Method::StartOk {
            properties: client_properties(),
            mechanism: literal(name),
            response,
            locale: literal("en_US"),
        };
        connection.send(CONNECTION, &start_ok).await?;
        match connection.receive(CONNECTION).await? {
            Method::Tune(tuning) => Ok(tuning),
            Method::Close(closing) => {
                let words = words(&closing, self.credentials.password());
                let remedy = match mechanism {
                    Mechanism::Plain => "check the user and the password in `host`, or `username` and `password`",
                    Mechanism::External => "check that the broker knows the user of the client certificate",
                };
                Err(ExchangeError::Denied(format!("{words}; {remedy}")))
            }
            Method::Secure => {
                Err(ExchangeError::Refused(format!("more than the mechanism {name} knows is asked for to sign in")))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Agrees on the limits, and opens the vhost.
    async fn open(&self, connection: &mut BrokerConnection, offered: Tuning) -> Result<(), ExchangeError> {
        let frame_bytes_max = match offered.frame_bytes_max {
            0 => PAYLOAD_BYTES_MAX,
            offered if offered < FRAME_BYTES_MIN => {
                return Err(ExchangeError::Malformed("it allows no frames of a usable length".to_owned()));
            }
            offered => offered.min(PAYLOAD_BYTES_MAX),
        };
        // Without heartbeats: a connection that has died is replaced when it is used.
        let tuning = Tuning { channel_max: CHANNEL, frame_bytes_max, heartbeat_seconds: 0 };
        connection.send(CONNECTION, &Method::TuneOk(tuning)).await?;
        connection.send(CONNECTION, &Method::Open { vhost: self.vhost.clone() }).await?;
        match connection.receive(CONNECTION).await? {
            Method::OpenOk => Ok(()),
            Method::Close(closing) => {
                let words = words(&closing, self.credentials.password());
                let message = format!("{words}; check the vhost: `vhostName`, or the path of `host`");
                let is_unknown = closing.code == NOT_ALLOWED && closing.text.to_string().contains("not found");
                Err(match closing.code {
                    ACCESS_REFUSED | NOT_ALLOWED if !is_unknown => ExchangeError::Denied(message),
                    _ => ExchangeError::Refused(message),
                })
            }
            other => Err(unexpected(&other)),
        }
    }
}

/// What the broker shows of this client.
fn client_properties() -> Table {
    let text = |text: &str| Value::Text(LongText::new(text));
    let capabilities = Table(vec![(literal("authentication_failure_close"), Value::Bool(true))]);
    Table(vec![
        (literal("product"), text(CONNECTION_NAME)),
        (literal("version"), text(env!("CARGO_PKG_VERSION"))),
        (literal("connection_name"), text(CONNECTION_NAME)),
        (literal("capabilities"), Value::Table(capabilities)),
    ])
}

fn literal(text: &'static str) -> ShortText {
    ShortText::new(text).expect("a literal is short")
}

/// The reason of a close in the broker's words, which begin with the name of the code. They may repeat the password.
pub(crate) fn words(closing: &Closing, password: Option<&Secret>) -> String {
    match closing.text.to_string().trim_end_matches('.') {
        "" => format!("code {}", closing.code),
        text => shown_words(text, password.as_slice()),
    }
}

fn malformed(error: AmqpError) -> ExchangeError {
    ExchangeError::Malformed(error.to_string())
}

fn unexpected(method: &Method) -> ExchangeError {
    match method {
        // As when the broker shuts down.
        Method::Close(closing) if closing.code == CONNECTION_FORCED => {
            io::Error::new(io::ErrorKind::ConnectionAborted, words(closing, None)).into()
        }
        Method::Close(closing) => ExchangeError::Refused(words(closing, None)),
        _ => ExchangeError::Malformed("it is not what was asked for".to_owned()),
    }
}

impl BrokerConnection {
    /// Says which protocol is spoken, and receives the mechanisms to sign in.
    async fn begin(&mut self) -> Result<LongText, ExchangeError> {
        self.stream.write_all(&PROTOCOL_HEADER).await?;
        self.stream.flush().await?;
        match self.receive(CONNECTION).await? {
            Method::Start { mechanisms, .. } => Ok(mechanisms),
            other => Err(unexpected(&other)),
        }
    }

    async fn open_channel(&mut self) -> Result<(), ExchangeError> {
        self.send(CHANNEL, &Method::ChannelOpen).await?;
        match self.receive(CHANNEL).await? {
            Method::ChannelOpenOk => {
                self.channel = Channel::Open;
                Ok(())
            }
            other => Err(unexpected(&other)),
        }
    }

    async fn declare(&mut self, queue: &ShortText) -> Result<Declared, ExchangeError> {
        self.send(CHANNEL, &Method::QueueDeclarePassive { queue: queue.clone() }).await?;
        let declared = match self.receive(CHANNEL).await? {
            Method::QueueDeclareOk { queue: declared, messages, .. } if declared == *queue => Declared::Ready(messages),
            Method::ChannelClose(closing) => {
                self.channel = Channel::Closed;
                self.send(CHANNEL, &Method::ChannelCloseOk).await?;
                Declared::Refused(closing)
            }
            other => return Err(unexpected(&other)),
        };
        if self.received.is_empty() {
            Ok(declared)
        } else {
            Err(ExchangeError::Malformed("there is more than was asked for".to_owned()))
        }
    }

    async fn send(&mut self, channel: u16, method: &Method) -> io::Result<()> {
        self.stream.write_all(&amqp::encode_method(channel, method)).await?;
        self.stream.flush().await
    }

    /// The next method on a channel. One that ends the connection can come at any time.
    async fn receive(&mut self, channel: u16) -> Result<Method, ExchangeError> {
        loop {
            match self.receive_frame().await? {
                Frame::Heartbeat => {}
                Frame::Method { channel: from, method } if from == channel => return Ok(method),
                Frame::Method { channel: CONNECTION, method } => return Err(unexpected(&method)),
                Frame::Method { .. } => {
                    return Err(ExchangeError::Malformed("it is of a channel that is not open".to_owned()));
                }
            }
        }
    }

    async fn receive_frame(&mut self) -> Result<Frame, ExchangeError> {
        loop {
            if let Some((frame, length)) = amqp::decode_frame(&self.received).map_err(malformed)? {
                self.received.drain(..length);
                return Ok(frame);
            }
            let before = self.received.len();
            self.received.resize(before + CHUNK_BYTES, 0);
            let read = self.stream.read(&mut self.received[before..]).await?;
            self.received.truncate(before + read);
            if read == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the broker closed the connection").into());
            }
        }
    }
}
