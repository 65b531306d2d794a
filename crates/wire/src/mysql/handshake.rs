//! The greeting of a server, and what the client answers: that it wants TLS, and who it is.

use super::MysqlError;
use super::packet::{Body, write_text};

/// What a server and a client can do, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(pub u32);

impl Capabilities {
    const LONG_PASSWORD: u32 = 1;
    const LONG_FLAG: u32 = 1 << 2;
    const CONNECT_WITH_DATABASE: u32 = 1 << 3;
    const PROTOCOL_41: u32 = 1 << 9;
    const TLS: u32 = 1 << 11;
    const TRANSACTIONS: u32 = 1 << 13;
    const SECURE_CONNECTION: u32 = 1 << 15;
    const MULTI_STATEMENTS: u32 = 1 << 16;
    const MULTI_RESULTS: u32 = 1 << 17;
    const PLUGINS: u32 = 1 << 19;
    const LONG_ANSWERS: u32 = 1 << 21;

    /// What is asked of every server. What would let it ask for files is not among it.
    const USUAL: u32 = Self::LONG_PASSWORD
        | Self::LONG_FLAG
        | Self::PROTOCOL_41
        | Self::TRANSACTIONS
        | Self::SECURE_CONNECTION
        | Self::MULTI_RESULTS
        | Self::PLUGINS
        | Self::LONG_ANSWERS;

    fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    pub fn has_tls(self) -> bool {
        self.has(Self::TLS)
    }
}

/// How a server begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    pub version: String,
    pub capabilities: Capabilities,
    /// What the password is combined with.
    pub challenge: Vec<u8>,
    /// The plugin that the server suggests; empty where it has none.
    pub plugin: String,
}

/// Both parts of a challenge, without the zero that ends it.
const CHALLENGE: usize = 20;
const CHALLENGE_FIRST: usize = 8;

impl Greeting {
    /// The version of the protocol.
    const VERSION: u8 = 10;

    pub fn decode(payload: &[u8]) -> Result<Self, MysqlError> {
        let mut body = Body::new(payload);
        match body.byte()? {
            Self::VERSION => {}
            9 => return Err(MysqlError::TooOld),
            _ => return Err(MysqlError::Unexpected("a greeting")),
        }
        let version = String::from_utf8_lossy(body.until_zero()).into_owned();
        let _connection_id = body.take(4)?;
        let mut challenge = body.take(CHALLENGE_FIRST)?.to_vec();
        let _filler = body.byte()?;
        let low = body.u16()?;
        let _character_set_and_status = body.take(3)?;
        let capabilities = Capabilities(u32::from(low) | u32::from(body.u16()?) << 16);
        if !capabilities.has(Capabilities::PROTOCOL_41) || !capabilities.has(Capabilities::SECURE_CONNECTION) {
            return Err(MysqlError::TooOld);
        }
        let challenge_length = usize::from(body.byte()?);
        let _reserved = body.take(10)?;
        let second = body.take(challenge_length.saturating_sub(CHALLENGE_FIRST).max(13))?;
        challenge.extend_from_slice(&second[..CHALLENGE - CHALLENGE_FIRST]);
        let plugin = if capabilities.has(Capabilities::PLUGINS) { body.until_zero() } else { b"" };
        Ok(Self { version, capabilities, challenge, plugin: String::from_utf8_lossy(plugin).into_owned() })
    }
}

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client<'a> {
    pub user: &'a str,
    /// The database of the connection, where there is one.
    pub database: &'a str,
    pub has_multi_statements: bool,
    pub has_tls: bool,
}

/// `utf8mb4_general_ci`, which all servers since MySQL 5.5.3 know.
const COLLATION: u8 = 45;

impl Client<'_> {
    fn head(&self, server: Capabilities) -> (Capabilities, Vec<u8>) {
        let wanted = [
            (!self.database.is_empty(), Capabilities::CONNECT_WITH_DATABASE),
            (self.has_multi_statements, Capabilities::MULTI_STATEMENTS),
            (self.has_tls, Capabilities::TLS),
        ];
        let wanted =
            wanted.iter().filter(|(is_wanted, _)| *is_wanted).fold(Capabilities::USUAL, |all, (_, bit)| all | bit);
        let agreed = Capabilities(wanted & server.0);
        let mut head = agreed.0.to_le_bytes().to_vec();
        // The longest payload of the client: none is named.
        head.extend_from_slice(&0_u32.to_le_bytes());
        head.push(COLLATION);
        head.extend_from_slice(&[0; 23]);
        (agreed, head)
    }

    /// The request for TLS, which begins after it.
    pub fn encode_tls_request(&self, server: Capabilities) -> Vec<u8> {
        self.head(server).1
    }

    /// Who signs in, with the first answer of a plugin.
    pub fn encode_response(&self, server: Capabilities, plugin: &str, answer: &[u8]) -> Vec<u8> {
        let (agreed, mut bytes) = self.head(server);
        let zero_ended = |text: &str, to: &mut Vec<u8>| {
            to.extend(text.bytes().filter(|byte| *byte != 0));
            to.push(0);
        };
        zero_ended(self.user, &mut bytes);
        // One byte of length is what servers without long answers read, too: theirs are short.
        write_text(answer, &mut bytes);
        if agreed.has(Capabilities::CONNECT_WITH_DATABASE) {
            zero_ended(self.database, &mut bytes);
        }
        if agreed.has(Capabilities::PLUGINS) {
            zero_ended(plugin, &mut bytes);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn greeting() -> Vec<u8> {
        let mut bytes = b"\x0a8.4.6\0\x07\0\0\0abcdefgh\0\xff\xff\x2d\x02\0\xff\xdf\x15".to_vec();
        bytes.extend_from_slice(&[0; 10]);
        bytes.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
        bytes
    }

    #[test]
    fn a_greeting_has_a_challenge_and_a_plugin() {
        let greeting = Greeting::decode(&greeting()).unwrap();
        assert_eq!((greeting.version.as_str(), greeting.plugin.as_str()), ("8.4.6", "caching_sha2_password"));
        assert_eq!(greeting.challenge, b"abcdefghijklmnopqrst");
        assert!(greeting.capabilities.has_tls());
    }

    #[test]
    fn servers_before_4_1_are_refused() {
        let mut old = greeting();
        old[0] = 9;
        assert_eq!(Greeting::decode(&old), Err(MysqlError::TooOld));
        let mut without = greeting();
        let low = 1 + 6 + 4 + 9;
        without[low + 1] = 0xfd;
        assert_eq!(Greeting::decode(&without), Err(MysqlError::TooOld));
    }

    #[test]
    fn only_what_the_server_has_is_asked_for() {
        let client = Client { user: "kedge", database: "shop", has_multi_statements: true, has_tls: true };
        let all = client.encode_response(Capabilities(u32::MAX), "mysql_native_password", b"12345678901234567890");
        assert_eq!(all[32..], *b"kedge\0\x1412345678901234567890shop\0mysql_native_password\0");
        assert_eq!(all[..4], (Capabilities::USUAL | 1 << 3 | 1 << 11 | 1 << 16).to_le_bytes());
        assert_eq!(client.encode_tls_request(Capabilities(u32::MAX)), all[..32]);
        let least = Capabilities(Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION);
        let few = client.encode_response(least, "mysql_native_password", b"");
        assert_eq!((&few[..4], &few[32..]), (least.0.to_le_bytes().as_slice(), b"kedge\0\0".as_slice()));
        let plain = Client { database: "", has_multi_statements: false, has_tls: false, ..client };
        let bits = plain.encode_response(Capabilities(u32::MAX), "", b"");
        assert_eq!(bits[..4], Capabilities::USUAL.to_le_bytes());
    }

    #[test]
    fn a_zero_in_a_name_does_not_end_it() {
        let client = Client { user: "a\0b", database: "", has_multi_statements: false, has_tls: false };
        assert!(client.encode_response(Capabilities(0), "", b"")[32..].starts_with(b"ab\0"));
    }

    proptest! {
        #[test]
        fn a_greeting_that_is_cut_is_none(more: Vec<u8>) {
            let whole = greeting();
            let named = whole.len() - "caching_sha2_password\0".len();
            for cut in 0..named {
                prop_assert!(Greeting::decode(&whole[..cut]).is_err(), "cut at {}", cut);
            }
            let _ = Greeting::decode(&more);
            let _ = Greeting::decode(&[&[10], more.as_slice()].concat());
        }
    }
}
