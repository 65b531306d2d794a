//! The servers that TLS trusts, and those that get a client certificate.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

use super::*;

pub(crate) type CertificateAuthority = CertifiedIssuer<'static, KeyPair>;

/// A certificate and its key.
pub(crate) struct Identity {
    pub(crate) cert: rcgen::Certificate,
    pub(crate) key: KeyPair,
}

impl Identity {
    fn der(&self) -> CertificateDer<'static> {
        self.cert.der().clone()
    }

    fn key_der(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::try_from(self.key.serialize_der()).unwrap()
    }

    pub(crate) fn server(&self) -> ServerConfig {
        server_config().with_no_client_auth().with_single_cert(vec![self.der()], self.key_der()).unwrap()
    }
}

fn server_config() -> rustls::ConfigBuilder<ServerConfig, rustls::WantsVerifier> {
    server_config_of(rustls::DEFAULT_VERSIONS)
}

fn server_config_of(
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> rustls::ConfigBuilder<ServerConfig, rustls::WantsVerifier> {
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
}

pub(crate) fn new_ca() -> CertificateAuthority {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

pub(crate) fn signed_by(ca: &CertificateAuthority, name: &str) -> Identity {
    let key = KeyPair::generate().unwrap();
    let cert = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, ca).unwrap();
    Identity { cert, key }
}

/// Signed by itself and marked as a CA, as `openssl req -x509` makes them.
fn self_signed(name: &str, change: impl Fn(&mut CertificateParams)) -> Identity {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    Identity { cert: params.self_signed(&key).unwrap(), key }
}

fn with_ca(server: &Server, pem: &str) -> Query {
    Query::of_tls(server).with("authModes", "bearer").auth("token", "t").auth("ca", pem)
}

async fn serve(config: ServerConfig) -> Server {
    Server::tls(config, |_| Reply::value("1")).await
}

#[tokio::test]
async fn a_ca_is_trusted_only_when_it_is_configured() {
    let (known, stranger) = (new_ca(), new_ca());
    let server = serve(signed_by(&known, "127.0.0.1").server()).await;
    let elsewhere = serve(signed_by(&known, "prometheus").server()).await;
    let given = with_ca(&server, &known.pem());
    let rows = [
        ("the right CA", given.clone(), true),
        ("the right CA beside another", with_ca(&server, &format!("{}\n{}", stranger.pem(), known.pem())), true),
        ("another CA", with_ca(&server, &stranger.pem()), false),
        ("no CA", Query::of_tls(&server), false),
        ("a CA without authModes is ignored", Query::of_tls(&server).auth("ca", &known.pem()), false),
        ("the right CA, another name", with_ca(&elsewhere, &known.pem()), false),
        ("unsafeSsl", Query::of_tls(&server).with("unsafeSsl", "true"), true),
        ("unsafeSsl does not count with a CA", with_ca(&server, &stranger.pem()).with("unsafeSsl", "true"), false),
    ];
    for (name, query, trusted) in rows {
        match query.read().await {
            Ok(known) => assert!(trusted, "{name}: {known:?}"),
            Err(error) => {
                assert!(!trusted, "{name}: {error}");
                assert_eq!(error.reason(), "SourceUntrusted", "{name}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn a_self_signed_certificate_is_believed_when_it_is_itself_the_ca() {
    let good = self_signed("127.0.0.1", |_| {});
    let leaf = self_signed("127.0.0.1", |params| params.is_ca = IsCa::NoCa);
    let other_name = self_signed("prometheus", |_| {});
    let expired = self_signed("127.0.0.1", |params| params.not_after = rcgen::date_time_ymd(2020, 1, 1));
    let impostor = self_signed("127.0.0.1", |_| {});
    let rows = [
        ("itself, marked as CA", &good, &good, true),
        ("itself, not marked", &leaf, &leaf, true),
        ("with another name", &other_name, &other_name, false),
        ("expired", &expired, &expired, false),
        ("another of the same name", &impostor, &good, false),
    ];
    for (name, shown, given, trusted) in rows {
        let server = serve(shown.server()).await;
        let outcome = with_ca(&server, &given.cert.pem()).read().await;
        assert_eq!(outcome.is_ok(), trusted, "{name}: {outcome:?}");
    }
}

#[tokio::test]
async fn the_cas_of_the_operator_are_trusted_for_every_source() {
    let ca = new_ca();
    let server = serve(signed_by(&ca, "127.0.0.1").server()).await;
    let settings = Settings { extra_roots: vec![ca.der().clone()], ..Settings::default() };
    let registry = Registry::new(settings, Connector::tcp(), Arc::new(NoCluster));
    assert_eq!(Query::of_tls(&server).read_with(&registry).await, Ok(known(1.0, Activity::Active)));
    let with_other_ca = with_ca(&server, &new_ca().pem());
    assert!(with_other_ca.read_with(&registry).await.is_ok(), "a CA is added to the others, and replaces none");
}

#[tokio::test]
async fn a_client_certificate_is_sent_where_the_server_requests_it() {
    let ca = new_ca();
    let (server, client) = (signed_by(&ca, "127.0.0.1"), signed_by(&ca, "kedge"));
    let mut roots = RootCertStore::empty();
    roots.add(ca.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let config = server_config().with_client_cert_verifier(verifier);
    let server = serve(config.with_single_cert(vec![server.der()], server.key_der()).unwrap()).await;

    let tls = Query::of_tls(&server).with("authModes", "tls").auth("ca", &ca.pem());
    let tls = tls.auth("cert", &client.cert.pem()).auth("key", &client.key.serialize_pem());
    assert_eq!(tls.read().await, Ok(known(1.0, Activity::Active)));
    let shown = server.requests().pop().unwrap().client_certificate;
    assert_eq!(shown.as_deref(), Some(client.der().as_ref()));

    let error = with_ca(&server, &ca.pem()).read().await.unwrap_err();
    assert_eq!(error.reason(), "SourceUntrusted", "{error}");
    assert!(error.to_string().contains("it wants a client certificate"), "{error}");
}

#[tokio::test]
async fn the_error_explains_what_is_wrong_with_a_certificate() {
    let known = new_ca();
    let dated = |change: &dyn Fn(&mut CertificateParams)| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        change(&mut params);
        Identity { cert: params.signed_by(&key, &known).unwrap(), key }
    };
    let expired = dated(&|params| params.not_after = rcgen::date_time_ymd(2020, 1, 1));
    let early = dated(&|params| params.not_before = rcgen::date_time_ymd(2999, 1, 1));
    let rows = [
        ("a namesake's", signed_by(&new_ca(), "127.0.0.1"), "is not signed by the trusted CA"),
        ("another's", signed_by(&known, "elsewhere.example"), "is not for 127.0.0.1, but for elsewhere.example"),
        ("an old one", expired, "its certificate has expired"),
        ("an early one", early, "its certificate is not valid yet"),
    ];
    for (name, identity, expected) in rows {
        let server = serve(identity.server()).await;
        let error = with_ca(&server, &known.pem()).read().await.unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    let server = serve(signed_by(&known, "127.0.0.1").server()).await;
    let error = Query::of_tls(&server).read().await.unwrap_err().to_string();
    assert!(error.contains("signed by a CA that is not trusted"), "{error}");
}

#[tokio::test]
async fn a_source_without_tls_is_recognised() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = [0; 16];
        tokio::io::AsyncReadExt::read_exact(&mut stream, &mut hello).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let error = Query::at(format!("https://{address}")).read().await.unwrap_err().to_string();
    assert!(error.contains("it does not speak TLS"), "{error}");
    serving.await.unwrap();
}

#[tokio::test]
async fn the_least_version_and_the_cipher_suites_are_kept_to() {
    let ca = new_ca();
    let only_12: &[_] = &[&rustls::version::TLS12];
    let (ecdsa, rsa) = ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
    let rows: [(&str, &[&'static rustls::SupportedProtocolVersion], TlsVersion, &str, bool); 6] = [
        ("TLS 1.2 by default", only_12, TlsVersion::Tls12, "", true),
        ("TLS 1.2 where 1.3 is asked for", only_12, TlsVersion::Tls13, "", false),
        ("TLS 1.3 where it is asked for", rustls::DEFAULT_VERSIONS, TlsVersion::Tls13, "", true),
        ("a suite that the server has", only_12, TlsVersion::Tls12, ecdsa, true),
        ("a suite for other certificates", only_12, TlsVersion::Tls12, rsa, false),
        ("suites do not count for TLS 1.3", rustls::DEFAULT_VERSIONS, TlsVersion::Tls12, rsa, true),
    ];
    for (name, versions, tls_min, ciphers, works) in rows {
        let identity = signed_by(&ca, "127.0.0.1");
        let config = server_config_of(versions).with_no_client_auth();
        let server = serve(config.with_single_cert(vec![identity.der()], identity.key_der()).unwrap()).await;
        let ciphers = kedge_scalers::parse_ciphers(ciphers).0;
        let settings = Settings { extra_roots: vec![ca.der().clone()], tls_min, ciphers, ..Settings::default() };
        let outcome =
            Query::of_tls(&server).read_with(&Registry::new(settings, Connector::tcp(), Arc::new(NoCluster))).await;
        assert_eq!(outcome.is_ok(), works, "{name}: {outcome:?}");
        if let Err(error) = outcome {
            assert_eq!(error.reason(), "SourceUntrusted", "{name}: {error}");
        }
    }
}

#[tokio::test]
async fn triggers_with_one_ca_share_one_connection() {
    let ca = new_ca();
    let server = serve(signed_by(&ca, "127.0.0.1").server()).await;
    let registry = registry();
    let one = with_ca(&server, &ca.pem()).build(&registry).unwrap();
    let other = with_ca(&server, &ca.pem()).with("query", "other").build(&registry).unwrap();
    for scaler in [one, other] {
        scaler.read("s0-prometheus", now()).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
}
