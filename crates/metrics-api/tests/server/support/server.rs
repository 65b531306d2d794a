//! A running server and the CAs around it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use kedge_metrics_api::{Parts, Readiness, Settings, Trust, TrustConfig, serve};
use kedge_serving::{ServeError, ServingCertificate, Stopped};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Ca, Caller, Client, Http, Purpose, SERVER_NAME, TestReviewer, TestSource};

/// The CAs of a cluster.
pub(crate) struct Cluster {
    pub(crate) front_proxies: Ca,
    pub(crate) clients: Ca,
    pub(crate) servers: Ca,
}

impl Cluster {
    fn new() -> Self {
        Self { front_proxies: Ca::new("front proxies"), clients: Ca::new("clients"), servers: Ca::new("servers") }
    }

    /// What kube-apiserver publishes about these CAs.
    pub(crate) fn trust(&self) -> TrustConfig {
        let data = BTreeMap::from([
            ("client-ca-file".to_owned(), self.clients.pem()),
            ("requestheader-client-ca-file".to_owned(), self.front_proxies.pem()),
            ("requestheader-allowed-names".to_owned(), r#"["front-proxy-client"]"#.to_owned()),
            ("requestheader-username-headers".to_owned(), r#"["X-Remote-User"]"#.to_owned()),
            ("requestheader-group-headers".to_owned(), r#"["X-Remote-Group"]"#.to_owned()),
            ("requestheader-extra-headers-prefix".to_owned(), r#"["X-Remote-Extra-"]"#.to_owned()),
            ("requestheader-uid-headers".to_owned(), r#"["X-Remote-Uid"]"#.to_owned()),
        ]);
        TrustConfig::parse(&data).expect("a configuration")
    }
}

pub(crate) struct TestServer {
    pub(crate) cluster: Cluster,
    pub(crate) source: Arc<TestSource>,
    pub(crate) reviewer: Arc<TestReviewer>,
    pub(crate) trust: Trust,
    pub(crate) certificate: ServingCertificate,
    pub(crate) readiness: Readiness,
    pub(crate) address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<Result<Stopped, ServeError>>,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::start_with(Settings::default()).await
    }

    pub(crate) async fn start_with(settings: Settings) -> Self {
        let cluster = Cluster::new();
        let serving = cluster.servers.issue(SERVER_NAME, &[], Purpose::Server);
        let certificate = ServingCertificate::from_pem(serving.chain_pem.as_bytes(), serving.key_pem.as_bytes())
            .expect("a serving certificate");
        let (source, reviewer) = (Arc::new(TestSource::new()), Arc::new(TestReviewer::default()));
        let (trust, readiness) = (Trust::new(cluster.trust()), Readiness::new());
        let parts = Parts {
            source: source.clone(),
            reviewer: reviewer.clone(),
            trust: trust.clone(),
            certificate: certificate.clone(),
            readiness: readiness.clone(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (shutdown, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(serve(listener, settings, parts, async {
            let _ = stopped.await;
        }));
        Self { cluster, source, reviewer, trust, certificate, readiness, address, shutdown, task }
    }

    /// A connection of someone without a certificate.
    pub(crate) async fn anyone(&self) -> Client {
        self.connect(Caller::default()).await
    }

    /// A connection of the front proxy.
    pub(crate) async fn front_proxy(&self, http: Http) -> Client {
        let certificate = self.cluster.front_proxies.issue("front-proxy-client", &[], Purpose::Client);
        self.connect(Caller { certificate: Some(certificate), http, ..Caller::default() }).await
    }

    pub(crate) async fn connect(&self, caller: Caller) -> Client {
        Client::connect(self.address, &self.cluster.servers, caller).await.expect("a connection")
    }

    /// Tells the server to stop, and hands out its end.
    pub(crate) fn stop(self) -> JoinHandle<Result<Stopped, ServeError>> {
        self.shutdown.send(()).expect("the server runs");
        self.task
    }
}
