//! What the client sends.

use md5::{Digest, Md5};

/// Version 3.0, which servers since 2003 speak.
const VERSION: i32 = 3 << 16;

/// A number in the place of a version.
const SSL_REQUEST: i32 = 1234 << 16 | 5679;

/// A message to the server. Texts must not contain zeros, which end them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Asks whether TLS can begin. The answer is one byte, `S` or `N`.
    Ssl,
    /// Begins a session with these parameters, of which `user` is one.
    Startup(&'a [(&'a str, &'a str)]),
    /// The password, or what was made of it.
    Password(&'a str),
    /// Chooses a mechanism, with its first message.
    SaslInitial { mechanism: &'a str, message: &'a [u8] },
    /// A further message of the mechanism.
    SaslResponse(&'a [u8]),
    /// Statements, whose results are to be text.
    Query(&'a str),
    /// Ends the session.
    Terminate,
}

impl Request<'_> {
    /// The bytes on the wire.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Ssl => frame(None, |body| body.extend(SSL_REQUEST.to_be_bytes())),
            Self::Startup(parameters) => frame(None, |body| {
                body.extend(VERSION.to_be_bytes());
                for (name, value) in *parameters {
                    push_text(body, name);
                    push_text(body, value);
                }
                body.push(0);
            }),
            Self::Password(password) => frame(Some(b'p'), |body| push_text(body, password)),
            Self::SaslInitial { mechanism, message } => frame(Some(b'p'), |body| {
                push_text(body, mechanism);
                body.extend(length_of(message).to_be_bytes());
                body.extend_from_slice(message);
            }),
            Self::SaslResponse(message) => frame(Some(b'p'), |body| body.extend_from_slice(message)),
            Self::Query(query) => frame(Some(b'Q'), |body| push_text(body, query)),
            Self::Terminate => frame(Some(b'X'), |_| {}),
        }
    }
}

fn frame(kind: Option<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes: Vec<u8> = kind.into_iter().collect();
    let start = bytes.len();
    bytes.extend([0; super::LENGTH_BYTES]);
    write(&mut bytes);
    let length = length_of(&bytes[start..]);
    bytes[start..start + super::LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    bytes
}

fn length_of(bytes: &[u8]) -> i32 {
    i32::try_from(bytes.len()).unwrap_or(i32::MAX)
}

fn push_text(body: &mut Vec<u8>, text: &str) {
    body.extend_from_slice(text.as_bytes());
    body.push(0);
}

/// What is sent as the password where the server asks for MD5.
pub fn md5_password(user: &str, password: &str, salt: [u8; 4]) -> String {
    let stored = md5_hex(&[password.as_bytes(), user.as_bytes()]);
    format!("md5{}", md5_hex(&[stored.as_bytes(), &salt]))
}

fn md5_hex(parts: &[&[u8]]) -> String {
    let digest = parts.iter().fold(Md5::new(), |digest, part| digest.chain_update(part)).finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
