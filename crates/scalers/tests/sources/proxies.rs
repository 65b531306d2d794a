//! Proxies: what they receive, and what requests through them carry.

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::server::{ReceivedRequest, read_request};
use super::tls::{new_ca, signed_by};
use super::*;

/// A proxy for tunnels, which all lead to one place.
struct Tunnels {
    address: std::net::SocketAddr,
    requests: Arc<std::sync::Mutex<Vec<ReceivedRequest>>>,
    task: JoinHandle<()>,
}

impl Drop for Tunnels {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Tunnels {
    async fn to(place: std::net::SocketAddr, answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(std::sync::Mutex::new(Vec::new()));
        let received = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let received = Arc::clone(&received);
                tokio::spawn(async move {
                    let Some(request) = read_request(&mut stream, None).await else { return };
                    received.lock().unwrap().push(request);
                    let mut place = tokio::net::TcpStream::connect(place).await.unwrap();
                    tokio::io::AsyncWriteExt::write_all(&mut stream, answer.as_bytes()).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut place).await;
                });
            }
        });
        Self { address, requests, task }
    }

    fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

fn through(http: Option<&str>, https: Option<&str>) -> Settings {
    Settings { proxies: Proxies::parse(http, https, None).unwrap(), ..Settings::default() }
}

fn registry_with(settings: Settings) -> Registry {
    Registry::new(settings, Connector::tcp(), Arc::new(NoCluster))
}

#[tokio::test]
async fn plain_requests_are_handed_to_the_proxy_whole() {
    let proxy = Server::plain(|_| Reply::value("3")).await;
    let registry = registry_with(through(Some(&format!("http://user:hunter2@{}", proxy.address)), None));
    let query = Query::at("http://prometheus.example:9090").with("authModes", "bearer").auth("token", "t");
    assert_eq!(query.read_with(&registry).await, Ok(known(3.0, Activity::Active)));
    let request = proxy.requests().pop().unwrap();
    assert!(request.target.starts_with("http://prometheus.example:9090/api/v1/query?"), "{}", request.target);
    assert_eq!(request.header("proxy-authorization"), Some("Basic dXNlcjpodW50ZXIy"));
    assert_eq!(request.header("authorization"), Some("Bearer t"));
    assert_eq!(request.header("host"), Some("prometheus.example:9090"));
}

#[tokio::test]
async fn what_is_local_needs_no_proxy() {
    let (proxy, server) = (Server::plain(|_| Reply::status(500)).await, Server::plain(|_| Reply::value("1")).await);
    let registry = registry_with(through(Some(&format!("user:hunter2@{}", proxy.address)), None));
    assert!(Query::of(&server).read_with(&registry).await.is_ok());
    let request = server.requests().pop().unwrap();
    assert!(request.target.starts_with("/api/v1/query"), "{}", request.target);
    assert_eq!(request.header("proxy-authorization"), None);
    assert_eq!(proxy.connections(), 0);
}

#[tokio::test]
async fn tls_goes_through_a_tunnel() {
    let ca = new_ca();
    let identity = signed_by(&ca, "prometheus.example");
    let server = Server::tls(identity.server(), |_| Reply::value("4")).await;
    let proxy = Tunnels::to(server.address, "HTTP/1.1 200 Connection established\r\n\r\n").await;
    let settings = through(None, Some(&format!("user:hunter2@{}", proxy.address)));
    let registry = registry_with(Settings { extra_roots: vec![ca.der().clone()], ..settings });
    let query = Query::at("https://prometheus.example");
    for _ in 0..2 {
        assert_eq!(query.read_with(&registry).await, Ok(known(4.0, Activity::Active)));
    }
    let requests = proxy.requests();
    assert_eq!(requests.len(), 1, "a tunnel is kept as any connection is");
    assert_eq!((requests[0].method.as_str(), requests[0].target.as_str()), ("CONNECT", "prometheus.example:443"));
    assert_eq!(requests[0].header("proxy-authorization"), Some("Basic dXNlcjpodW50ZXIy"));
    let inside = server.requests().pop().unwrap();
    assert!(inside.target.starts_with("/api/v1/query"), "{}", inside.target);
    assert_eq!(inside.header("proxy-authorization"), None, "the source does not get the credentials of the proxy");
}

#[tokio::test]
async fn the_proxy_itself_may_speak_tls() {
    let ca = new_ca();
    let proxy = Server::tls(signed_by(&ca, "127.0.0.1").server(), |_| Reply::value("5")).await;
    let settings = through(Some(&format!("https://{}", proxy.address)), None);
    let query = Query::at("http://prometheus.example");
    let trusting = registry_with(Settings { extra_roots: vec![ca.der().clone()], ..settings.clone() });
    assert_eq!(query.read_with(&trusting).await, Ok(known(5.0, Activity::Active)));
    let error = query.read_with(&registry_with(settings)).await.unwrap_err().to_string();
    assert!(error.contains("the proxy https://") && error.contains("is not trusted"), "{error}");
}

#[tokio::test]
async fn a_proxy_that_fails_is_named_without_its_password() {
    let unused_address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let rows = [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "answered CONNECT with status 407"),
        ("SSH-2.0-x\r\n\r\n", "does not speak HTTP"),
    ];
    for (answer, expected) in rows {
        let place = Server::plain(|_| Reply::status(200)).await;
        let proxy = Tunnels::to(place.address, answer).await;
        let registry = registry_with(through(None, Some(&format!("u:hunter2@{}", proxy.address))));
        let error = Query::at("https://prometheus.example").read_with(&registry).await.unwrap_err();
        assert_eq!(error.reason(), "SourceUnreachable");
        let text = error.to_string();
        assert!(text.contains(expected) && text.contains(&proxy.address.to_string()), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    let registry = registry_with(through(Some(&format!("u:hunter2@{unused_address}")), None));
    let error = Query::at("http://prometheus.example").read_with(&registry).await.unwrap_err().to_string();
    let expected = format!("the proxy http://{unused_address} cannot be reached: Connection refused");
    assert!(error.contains(&expected) && !error.contains("hunter2"), "{error}");
}
