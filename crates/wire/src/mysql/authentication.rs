//! The steps of signing in. A server suggests a plugin and may switch to another; each asks for the password in its own way.

use std::fmt;

use ring::digest::{self, Algorithm, SHA1_FOR_LEGACY_USE_ONLY as SHA1, SHA256};

use super::packet::Body;
use super::rsa::{PublicKey, SEED_LENGTH};
use super::{Greeting, MysqlError, ServerError};

pub const NATIVE: &str = "mysql_native_password";
pub const CACHING_SHA2: &str = "caching_sha2_password";
pub const SHA256_PASSWORD: &str = "sha256_password";
pub const CLEAR: &str = "mysql_clear_password";
const OLD: &str = "mysql_old_password";

/// What the client lets a server ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// Whether the connection is encrypted, so that the password may be sent as it is to those plugins that hash it themselves.
    pub is_encrypted: bool,
    /// Whether it may be sent as it is to a plugin that asks for nothing else; never without encryption.
    pub clear_password: bool,
    pub native_password: bool,
}

/// Why signing in failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    #[error("{0}")]
    Refused(ServerError),
    #[error("the server asks for the plugin {0:?}, which is not supported")]
    Plugin(String),
    #[error("the server asks for {CLEAR} on a connection without encryption")]
    ClearWithoutEncryption,
    #[error("the server asks for {CLEAR}, which is not allowed")]
    ClearNotAllowed,
    #[error("the server asks for {NATIVE}, which is not allowed")]
    NativeNotAllowed,
    #[error("the server has no usable RSA key for the password")]
    Key,
    #[error(transparent)]
    Malformed(#[from] MysqlError),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this payload, and wait for the next.
    Send(Vec<u8>),
    Wait,
    Done,
}

/// Signing in that has begun. It holds the password.
pub struct Authentication<'a> {
    password: &'a str,
    permissions: Permissions,
    seed: [u8; SEED_LENGTH],
    plugin: String,
    challenge: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The first answer is sent; the server may switch.
    Answered,
    Switched,
    /// The server looks whether the answer is right; nothing else is asked.
    Final,
    /// The key of the server was asked for.
    KeyAsked,
}

impl fmt::Debug for Authentication<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authentication").field("plugin", &self.plugin).field("state", &self.state).finish()
    }
}

impl<'a> Authentication<'a> {
    /// Begins with what the server suggests, and returns the plugin and the first answer. The seed is random and never used again.
    pub fn begin(
        greeting: &Greeting,
        password: &'a str,
        permissions: Permissions,
        seed: [u8; SEED_LENGTH],
    ) -> Result<(Self, Vec<u8>), AuthError> {
        let is_usable = [NATIVE, CACHING_SHA2, SHA256_PASSWORD, CLEAR].contains(&greeting.plugin.as_str());
        let mut begun = Self {
            password,
            permissions,
            seed,
            // The server switches to the plugin of the user anyway.
            plugin: if is_usable { greeting.plugin.clone() } else { NATIVE.to_owned() },
            challenge: greeting.challenge.clone(),
            state: State::Answered,
        };
        let answer = match begun.answer() {
            Err(AuthError::ClearWithoutEncryption | AuthError::ClearNotAllowed) => {
                begun.plugin = NATIVE.to_owned();
                begun.answer()
            }
            other => other,
        }?;
        Ok((begun, answer))
    }

    /// The plugin in use.
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// What follows from a payload of the server.
    pub fn step(&mut self, payload: &[u8]) -> Result<Step, AuthError> {
        if let Some(error) = ServerError::decode(payload)? {
            return Err(AuthError::Refused(error));
        }
        let mut body = Body::new(payload);
        match body.byte()? {
            0x00 if payload.len() >= 7 && self.state != State::KeyAsked => Ok(Step::Done),
            0xfe if self.state == State::Answered => self.switch(body),
            0x01 => self.more(body.rest()),
            _ => Err(MysqlError::Unexpected("the next step of signing in").into()),
        }
    }

    fn switch(&mut self, mut body: Body<'_>) -> Result<Step, AuthError> {
        if body.is_empty() {
            return Err(AuthError::Plugin(OLD.to_owned()));
        }
        self.plugin = String::from_utf8_lossy(body.until_zero()).into_owned();
        let challenge = body.rest();
        // Without one, that of the greeting goes on.
        if !challenge.is_empty() {
            self.challenge = challenge.strip_suffix(&[0]).unwrap_or(challenge).to_vec();
        }
        self.state = State::Switched;
        self.answer().map(Step::Send)
    }

    /// The first answer to the plugin.
    fn answer(&self) -> Result<Vec<u8>, AuthError> {
        let Permissions { is_encrypted, clear_password, native_password } = self.permissions;
        match self.plugin.as_str() {
            NATIVE if !native_password => Err(AuthError::NativeNotAllowed),
            NATIVE => Ok(scramble_native(self.password, &self.challenge)),
            CACHING_SHA2 => Ok(scramble_sha2(self.password, &self.challenge)),
            SHA256_PASSWORD if is_encrypted || self.password.is_empty() => Ok(self.clear()),
            // Asks for the key of the server.
            SHA256_PASSWORD => Ok(vec![1]),
            CLEAR if !clear_password => Err(AuthError::ClearNotAllowed),
            CLEAR if !is_encrypted => Err(AuthError::ClearWithoutEncryption),
            CLEAR => Ok(self.clear()),
            _ => Err(AuthError::Plugin(self.plugin.clone())),
        }
    }

    /// What follows from more data of the plugin.
    fn more(&mut self, data: &[u8]) -> Result<Step, AuthError> {
        const FAST_SUCCESS: &[u8] = &[3];
        const FULL: &[u8] = &[4];
        let is_open = matches!(self.state, State::Answered | State::Switched);
        match (self.plugin.as_str(), self.state) {
            (CACHING_SHA2, _) if is_open && data == FAST_SUCCESS => {
                self.state = State::Final;
                Ok(Step::Wait)
            }
            (CACHING_SHA2, _) if is_open && data == FULL && self.permissions.is_encrypted => {
                self.state = State::Final;
                Ok(Step::Send(self.clear()))
            }
            (CACHING_SHA2, _) if is_open && data == FULL => {
                self.state = State::KeyAsked;
                Ok(Step::Send(vec![2]))
            }
            (CACHING_SHA2, State::KeyAsked) => self.send_encrypted(data),
            (SHA256_PASSWORD, _) if is_open && !self.permissions.is_encrypted => self.send_encrypted(data),
            _ => Err(MysqlError::Unexpected("the next step of signing in").into()),
        }
    }

    fn send_encrypted(&mut self, key: &[u8]) -> Result<Step, AuthError> {
        let key = PublicKey::parse_pem(key).ok_or(AuthError::Key)?;
        let masked: Vec<u8> = self.clear().iter().zip(self.challenge.iter().cycle()).map(|(a, b)| a ^ b).collect();
        // An empty challenge masks nothing, and has no bytes to repeat.
        let encrypted = key.encrypt(&masked, self.seed).filter(|_| !self.challenge.is_empty());
        self.state = State::Final;
        encrypted.map(Step::Send).ok_or(AuthError::Key)
    }

    /// The password as it is, with the zero that ends it.
    fn clear(&self) -> Vec<u8> {
        [self.password.as_bytes(), &[0]].concat()
    }
}

fn hash(algorithm: &'static Algorithm, parts: &[&[u8]]) -> digest::Digest {
    let mut context = digest::Context::new(algorithm);
    for part in parts {
        context.update(part);
    }
    context.finish()
}

fn xor(one: &digest::Digest, other: &digest::Digest) -> Vec<u8> {
    one.as_ref().iter().zip(other.as_ref()).map(|(one, other)| one ^ other).collect()
}

/// SHA1(password) ⊕ SHA1(challenge, SHA1(SHA1(password))); nothing for no password.
fn scramble_native(password: &str, challenge: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = hash(&SHA1, &[password.as_bytes()]);
    let twice = hash(&SHA1, &[once.as_ref()]);
    xor(&once, &hash(&SHA1, &[challenge, twice.as_ref()]))
}

/// SHA256(password) ⊕ SHA256(SHA256(SHA256(password)), challenge); nothing for no password.
fn scramble_sha2(password: &str, challenge: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = hash(&SHA256, &[password.as_bytes()]);
    let twice = hash(&SHA256, &[once.as_ref()]);
    xor(&once, &hash(&SHA256, &[twice.as_ref(), challenge]))
}

#[cfg(test)]
mod tests;
