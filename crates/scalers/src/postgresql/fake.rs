//! For tests: servers in memory, whose users, answers and faults a test sets.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use kedge_core::secret::Secret;
use kedge_wire::postgres::request::md5_password;
use kedge_wire::scram::ScramHash;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use crate::http::connector::{BoxStream, Connector};
use crate::http::{Settings, provider};
use crate::scaler::BoxFuture;
use crate::scram_server::{BegunSignIn, ScramServer};
use crate::{NoCluster, Registry};

/// Servers with one state, whatever their host.
#[derive(Clone, Default)]
pub(super) struct FakeServers(Arc<Mutex<State>>);

/// What a test can set, and what it can see.
#[derive(Default)]
pub(super) struct State {
    pub(super) method: Method,
    pub(super) password: String,
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// Whether pg_hba.conf lets users in only with TLS, or only without.
    pub(super) only_with_tls: Option<bool>,
    /// Hosts that refuse connections, and hosts that are standbys.
    pub(super) down: BTreeSet<String>,
    pub(super) standbys: BTreeSet<String>,
    /// What is answered to a query, from the first message on; without an entry, the number 7.
    pub(super) answers: BTreeMap<&'static str, Vec<u8>>,
    /// Queries in signed-in sessions end the session.
    pub(super) shuts_down: bool,
    pub(super) connected: Vec<String>,
    /// The parameters of each session, and whether it has TLS.
    pub(super) started: Vec<(Vec<String>, bool)>,
    /// What was sent as a password.
    pub(super) passwords: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Method {
    #[default]
    Trust,
    Cleartext,
    Md5,
    Scram,
    /// One whose last message proves nothing.
    FalseScram,
    Gssapi,
}

/// A message.
pub(super) fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[kind][..], &length.to_be_bytes(), body].concat()
}

pub(super) fn error(severity: &str, code: &str, message: &str) -> Vec<u8> {
    framed(b'E', format!("S{severity}\0V{severity}\0C{code}\0M{message}\0\0").as_bytes())
}

pub(super) fn ready() -> Vec<u8> {
    framed(b'Z', b"I")
}

/// A result with one column, without the end of the answer.
pub(super) fn rows(values: &[Option<&str>]) -> Vec<u8> {
    let mut answer = framed(b'T', b"\0\x01n\0\0\0\0\0\0\0\0\0\0\x14\0\x08\xff\xff\xff\xff\0\0");
    for value in values {
        let length = value.map_or(-1, |value| i32::try_from(value.len()).unwrap());
        answer.extend(framed(
            b'D',
            &[b"\0\x01", &length.to_be_bytes()[..], value.unwrap_or_default().as_bytes()].concat(),
        ));
    }
    answer.extend(framed(b'C', format!("SELECT {}\0", values.len()).as_bytes()));
    answer
}

/// A whole answer with one number.
pub(super) fn number(value: &str) -> Vec<u8> {
    [rows(&[Some(value)]), ready()].concat()
}

/// What a session begins with.
pub(super) fn welcome() -> Vec<u8> {
    let parts = [framed(b'R', &[0; 4]), framed(b'S', b"TimeZone\0UTC\0"), framed(b'K', b"\0\0\0\x01abcd"), ready()];
    parts.concat()
}

/// A server's TLS, with a certificate of its own for a name, and that certificate as PEM.
pub(super) fn server_tls(name: &str) -> (Arc<ServerConfig>, String) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let (pem, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let chain = vec![CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()];
    let config = ServerConfig::builder_with_provider(Arc::new(provider(&[])))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap());
    (Arc::new(config.unwrap()), pem)
}

impl FakeServers {
    pub(super) fn with(method: Method, password: &str) -> Self {
        let fake = Self::default();
        (fake.state().method, fake.state().password) = (method, password.to_owned());
        fake
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(super) fn registry(&self) -> Registry {
        self.registry_with(Settings::default())
    }

    pub(super) fn registry_with(&self, settings: Settings) -> Registry {
        let fake = self.clone();
        let connector = Connector::new(move |uri: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            let (fake, host) = (fake.clone(), uri.host().unwrap().to_owned());
            Box::pin(async move {
                fake.state().connected.push(host.clone());
                if fake.state().down.contains(&host) {
                    return Err(io::ErrorKind::ConnectionRefused.into());
                }
                let (ours, theirs) = tokio::io::duplex(1 << 16);
                // Fails when the client has gone.
                tokio::spawn(async move { fake.serve(Box::new(theirs), &host).await });
                Ok(Box::new(ours) as BoxStream)
            })
        });
        Registry::new(settings, connector, Arc::new(NoCluster))
    }

    async fn serve(self, mut stream: BoxStream, host: &str) -> io::Result<()> {
        let mut first = receive_first(&mut stream).await?;
        let mut has_tls = false;
        if first == [0x04, 0xd2, 0x16, 0x2f] {
            let tls = self.state().tls.clone();
            stream.write_all(if tls.is_some() { b"S" } else { b"N" }).await?;
            if let Some(tls) = tls {
                stream = Box::new(TlsAcceptor::from(tls).accept(stream).await?);
                has_tls = true;
            }
            first = receive_first(&mut stream).await?;
        }
        let parameters: Vec<String> =
            first[4..].split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        let user = parameters[1].clone();
        self.state().started.push((parameters.into_iter().filter(|text| !text.is_empty()).collect(), has_tls));
        if self.state().only_with_tls.is_some_and(|wanted| wanted != has_tls) {
            return stream.write_all(&error("FATAL", "28000", "no pg_hba.conf entry for host")).await;
        }
        if !self.admits(&mut stream, &user).await? {
            let refused = format!("password authentication failed for user \"{user}\"");
            return stream.write_all(&error("FATAL", "28P01", &refused)).await;
        }
        stream.write_all(&welcome()).await?;
        loop {
            let (kind, body) = receive(&mut stream).await?;
            if kind != b'Q' {
                return Ok(());
            }
            let query = String::from_utf8_lossy(&body[..body.len() - 1]).into_owned();
            let answer = self.answer(&query, host);
            stream.write_all(&answer).await?;
            if self.state().shuts_down {
                return Ok(());
            }
        }
    }

    fn answer(&self, query: &str, host: &str) -> Vec<u8> {
        let state = self.state();
        let is_standby = state.standbys.contains(host);
        match query {
            _ if state.shuts_down => error("FATAL", "57P01", "terminating connection due to administrator command"),
            "SHOW transaction_read_only" => number(if is_standby { "on" } else { "off" }),
            "SELECT pg_catalog.pg_is_in_recovery()" => number(if is_standby { "t" } else { "f" }),
            query => state.answers.get(query).cloned().unwrap_or_else(|| number("7")),
        }
    }

    async fn admits(&self, stream: &mut BoxStream, user: &str) -> io::Result<bool> {
        let method = self.state().method;
        let password = self.state().password.clone();
        let (asked, expected) = match method {
            Method::Trust => return Ok(true),
            Method::Gssapi => {
                stream.write_all(&framed(b'R', b"\0\0\0\x07")).await?;
                std::future::pending().await
            }
            Method::Cleartext => (framed(b'R', b"\0\0\0\x03"), password),
            Method::Md5 => (framed(b'R', b"\0\0\0\x05salt"), md5_password(user, &password, *b"salt")),
            Method::Scram | Method::FalseScram => return self.admits_by_scram(stream, &password, method).await,
        };
        stream.write_all(&asked).await?;
        let (_, body) = receive(stream).await?;
        let given = String::from_utf8_lossy(&body[..body.len() - 1]).into_owned();
        self.state().passwords.push(given.clone());
        Ok(given == expected)
    }

    /// The server's side of RFC 7677.
    async fn admits_by_scram(&self, stream: &mut BoxStream, password: &str, method: Method) -> io::Result<bool> {
        stream.write_all(&framed(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0")).await?;
        let (_, body) = receive(stream).await?;
        let first = String::from_utf8_lossy(&body).into_owned();
        let begun = BegunSignIn::new(&first);
        stream.write_all(&framed(b'R', &[b"\0\0\0\x0b", begun.server_first.as_bytes()].concat())).await?;
        let (_, last) = receive(stream).await?;
        let server = ScramServer::new(ScramHash::Sha256, password);
        let Some(proof) = server.end(&begun, &String::from_utf8_lossy(&last)) else { return Ok(false) };
        let proof = if method == Method::FalseScram { format!("v={}", BASE64.encode([0; 32])) } else { proof };
        stream.write_all(&framed(b'R', &[b"\0\0\0\x0c", proof.as_bytes()].concat())).await?;
        Ok(true)
    }
}

async fn receive_first(stream: &mut BoxStream) -> io::Result<Vec<u8>> {
    let length = stream.read_u32().await?;
    let mut body = vec![0; length as usize - 4];
    stream.read_exact(&mut body).await?;
    Ok(body)
}

async fn receive(stream: &mut BoxStream) -> io::Result<(u8, Vec<u8>)> {
    let kind = stream.read_u8().await?;
    Ok((kind, receive_first(stream).await?))
}

/// A file with a text, which is there as long as this value.
pub(super) fn file(text: &Secret) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text.reveal()).unwrap();
    file
}
