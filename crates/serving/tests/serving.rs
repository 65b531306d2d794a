//! Servers on the loopback device: the handler, the handshake and the shutdown. The tests of the metrics API, which this crate
//! serves, cover limits and draining.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kedge_serving::{
    ClientCertificates, ClientChain, Limits, Security, ServingCertificate, Stopped, Tls, TlsProtocols, serve,
};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const NAME: &str = "kedge.test.svc";

fn self_signed(name: &str) -> CertifiedKey<KeyPair> {
    generate_simple_self_signed([name.to_owned()]).expect("a certificate")
}

fn serving(made: &CertifiedKey<KeyPair>) -> ServingCertificate {
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    ServingCertificate::from_pem(chain.as_bytes(), key.as_bytes()).expect("a pair")
}

/// Responds with the number of client certificates and the body of the request.
async fn echo(chain: ClientChain, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let body = request.into_body().collect().await.expect("a body").to_bytes();
    let text = format!("{} {}", chain.len(), String::from_utf8_lossy(&body));
    Response::new(Full::new(text.into()))
}

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Stopped>,
}

impl Server {
    async fn start(security: Security) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async {
            let stopped = async { drop(stopped.await) };
            serve(listener, security, Limits::default(), echo, stopped).await.expect("it serves")
        });
        Self { address, stop, task }
    }

    async fn tls(made: &CertifiedKey<KeyPair>, clients: ClientCertificates) -> Self {
        Self::start(Security::Tls(Tls { clients, ..Tls::new(serving(made)) })).await
    }
}

/// Connects with a client certificate.
async fn connect(address: SocketAddr, server: &CertifiedKey<KeyPair>, protocol: &str) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(server.cert.der().clone()).expect("a CA certificate");
    let own = self_signed("client");
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let mut config = ClientConfig::builder_with_provider(kedge_serving::tls::provider())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![own.cert.der().clone()], key)
        .expect("a client certificate");
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let stream = TcpStream::connect(address).await.expect("a connection");
    let name = ServerName::try_from(NAME).expect("a name");
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("a handshake")
}

fn served_leaf(stream: &TlsStream<TcpStream>) -> CertificateDer<'static> {
    stream.get_ref().1.peer_certificates().expect("a certificate")[0].clone()
}

fn hello() -> Request<Full<Bytes>> {
    let request = Request::post(format!("https://{NAME}/")).header("host", NAME);
    request.body(Full::new("hello".into())).expect("a request")
}

async fn text(response: Response<Incoming>) -> (Version, String) {
    let version = response.version();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (version, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn client_certificates_are_requested_only_where_configured() {
    let made = self_signed(NAME);
    let rows = [(ClientCertificates::NotRequested, "0 hello"), (ClientCertificates::Requested, "1 hello")];
    for (clients, expected) in rows {
        let server = Server::tls(&made, clients).await;
        let io = TokioIo::new(connect(server.address, &made, "h2").await);
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.expect("HTTP/2");
        tokio::spawn(connection);
        let response = text(sender.send_request(hello()).await.expect("a response")).await;
        assert_eq!(response, (Version::HTTP_2, expected.to_owned()), "{clients:?}");
        let io = TokioIo::new(connect(server.address, &made, "http/1.1").await);
        let (mut sender, connection) = http1::handshake(io).await.expect("HTTP/1.1");
        tokio::spawn(connection);
        let response = text(sender.send_request(hello()).await.expect("a response")).await;
        assert_eq!(response, (Version::HTTP_11, expected.to_owned()), "{clients:?}");
    }
}

#[tokio::test]
async fn a_replaced_certificate_is_served_from_the_next_handshake_on() {
    let (first, second) = (self_signed(NAME), self_signed(NAME));
    let certificate = serving(&first);
    let server = Server::start(Security::Tls(Tls::new(certificate.clone()))).await;
    assert_eq!(served_leaf(&connect(server.address, &first, "h2").await), *first.cert.der());
    let (chain, key) = (second.cert.pem(), second.signing_key.serialize_pem());
    certificate.replace_pem(chain.as_bytes(), key.as_bytes()).expect("a pair");
    assert_eq!(served_leaf(&connect(server.address, &second, "h2").await), *second.cert.der());
}

#[tokio::test]
async fn plain_http_is_served_until_shutdown() {
    let server = Server::start(Security::Plain).await;
    let stream = TcpStream::connect(server.address).await.expect("a connection");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("HTTP/1.1");
    tokio::spawn(connection);
    let response = text(sender.send_request(hello()).await.expect("a response")).await;
    assert_eq!(response, (Version::HTTP_11, "0 hello".to_owned()));
    server.stop.send(()).expect("the server runs");
    assert_eq!(server.task.await.expect("no panic"), Stopped::Drained, "the idle connection is closed");
    assert!(TcpStream::connect(server.address).await.is_err());
}

/// Performs a handshake with one TLS version.
async fn shake_hands(
    address: SocketAddr,
    made: &CertifiedKey<KeyPair>,
    version: &'static SupportedProtocolVersion,
) -> std::io::Result<()> {
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("a CA certificate");
    let config = ClientConfig::builder_with_provider(kedge_serving::tls::provider());
    let config = config.with_protocol_versions(&[version]).expect("a version");
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(NAME).expect("a name"), stream).await.map(drop)
}

#[tokio::test]
async fn versions_that_are_not_enabled_are_rejected() {
    let made = self_signed(NAME);
    let all = Server::tls(&made, ClientCertificates::NotRequested).await;
    let protocols = TlsProtocols { versions: vec![&TLS13], ..TlsProtocols::default() };
    let newest = Server::start(Security::Tls(Tls { protocols, ..Tls::new(serving(&made)) })).await;
    for (server, version, is_enabled) in
        [(&all, &TLS12, true), (&all, &TLS13, true), (&newest, &TLS12, false), (&newest, &TLS13, true)]
    {
        let handshake = shake_hands(server.address, &made, version).await;
        assert_eq!(handshake.is_ok(), is_enabled, "{:?}: {handshake:?}", version.version);
    }
}
