//! Requests to the dashboard of a pod: over a port that the API server forwards, with TLS inside, and with the user's credentials.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use http::header::ACCEPT;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::client::{Body, ConfigExt};
use tokio::io::DuplexStream;
use tokio::sync::Mutex;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceBuilder, ServiceExt};

use super::leader::{DashboardPod, Leader};

/// How long a pod counts as the leader's without another look at the Lease.
const LEADER_KNOWN_FOR: Duration = Duration::from_secs(5);

pub(super) struct Tunnel {
    leader: Leader,
    /// The pod that was found last, and when.
    found: Mutex<Option<(Instant, DashboardPod)>>,
    service: BoxCloneSyncService<Request<Body>, Response<Incoming>, BoxError>,
}

impl Tunnel {
    pub(super) fn new(config: &kube::Config, leader: Leader) -> anyhow::Result<Self> {
        anyhow::ensure!(
            config.auth_info.impersonate.is_none(),
            "the kubeconfig impersonates a user, which a dashboard cannot know; use one with the user's own credentials"
        );
        // The API server and the kubelet see to it that the other end is the pod, whose certificate is not made for a name that users know.
        let mut inner = config.clone();
        inner.accept_invalid_certs = true;
        let pods = leader.pods.clone();
        let forwarded = tower::service_fn(move |uri: http::Uri| {
            let pods = pods.clone();
            async move { forward(&pods, &uri).await.map_err(BoxError::from) }
        });
        let tls = HttpsConnectorBuilder::new().with_tls_config(inner.rustls_client_config()?);
        let connector = tls.https_only().enable_http1().wrap_connector(forwarded);
        let client = Client::builder(TokioExecutor::new()).build::<_, Body>(connector);
        let send = tower::service_fn(move |request| {
            let sent = client.request(request);
            async move { sent.await.map_err(BoxError::from) }
        });
        let service = ServiceBuilder::new().option_layer(config.auth_layer()?).service(send);
        Ok(Self { leader, found: Mutex::default(), service: BoxCloneSyncService::new(service) })
    }

    /// The answer of the present leader. Connections are kept for each pod apart.
    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Response<Incoming>> {
        let pod = self.pod().await?;
        let uri = format!("https://{}:{}{path}", pod.name, pod.port);
        let request = Request::get(uri).header(ACCEPT, "*/*").body(Body::empty())?;
        let answer = self.service.clone().oneshot(request).await.map_err(|error| anyhow!(error));
        if answer.is_err() {
            *self.found.lock().await = None;
        }
        answer
    }

    async fn pod(&self) -> anyhow::Result<DashboardPod> {
        let mut found = self.found.lock().await;
        if let Some((_, pod)) = found.as_ref().filter(|(at, _)| at.elapsed() < LEADER_KNOWN_FOR) {
            return Ok(pod.clone());
        }
        let pod = self.leader.find().await?;
        *found = Some((Instant::now(), pod.clone()));
        Ok(pod)
    }
}

/// Opens a connection to the pod and the port that a URI names.
async fn forward(pods: &Api<Pod>, uri: &http::Uri) -> anyhow::Result<PodStream> {
    let (name, port) = uri.host().zip(uri.port_u16()).ok_or_else(|| anyhow!("no pod is named"))?;
    let mut forwarder = pods.portforward(name, &[port]).await?;
    let stream = forwarder.take_stream(port).ok_or_else(|| anyhow!("the port was not forwarded"))?;
    Ok(PodStream(TokioIo::new(stream)))
}

/// A forwarded port.
struct PodStream(TokioIo<DuplexStream>);

impl Connection for PodStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for PodStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl Write for PodStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
