//! A small server that answers as healthy and unhealthy sources do, and records its requests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// What the server does with a request.
pub(crate) enum Reply {
    /// Sends these bytes and waits for the next request.
    Send(Vec<u8>),
    /// Sends these bytes and closes.
    SendAndClose(Vec<u8>),
}

impl Reply {
    pub(crate) fn status(code: u16) -> Self {
        Self::Send(format!("HTTP/1.1 {code} Status\r\ncontent-length: 4\r\n\r\nbody").into_bytes())
    }

    pub(crate) fn redirect(location: &str) -> Self {
        Self::Send(format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n").into_bytes())
    }

    pub(crate) fn body(body: &str) -> Self {
        Self::Send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes())
    }

    /// A vector of one sample, as Prometheus gives it.
    pub(crate) fn value(value: &str) -> Self {
        Self::body(&format!(r#"{{"status":"success","data":{{"result":[{{"metric":{{}},"value":[1,"{value}"]}}]}}}}"#))
    }
}

/// A request as it came: the request line, the headers, in lower case where they are names, and the body.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) client_certificate: Option<Vec<u8>>,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    received: Arc<Received>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Received {
    connections: AtomicUsize,
    requests: Mutex<Vec<ReceivedRequest>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn plain(script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(None, script).await
    }

    pub(crate) async fn tls(
        config: rustls::ServerConfig,
        script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start(Some(TlsAcceptor::from(Arc::new(config))), script).await
    }

    async fn start(
        tls: Option<TlsAcceptor>,
        script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (received, script) = (Arc::new(Received::default()), Arc::new(script));
        let shared = Arc::clone(&received);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let (tls, script, received) = (tls.clone(), Arc::clone(&script), Arc::clone(&shared));
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, None, &*script, &received).await,
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else { return };
                            let certificates = stream.get_ref().1.peer_certificates();
                            let client = certificates.and_then(|chain| Some(chain.first()?.to_vec()));
                            serve(stream, client, &*script, &received).await;
                        }
                    }
                });
            }
        });
        Self { address, received, task }
    }

    pub(crate) fn connections(&self) -> usize {
        self.received.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.received.requests.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    client_certificate: Option<Vec<u8>>,
    script: &(dyn Fn(&ReceivedRequest) -> Reply + Send + Sync),
    received: &Received,
) {
    while let Some(request) = read_request(&mut stream, client_certificate.clone()).await {
        received.requests.lock().unwrap().push(request.clone());
        let (bytes, stays_open) = match script(&request) {
            Reply::Send(bytes) => (bytes, true),
            Reply::SendAndClose(bytes) => (bytes, false),
        };
        if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() || !stays_open {
            let _ = stream.shutdown().await;
            return;
        }
    }
}

/// The next request, or nothing if the client went away.
pub(crate) async fn read_request(
    stream: &mut (impl AsyncRead + Unpin),
    client_certificate: Option<Vec<u8>>,
) -> Option<ReceivedRequest> {
    let head = read_head(stream).await?;
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let mut request = ReceivedRequest { method, target, headers, body: String::new(), client_certificate };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    request.body = String::from_utf8(body).unwrap();
    Some(request)
}

/// The bytes up to the blank line, or nothing if the client went away.
async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}
