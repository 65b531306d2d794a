//! The protocol of MySQL and MariaDB, the client's side: packets, signing in, and queries with results as text.
//!
//! | module | what it holds |
//! |---|---|
//! | [`packet`] | packets, and how values are written in them |
//! | [`handshake`] | the greeting of a server, and the client's answer |
//! | [`authentication`] | the steps of signing in, by the plugin that the server asks for |
//! | [`rsa`] | encryption for the RSA key of a server |
//! | [`result`] | what a query gives |

pub mod authentication;
pub mod handshake;
pub mod packet;
pub mod result;
pub mod rsa;

pub use self::authentication::{AuthError, Authentication, Permissions, Step};
pub use self::handshake::{Capabilities, Client, Greeting};
pub use self::packet::{Packet, decode_packet, encode_packet};
pub use self::result::{Outcome, Progress, TextResults};

/// Why bytes are not the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MysqlError {
    #[error("a packet in it is longer than is accepted")]
    TooLong,
    #[error("it is shorter than it says")]
    TooShort,
    #[error("there is more in it than was asked for")]
    Surplus,
    #[error("its packets are out of order")]
    Sequence,
    #[error("it has another packet than {0}")]
    Unexpected(&'static str),
    #[error("it is of a protocol before MySQL 4.1")]
    TooOld,
}

/// An error that the server reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    pub code: u16,
    /// The five characters of the SQL standard, where the server sends them.
    pub state: Option<String>,
    pub message: String,
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.state {
            Some(state) => write!(f, "{} ({state}): {}", self.code, self.message),
            None => write!(f, "{}: {}", self.code, self.message),
        }
    }
}

impl ServerError {
    /// The first byte of its packet.
    pub const MARK: u8 = 0xff;

    /// The error in a packet, if it is one.
    pub fn decode(payload: &[u8]) -> Result<Option<Self>, MysqlError> {
        let mut body = packet::Body::new(payload);
        if body.byte()? != Self::MARK {
            return Ok(None);
        }
        let code = body.u16()?;
        let rest = body.rest();
        // A server that does not know the client's protocol yet sends no state.
        let (state, message) = match rest.split_first() {
            Some((b'#', after)) => {
                let (state, message) = after.split_at_checked(5).ok_or(MysqlError::TooShort)?;
                (Some(String::from_utf8_lossy(state).into_owned()), message)
            }
            _ => (None, rest),
        };
        Ok(Some(Self { code, state, message: String::from_utf8_lossy(message).into_owned() }))
    }

    /// Whether the server ends the connection with it, and the next one may succeed: it was idle for too long, was killed, or the
    /// server shuts down.
    pub fn ends_connection(&self) -> bool {
        matches!(self.code, 1053 | 1077 | 1079 | 1927 | 3168 | 3169 | 4031)
    }

    /// Whether the server refuses for want of credentials or of privileges.
    pub fn is_denial(&self) -> bool {
        matches!(self.code, 1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1698 | 1820 | 1862 | 3118 | 3955 | 4151)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_servers_are_read() {
        let error = |bytes: &[u8]| ServerError::decode(bytes).map(|error| error.map(|error| error.to_string()));
        type Row<'a> = (&'a str, &'a [u8], Result<Option<&'a str>, MysqlError>);
        let rows: [Row<'_>; 6] = [
            ("with a state", b"\xff\x15\x04#28000denied", Ok(Some("1045 (28000): denied"))),
            ("before signing in", b"\xff\x10\x04too many", Ok(Some("1040: too many"))),
            ("without words", b"\xff\x10\x04", Ok(Some("1040: "))),
            ("another packet", b"\x00\x15\x04", Ok(None)),
            ("half a state", b"\xff\x15\x04#280", Err(MysqlError::TooShort)),
            ("half a code", b"\xff\x15", Err(MysqlError::TooShort)),
        ];
        for (name, bytes, expected) in rows {
            assert_eq!(error(bytes), expected.map(|text| text.map(str::to_owned)), "{name}");
        }
    }
}
