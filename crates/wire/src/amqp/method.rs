//! The methods of AMQP that Kedge sends and receives, each by the two numbers of its class and its own.

use std::fmt;

use super::format::{AmqpError, Arguments, LongText, ShortText, Table, Written};

/// What one side asks the other, or answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    Start {
        version: [u8; 2],
        properties: Table,
        mechanisms: LongText,
        locales: LongText,
    },
    StartOk {
        properties: Table,
        mechanism: ShortText,
        response: SaslResponse,
        locale: ShortText,
    },
    /// The server wants more to sign in.
    Secure,
    Tune(Tuning),
    TuneOk(Tuning),
    Open {
        vhost: ShortText,
    },
    OpenOk,
    Close(Closing),
    CloseOk,
    ChannelOpen,
    ChannelOpenOk,
    ChannelClose(Closing),
    ChannelCloseOk,
    /// Asks for a queue, and creates none.
    QueueDeclarePassive {
        queue: ShortText,
    },
    QueueDeclareOk {
        queue: ShortText,
        messages: u32,
        consumers: u32,
    },
}

/// What signs in. It does not show itself.
#[derive(Clone, PartialEq, Eq)]
pub struct SaslResponse(pub Vec<u8>);

impl SaslResponse {
    /// A user and a password.
    pub fn plain(username: &str, password: &str) -> Self {
        Self([b"\0", username.as_bytes(), b"\0", password.as_bytes()].concat())
    }
}

impl fmt::Debug for SaslResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The limits of a connection, where 0 means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    pub channel_max: u16,
    pub frame_bytes_max: u32,
    pub heartbeat_seconds: u16,
}

/// Why a connection or a channel is closed, and by which method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    pub code: u16,
    pub text: ShortText,
    pub class: u16,
    pub method: u16,
}

impl Closing {
    /// A close by a client that has all it wants.
    pub fn goodbye() -> Self {
        Self { code: 200, text: ShortText::literal("goodbye"), class: 0, method: 0 }
    }
}

/// The bit of a queue's declaration which says that it must be there already.
const PASSIVE: u8 = 1;

impl Method {
    fn numbers(&self) -> (u16, u16) {
        match self {
            Self::Start { .. } => (10, 10),
            Self::StartOk { .. } => (10, 11),
            Self::Secure => (10, 20),
            Self::Tune(_) => (10, 30),
            Self::TuneOk(_) => (10, 31),
            Self::Open { .. } => (10, 40),
            Self::OpenOk => (10, 41),
            Self::Close(_) => (10, 50),
            Self::CloseOk => (10, 51),
            Self::ChannelOpen => (20, 10),
            Self::ChannelOpenOk => (20, 11),
            Self::ChannelClose(_) => (20, 40),
            Self::ChannelCloseOk => (20, 41),
            Self::QueueDeclarePassive { .. } => (50, 10),
            Self::QueueDeclareOk { .. } => (50, 11),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let (class, method) = self.numbers();
        let to = Written::default().add(&class.to_be_bytes()).add(&method.to_be_bytes());
        let reserved = ShortText::default();
        let written = match self {
            Self::Start { version, properties, mechanisms, locales } => {
                to.add(version).table(properties).long_bytes(&mechanisms.0).long_bytes(&locales.0)
            }
            Self::StartOk { properties, mechanism, response, locale } => {
                to.table(properties).short_text(mechanism).long_bytes(&response.0).short_text(locale)
            }
            Self::Tune(tuning) | Self::TuneOk(tuning) => to
                .add(&tuning.channel_max.to_be_bytes())
                .add(&tuning.frame_bytes_max.to_be_bytes())
                .add(&tuning.heartbeat_seconds.to_be_bytes()),
            Self::Open { vhost } => to.short_text(vhost).short_text(&reserved).add(&[0]),
            Self::OpenOk | Self::ChannelOpen => to.short_text(&reserved),
            Self::Close(closing) | Self::ChannelClose(closing) => to
                .add(&closing.code.to_be_bytes())
                .short_text(&closing.text)
                .add(&closing.class.to_be_bytes())
                .add(&closing.method.to_be_bytes()),
            Self::Secure | Self::ChannelOpenOk => to.long_bytes(&[]),
            Self::CloseOk | Self::ChannelCloseOk => to,
            Self::QueueDeclarePassive { queue } => {
                to.add(&[0, 0]).short_text(queue).add(&[PASSIVE]).table(&Table::default())
            }
            Self::QueueDeclareOk { queue, messages, consumers } => {
                to.short_text(queue).add(&messages.to_be_bytes()).add(&consumers.to_be_bytes())
            }
        };
        written.0
    }

    pub(super) fn decode(mut from: Arguments<'_>) -> Result<Self, AmqpError> {
        let (class, method) = (from.u16()?, from.u16()?);
        let decoded = match (class, method) {
            (10, 10) => Self::Start {
                version: [from.u8()?, from.u8()?],
                properties: from.table()?,
                mechanisms: from.long_text()?,
                locales: from.long_text()?,
            },
            (10, 11) => Self::StartOk {
                properties: from.table()?,
                mechanism: from.short_text()?,
                response: SaslResponse(from.long_bytes()?.to_vec()),
                locale: from.short_text()?,
            },
            (10, 20) => from.long_bytes().map(|_| Self::Secure)?,
            (10, 30) => Self::Tune(decode_tuning(&mut from)?),
            (10, 31) => Self::TuneOk(decode_tuning(&mut from)?),
            (10, 40) => {
                let vhost = from.short_text()?;
                from.short_text()?;
                from.u8()?;
                Self::Open { vhost }
            }
            (10, 41) => from.short_text().map(|_| Self::OpenOk)?,
            (10, 50) => Self::Close(decode_closing(&mut from)?),
            (10, 51) => Self::CloseOk,
            (20, 10) => from.short_text().map(|_| Self::ChannelOpen)?,
            (20, 11) => from.long_bytes().map(|_| Self::ChannelOpenOk)?,
            (20, 40) => Self::ChannelClose(decode_closing(&mut from)?),
            (20, 41) => Self::ChannelCloseOk,
            (50, 10) => {
                from.u16()?;
                let queue = from.short_text()?;
                if from.u8()? != PASSIVE {
                    return Err(AmqpError::Method { class, method });
                }
                from.table()?;
                Self::QueueDeclarePassive { queue }
            }
            (50, 11) => {
                Self::QueueDeclareOk { queue: from.short_text()?, messages: from.u32()?, consumers: from.u32()? }
            }
            _ => return Err(AmqpError::Method { class, method }),
        };
        from.end().map(|()| decoded)
    }
}

fn decode_tuning(from: &mut Arguments<'_>) -> Result<Tuning, AmqpError> {
    Ok(Tuning { channel_max: from.u16()?, frame_bytes_max: from.u32()?, heartbeat_seconds: from.u16()? })
}

fn decode_closing(from: &mut Arguments<'_>) -> Result<Closing, AmqpError> {
    Ok(Closing { code: from.u16()?, text: from.short_text()?, class: from.u16()?, method: from.u16()? })
}
