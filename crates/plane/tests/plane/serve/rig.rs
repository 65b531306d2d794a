//! A plane on a free port, with certificates of its own, and servers that may stand behind it.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Node;
use kedge_plane::controllers::Nodes;
use kedge_plane::serve::{AuditLog, NetworkBackends, Tokens, serve, tls};
use kedge_plane::{Options, Plane};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::config::AuthInfo;
use kube::{Client, Config};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// How a client authenticates.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Caller<'a> {
    /// The administrator's.
    Certificate,
    Token(&'a str),
    Anonymous,
}

/// A certificate and its key, PEM.
struct Pair {
    certificate: String,
    key: String,
}

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    fn sign(&self, name: &str, group: Option<&str>) -> Pair {
        let mut params = CertificateParams::new(vec![name.to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        group.into_iter().for_each(|group| params.distinguished_name.push(DnType::OrganizationName, group));
        let key = KeyPair::generate().unwrap();
        Pair { certificate: params.signed_by(&key, &self.issuer).unwrap().pem(), key: key.serialize_pem() }
    }
}

pub(crate) struct Rig {
    address: SocketAddr,
    authority: Authority,
    proxies: Authority,
    folder: PathBuf,
    tasks: Vec<JoinHandle<Infallible>>,
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Rig {
    pub(crate) async fn start() -> Self {
        let (authority, proxies) = (Authority::new(), Authority::new());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let folder = std::env::temp_dir().join(format!("kedge-plane-{}-{}", std::process::id(), address.port()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut rig = Self { address, authority, proxies, folder, tasks: Vec::new() };
        let shown = rig.written("server", &rig.authority.sign("localhost", None));
        let front_proxy = rig.written("front-proxy", &rig.proxies.sign("front-proxy", None));
        let tls = tls::server_config(shown, rig.authority.certificate.pem().as_bytes()).unwrap();
        let audit = AuditLog::create(&rig.folder.join("audit.log")).unwrap();
        let plane = Plane::new(options());
        rig.tasks = vec![
            tokio::spawn(NetworkBackends::new(&plane, Some(front_proxy)).run()),
            tokio::spawn(Nodes::new(&plane).run()),
            tokio::spawn(serve(plane, listener, tls, Some(audit))),
        ];
        rig
    }

    fn written(&self, name: &str, pair: &Pair) -> tls::KeyedCertificate {
        let (certificate, key) = (self.folder.join(format!("{name}.crt")), self.folder.join(format!("{name}.key")));
        std::fs::write(&certificate, &pair.certificate).unwrap();
        std::fs::write(&key, &pair.key).unwrap();
        tls::KeyedCertificate::read(&certificate, &key).unwrap()
    }

    pub(crate) fn client(&self, caller: Caller<'_>) -> Client {
        let mut config = Config::new(format!("https://{}", self.address).parse().unwrap());
        // What is refused is to be seen.
        config.default_retry = false;
        config.root_cert = Some(vec![self.authority.certificate.der().to_vec()]);
        config.auth_info = match caller {
            Caller::Anonymous => AuthInfo::default(),
            Caller::Token(token) => AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() },
            Caller::Certificate => {
                let admin = self.authority.sign("admin", Some("system:masters"));
                AuthInfo {
                    client_certificate_data: Some(STANDARD.encode(admin.certificate)),
                    client_key_data: Some(STANDARD.encode(admin.key).into()),
                    ..AuthInfo::default()
                }
            }
        };
        Client::try_from(config).unwrap()
    }

    pub(crate) fn audited(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.join("audit.log")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Names a server of an API at this port.
    pub(crate) async fn register_api(&self, client: &Client, port: u16) {
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "who", "namespace": "default" },
            "spec": { "type": "ExternalName", "externalName": "localhost" },
        });
        let services = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Service"));
        let services: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &services);
        services.create(&PostParams::default(), &from(service)).await.unwrap();
        let api = json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": { "name": "v1.example.com" },
            "spec": {
                "group": "example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
                "service": { "namespace": "default", "name": "who", "port": port },
                "caBundle": STANDARD.encode(self.authority.certificate.pem()),
            },
        });
        apis(client).create(&PostParams::default(), &from(api)).await.unwrap();
    }

    /// Whether the API counts as there, and why.
    pub(crate) async fn availability(&self, client: &Client) -> (String, String) {
        let api = apis(client).get("v1.example.com").await.unwrap();
        let condition = &api.data["status"]["conditions"][0];
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"))
    }

    pub(crate) async fn register_webhook(&self, client: &Client, port: u16) {
        let url = format!("https://localhost:{port}/");
        let webhook = json!({
            "name": "no-maps.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": { "url": url, "caBundle": STANDARD.encode(self.authority.certificate.pem()) },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"] }],
        });
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": "no-maps" }, "webhooks": [webhook],
        });
        let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration");
        let all: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        all.create(&PostParams::default(), &from(configuration)).await.unwrap();
    }

    pub(crate) async fn create_nodes(&self, client: &Client, names: &[&str]) {
        let nodes: Api<Node> = Api::all(client.clone());
        for name in names {
            nodes.create(&PostParams::default(), &from(json!({ "metadata": { "name": name } }))).await.unwrap();
        }
    }

    pub(crate) async fn until_nodes_are_ready(&self) {
        let nodes: Api<Node> = Api::all(self.client(Caller::Certificate));
        until(async || {
            let all = nodes.list(&ListParams::default()).await.unwrap().items;
            let conditions = |node: &Node| node.status.clone().unwrap_or_default().conditions.unwrap_or_default();
            all.iter().all(|node| conditions(node).iter().any(|one| one.type_ == "Ready" && one.status == "True"))
        })
        .await;
    }

    /// A server that returns the user it is called for. It accepts only connections of the front proxy.
    pub(crate) async fn serve_api(&self, port: u16) -> JoinHandle<()> {
        let mut roots = RootCertStore::empty();
        roots.add(self.proxies.certificate.der().clone()).unwrap();
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider()).build().unwrap();
        let builder = server_builder().with_client_cert_verifier(clients);
        self.listen(port, "who.default.svc", |chain, key| builder.with_single_cert(chain, key), who).await
    }

    /// A webhook that denies.
    pub(crate) async fn serve_webhook(&self, port: u16) -> JoinHandle<()> {
        let builder = server_builder().with_no_client_auth();
        self.listen(port, "localhost", |chain, key| builder.with_single_cert(chain, key), deny).await
    }

    async fn listen(
        &self,
        port: u16,
        name: &str,
        config: impl FnOnce(
            Vec<rustls::pki_types::CertificateDer<'static>>,
            PrivateKeyDer<'static>,
        ) -> Result<rustls::ServerConfig, rustls::Error>,
        answer: fn(&Request<Bytes>) -> Value,
    ) -> JoinHandle<()> {
        use rustls::pki_types::pem::PemObject;
        let pair = self.authority.sign(name, None);
        let chain = rustls::pki_types::CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
        let tls = TlsAcceptor::from(Arc::new(config(vec![chain], key).unwrap()));
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve_connection(tls.clone(), stream, answer));
            }
        })
    }
}

async fn serve_connection(tls: TlsAcceptor, stream: TcpStream, answer: fn(&Request<Bytes>) -> Value) {
    let Ok(stream) = tls.accept(stream).await else { return };
    let service = service_fn(move |request: Request<Incoming>| async move {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let answer = answer(&Request::from_parts(head, body)).to_string();
        Ok::<_, hyper::Error>(Response::new(Full::<Bytes>::from(answer)))
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

fn who(request: &Request<Bytes>) -> Value {
    let all = |name: &str| {
        request.headers().get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    json!({ "user": all("x-remote-user")[0], "groups": all("x-remote-group") })
}

fn deny(request: &Request<Bytes>) -> Value {
    let review: Value = serde_json::from_slice(request.body()).unwrap();
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": { "uid": review["request"]["uid"], "allowed": false, "status": { "message": "no maps today" } },
    })
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn server_builder() -> rustls::ConfigBuilder<rustls::ServerConfig, rustls::WantsVerifier> {
    rustls::ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap()
}

fn options() -> Options {
    let tokens = Tokens::default();
    let holders = tokens.clone();
    Options {
        authenticate: Arc::new(move |token| holders.holder(token)),
        issue: Arc::new(move |user, _| tokens.issue(user)),
        ..Options::default()
    }
}

fn apis(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiregistration.k8s.io", "v1", "APIService");
    Api::all_with(client.clone(), &ApiResource { plural: "apiservices".to_owned(), ..ApiResource::from_gvk(&kind) })
}

pub(crate) fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn code(error: kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn free_port() -> u16 {
    StdListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Looks until it is so.
pub(crate) async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let look = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), look).await.expect("it is not so in time");
}
