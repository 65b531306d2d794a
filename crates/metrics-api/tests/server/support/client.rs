//! A client with one connection.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::ResolvesClientCert;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SignatureScheme, SupportedProtocolVersion};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Ca, Issued, SERVER_NAME};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Http {
    #[default]
    One,
    Two,
}

/// How to connect.
pub(crate) struct Caller {
    pub(crate) certificate: Option<Issued>,
    /// Another certificate's key, to sign the handshake with.
    pub(crate) wrong_key: Option<Issued>,
    pub(crate) http: Http,
    pub(crate) version: &'static SupportedProtocolVersion,
}

impl Default for Caller {
    fn default() -> Self {
        Self { certificate: None, wrong_key: None, http: Http::One, version: &rustls::version::TLS13 }
    }
}

pub(crate) struct Client {
    sender: Sender,
    /// What the server showed.
    pub(crate) server_certificate: CertificateDer<'static>,
}

enum Sender {
    One(http1::SendRequest<Empty<Bytes>>),
    Two(http2::SendRequest<Empty<Bytes>>),
}

#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl HttpResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    pub(crate) fn message(&self) -> String {
        let json = self.json();
        assert_eq!((json["kind"].as_str(), json["code"].as_u64()), (Some("Status"), Some(self.code.as_u16().into())));
        json["message"].as_str().expect("a message").to_owned()
    }
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr, servers: &Ca, caller: Caller) -> Result<Self, String> {
        let http = caller.http;
        let stream = connect_tls(address, servers, caller).await.map_err(|error| error.to_string())?;
        let server_certificate = stream.get_ref().1.peer_certificates().expect("a certificate")[0].clone();
        let io = TokioIo::new(stream);
        let sender = match http {
            Http::One => {
                let (sender, connection) = http1::handshake(io).await.map_err(|error| error.to_string())?;
                tokio::spawn(connection);
                Sender::One(sender)
            }
            Http::Two => {
                let (sender, connection) =
                    http2::handshake(TokioExecutor::new(), io).await.map_err(|error| error.to_string())?;
                tokio::spawn(connection);
                Sender::Two(sender)
            }
        };
        Ok(Self { sender, server_certificate })
    }

    pub(crate) async fn get(&mut self, path: &str) -> HttpResponse {
        self.request("GET", path, &[]).await
    }

    pub(crate) async fn request(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> HttpResponse {
        self.try_request(method, path, headers).await.expect("a response")
    }

    pub(crate) async fn try_request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<HttpResponse, hyper::Error> {
        let address = format!("https://{SERVER_NAME}{path}");
        let (uri, host) = match self.sender {
            Sender::One(_) => (path, Some(SERVER_NAME)),
            Sender::Two(_) => (address.as_str(), None),
        };
        let mut request = Request::builder().method(method).uri(uri);
        let host = host.map(|host| ("host", host));
        for (name, value) in headers.iter().copied().chain(host) {
            request = request.header(name, value);
        }
        let request = request.body(Empty::new()).expect("a request");
        let response = match &mut self.sender {
            Sender::One(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Sender::Two(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
        };
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        let body = String::from_utf8(body.to_vec()).expect("text");
        Ok(HttpResponse { code: parts.status, headers: parts.headers, body })
    }
}

/// A TLS connection without a request yet.
pub(crate) async fn connect_tls(
    address: SocketAddr,
    servers: &Ca,
    caller: Caller,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(servers.der()).expect("a CA");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[caller.version])
        .expect("a version")
        .with_root_certificates(roots);
    let mut config = match &caller.certificate {
        None => builder.with_no_client_auth(),
        Some(shown) => {
            let key = caller.wrong_key.as_ref().unwrap_or(shown).key();
            let key = provider.key_provider.load_private_key(key).expect("a key");
            let pair = Arc::new(CertifiedKey::new(vec![shown.leaf.clone()], key));
            builder.with_client_cert_resolver(Arc::new(Always(pair)))
        }
    };
    config.alpn_protocols = vec![if caller.http == Http::Two { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from(SERVER_NAME).expect("a name");
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// Shows one certificate to everyone, whether or not its key fits.
#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesClientCert for Always {
    fn resolve(&self, _hints: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}
