//! Requests to the dashboard of a pod: over a port that the API server forwards, with TLS inside, and with the user's credentials.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use anyhow::anyhow;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::{Body, ConfigExt};
use tokio::io::DuplexStream;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceBuilder, ServiceExt};

use super::leader::Leader;

/// The name of the server in URLs. It is looked up nowhere.
pub(super) const HOST: &str = "dashboard";

pub(super) struct Tunnel {
    service: BoxCloneSyncService<Request<Body>, Response<Incoming>, BoxError>,
}

impl Tunnel {
    pub(super) fn new(config: &kube::Config, leader: Leader) -> anyhow::Result<Self> {
        // The API server and the kubelet see to it that the other end is the pod, whose certificate is not made for a name that users know.
        let mut inner = config.clone();
        inner.accept_invalid_certs = true;
        let forwarded = tower::service_fn(move |_: http::Uri| {
            let leader = leader.clone();
            async move { forward(&leader).await.map_err(BoxError::from) }
        });
        let tls = HttpsConnectorBuilder::new().with_tls_config(inner.rustls_client_config()?);
        let connector = tls.https_only().enable_http1().wrap_connector(forwarded);
        let client = Client::builder(TokioExecutor::new()).build::<_, Body>(connector);
        let send = tower::service_fn(move |request| {
            let sent = client.request(request);
            async move { sent.await.map_err(BoxError::from) }
        });
        let service = ServiceBuilder::new().option_layer(config.auth_layer()?).service(send);
        Ok(Self { service: BoxCloneSyncService::new(service) })
    }

    pub(super) async fn send(&self, request: Request<Body>) -> anyhow::Result<Response<Incoming>> {
        self.service.clone().oneshot(request).await.map_err(|error| anyhow!(error))
    }
}

/// Opens a connection to the leader of the moment.
async fn forward(leader: &Leader) -> anyhow::Result<PodStream> {
    let pod = leader.find().await?;
    let mut forwarder = leader.pods.portforward(&pod.name, &[pod.port]).await?;
    let stream = forwarder.take_stream(pod.port).ok_or_else(|| anyhow!("the port was not forwarded"))?;
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
