//! PostgreSQL's protocol, version 3.0: signing in, and queries whose values are text.
//!
//! | module | what it holds |
//! |---|---|
//! | [`request`] | what the client sends |
//! | [`response`] | what the server sends |
//!
//! A message is a type, a length that counts itself, and a body. The first one on a connection has no type.

pub mod request;
pub mod response;

pub use request::Request;
pub use response::{Authentication, Response, ServerError, SqlState, TransactionStatus};

/// The longest message of a server that is read. Results with longer rows are of no use here.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// A type and a length.
const HEADER_BYTES: usize = 5;

/// What the length counts of itself.
const LENGTH_BYTES: usize = 4;

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostgresError {
    #[error("a message has an impossible length, or more than {MESSAGE_BYTES_MAX} bytes")]
    Length,
    #[error("a message ends too early")]
    TooShort,
    #[error("a message is longer than its content")]
    TooLong,
    #[error("a text is not UTF-8")]
    Text,
    #[error("the server sends a message that is not part of the protocol, of type {0}")]
    Unknown(u8),
    #[error("the server sends values that are not text")]
    Format,
}

/// A message without its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    pub kind: u8,
    pub body: &'a [u8],
}

impl Message<'_> {
    /// The bytes that it takes on the wire.
    pub fn length(&self) -> usize {
        HEADER_BYTES + self.body.len()
    }
}

/// The first message in what was received; none while more must be received.
pub fn message(received: &[u8]) -> Result<Option<Message<'_>>, PostgresError> {
    let Some((header, rest)) = received.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let [kind, length @ ..] = *header;
    let length = usize::try_from(i32::from_be_bytes(length)).map_err(|_| PostgresError::Length)?;
    match length.checked_sub(LENGTH_BYTES) {
        Some(length) if length <= MESSAGE_BYTES_MAX => Ok(rest.get(..length).map(|body| Message { kind, body })),
        _ => Err(PostgresError::Length),
    }
}

/// What is left of a body.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], PostgresError> {
        let (array, rest) = self.0.split_first_chunk::<N>().ok_or(PostgresError::TooShort)?;
        self.0 = rest;
        Ok(*array)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], PostgresError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(PostgresError::TooShort)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, PostgresError> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    fn short(&mut self) -> Result<i16, PostgresError> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    fn long(&mut self) -> Result<i32, PostgresError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// A count, which is never negative.
    fn count(&mut self) -> Result<usize, PostgresError> {
        usize::try_from(self.short()?).map_err(|_| PostgresError::Length)
    }

    /// The bytes of a text that a zero ends.
    fn bytes(&mut self) -> Result<&'a [u8], PostgresError> {
        let length = self.0.iter().position(|byte| *byte == 0).ok_or(PostgresError::TooShort)?;
        let text = self.take(length)?;
        self.0 = &self.0[1..];
        Ok(text)
    }

    fn text(&mut self) -> Result<String, PostgresError> {
        text(self.bytes()?)
    }

    /// A text whose encoding is not known: messages before the client's encoding is agreed on have the server's.
    fn words(&mut self) -> Result<String, PostgresError> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn text(bytes: &[u8]) -> Result<String, PostgresError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| PostgresError::Text)
}

#[cfg(test)]
mod tests;
