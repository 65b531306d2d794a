//! For tests: a server in memory, whose user, plugin and answers a test sets.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use kedge_wire::mysql::authentication::{CACHING_SHA2, CLEAR, NATIVE, SHA256_PASSWORD};
use kedge_wire::mysql::encode_packet;
use kedge_wire::mysql::packet::{Body, write_integer, write_text};
use kedge_wire::mysql::rsa::{SEED_LENGTH, mask};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY as SHA1, SHA256, digest};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use crate::http::Settings;
use crate::http::connector::{BoxStream, Connector};
use crate::scaler::BoxFuture;
use crate::{NoCluster, Registry};

const CHALLENGE: &[u8; 20] = b"abcdefghijklmnopqrst";
const SWITCH_CHALLENGE: &[u8; 20] = b"ABCDEFGHIJKLMNOPQRST";
const TLS_REQUEST_LENGTH: usize = 32;
const HAS_TLS: u32 = 1 << 11;

#[derive(Clone, Default)]
pub(super) struct FakeServer(Arc<Mutex<State>>);

/// What a test can set, and what it can see.
#[derive(Default)]
pub(super) struct State {
    pub(super) password: String,
    /// The plugin of the user, and the one of the greeting.
    pub(super) plugin: &'static str,
    pub(super) suggested: &'static str,
    /// Whether the server remembers the password, so that a scramble of it is enough.
    pub(super) is_cached: bool,
    pub(super) has_tls: bool,
    pub(super) number: &'static str,
    /// The errors that the next queries get.
    pub(super) errors: Vec<(u16, &'static str)>,
    /// The status after a query.
    pub(super) status: u16,
    /// Kept connections end before the next query, with this error.
    pub(super) farewell: Option<u16>,
    pub(super) queries: Vec<String>,
    pub(super) connected: usize,
    /// How the password came.
    pub(super) shown: Vec<&'static str>,
}

impl FakeServer {
    /// A user `kedge` with the password `hunter2`, and 42 as the answer to every query.
    pub(super) fn new(plugin: &'static str) -> Self {
        let fake = Self::default();
        let mut state = fake.state();
        (state.plugin, state.suggested, state.number) = (plugin, plugin, "42");
        (state.password, state.status) = ("hunter2".to_owned(), 2);
        drop(state);
        fake
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(super) fn registry(&self) -> Registry {
        let fake = self.clone();
        let connector = Connector::new(move |_: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            let fake = fake.clone();
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            tokio::spawn(async move { fake.serve(Box::new(theirs)).await });
            Box::pin(async { Ok(Box::new(ours) as BoxStream) })
        });
        Registry::new(Settings::default(), connector, Arc::new(NoCluster))
    }

    async fn serve(self, stream: BoxStream) -> io::Result<()> {
        self.state().connected += 1;
        let mut peer = Peer { stream, sequence: 0 };
        let greeting = self.state().greeting();
        peer.send(&greeting).await?;
        let mut response = peer.receive().await?;
        let is_encrypted = response.len() == TLS_REQUEST_LENGTH;
        if is_encrypted {
            peer.stream = Box::new(acceptor().accept(peer.stream).await?);
            response = peer.receive().await?;
        }
        if !self.authenticate(&mut peer, &response, is_encrypted).await? {
            return peer.send(&error(1045, "Access denied for user 'kedge'@'h' (using password: YES)")).await;
        }
        peer.send(&ok(2)).await?;
        loop {
            peer.sequence = 0;
            let query = peer.receive().await?;
            assert_eq!(query[0], 3, "a query");
            let text = String::from_utf8(query[1..].to_vec()).unwrap();
            let (farewell, answer) = {
                let mut state = self.state();
                state.queries.push(text.clone());
                (state.farewell.take(), state.answer(&text))
            };
            if let Some(code) = farewell {
                // It was sent before the query came.
                peer.sequence = 0;
                return peer
                    .send(&error(code, "The client was disconnected by the server because of inactivity"))
                    .await;
            }
            for payload in answer {
                peer.send(&payload).await?;
            }
        }
    }

    /// Whether the client has the password.
    async fn authenticate(&self, peer: &mut Peer, response: &[u8], is_encrypted: bool) -> io::Result<bool> {
        let mut body = Body::new(&response[TLS_REQUEST_LENGTH..]);
        let user = body.until_zero();
        let mut answer = body.text().unwrap().unwrap().to_vec();
        let has_database = response[0] & 8 != 0;
        assert!(!has_database || body.until_zero() == b"shop");
        let (wanted, password, is_cached) = {
            let state = self.state();
            (state.plugin, state.password.clone(), state.is_cached)
        };
        let mut challenge = CHALLENGE;
        if body.until_zero() != wanted.as_bytes() {
            challenge = SWITCH_CHALLENGE;
            peer.send(&[b"\xfe", wanted.as_bytes(), b"\0", challenge, b"\0"].concat()).await?;
            answer = peer.receive().await?;
        }
        let clear = [password.as_bytes(), b"\0"].concat();
        let show = |how| self.state().shown.push(how);
        let is_right = match wanted {
            NATIVE => is_native_right(&password, challenge, &answer),
            CLEAR => {
                show("in clear");
                answer == clear
            }
            SHA256_PASSWORD | CACHING_SHA2 => {
                let is_sha2 = wanted == CACHING_SHA2;
                let is_scramble_right = is_sha2 && is_sha2_right(&password, challenge, &answer);
                match (is_sha2, is_encrypted) {
                    (true, _) if is_cached && is_scramble_right => {
                        peer.send(&[1, 3]).await?;
                        true
                    }
                    (true, true) => {
                        peer.send(&[1, 4]).await?;
                        show("over TLS");
                        peer.receive().await? == clear
                    }
                    (false, true) => {
                        show("over TLS");
                        answer == clear
                    }
                    (_, false) => {
                        if is_sha2 {
                            peer.send(&[1, 4]).await?;
                            answer = peer.receive().await?;
                        }
                        assert_eq!(answer, if is_sha2 { [2] } else { [1] }, "the key is asked for");
                        peer.send(&[b"\x01", public_key().as_bytes()].concat()).await?;
                        show("by RSA");
                        decrypt(&peer.receive().await?, challenge) == clear
                    }
                }
            }
            other => panic!("{other}"),
        };
        self.state().is_cached |= is_right;
        Ok(is_right && user == b"kedge")
    }
}

impl State {
    fn greeting(&self) -> Vec<u8> {
        let capabilities = if self.has_tls { u32::MAX } else { !HAS_TLS }.to_le_bytes();
        let (low, high) = capabilities.split_at(2);
        let parts: [&[u8]; 9] = [
            b"\x0a8.4.6\0\x07\0\0\0",
            &CHALLENGE[..8],
            b"\0",
            low,
            b"\x2d\x02\0",
            high,
            b"\x15\0\0\0\0\0\0\0\0\0\0",
            &CHALLENGE[8..],
            b"\0",
        ];
        [parts.concat().as_slice(), self.suggested.as_bytes(), b"\0"].concat()
    }

    fn answer(&mut self, query: &str) -> Vec<Vec<u8>> {
        if !self.errors.is_empty() {
            let (code, message) = self.errors.remove(0);
            return vec![error(code, message)];
        }
        if query.starts_with("SET ") {
            return vec![ok(2)];
        }
        result(self.number, self.status)
    }
}

/// The packets of a result of one number.
pub(super) fn result(number: &str, status: u16) -> Vec<Vec<u8>> {
    let mut row = Vec::new();
    write_text(number.as_bytes(), &mut row);
    let mut columns = Vec::new();
    write_integer(1, &mut columns);
    let end = |status: u16| [&[0xfe, 0, 0][..], &status.to_le_bytes()].concat();
    let column = b"\x03def\0\0\0\x01n\0\x0c\x3f\0\x15\0\0\0\x08\x81\0\0\0\0".to_vec();
    vec![columns, column, end(2), row, end(status)]
}

fn ok(status: u16) -> Vec<u8> {
    [&[0, 0, 0][..], &status.to_le_bytes(), &[0, 0]].concat()
}

fn error(code: u16, message: &str) -> Vec<u8> {
    [&[0xff][..], &code.to_le_bytes(), b"#28000", message.as_bytes()].concat()
}

struct Peer {
    stream: BoxStream,
    sequence: u8,
}

impl Peer {
    async fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.stream.write_all(&encode_packet(self.sequence, payload)).await?;
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.flush().await
    }

    /// Reads nothing behind a packet: TLS may begin there.
    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).await?;
        let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
        self.stream.read_exact(&mut payload).await?;
        assert_eq!(header[3], self.sequence);
        self.sequence = self.sequence.wrapping_add(1);
        Ok(payload)
    }
}

fn acceptor() -> TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(["db".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(crate::provider(&[]));
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = builder.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

/// As servers look: they know only the hash of the hash.
fn is_native_right(password: &str, challenge: &[u8], answer: &[u8]) -> bool {
    let known = digest(&SHA1, digest(&SHA1, password.as_bytes()).as_ref());
    let once = xor(answer, digest(&SHA1, &[challenge, known.as_ref()].concat()).as_ref());
    digest(&SHA1, &once).as_ref() == known.as_ref()
}

fn is_sha2_right(password: &str, challenge: &[u8], answer: &[u8]) -> bool {
    let known = digest(&SHA256, digest(&SHA256, password.as_bytes()).as_ref());
    let once = xor(answer, digest(&SHA256, &[known.as_ref(), challenge].concat()).as_ref());
    digest(&SHA256, &once).as_ref() == known.as_ref()
}

/// A key with the exponent 1, for which what is encrypted is only padded.
fn public_key() -> String {
    let element = |tag: u8, content: &[u8]| {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[tag, 0x82][..], &length, content].concat()
    };
    let numbers = [element(2, &[&[0][..], &[0xff; 128]].concat()), element(2, &[1])].concat();
    let algorithm = element(0x30, &element(6, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]));
    let key = element(3, &[&[0][..], &element(0x30, &numbers)].concat());
    let text = BASE64.encode(element(0x30, &[algorithm, key].concat()));
    format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
}

fn decrypt(padded: &[u8], challenge: &[u8]) -> Vec<u8> {
    let (mut seed, mut block) = (padded[1..=SEED_LENGTH].to_vec(), padded[1 + SEED_LENGTH..].to_vec());
    mask(&mut seed, &block);
    mask(&mut block, &seed);
    let message = block[20..].iter().skip_while(|byte| **byte == 0).skip(1);
    message.zip(challenge.iter().cycle()).map(|(one, other)| one ^ other).collect()
}
