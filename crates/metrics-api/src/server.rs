//! Connections: accepting them, TLS, HTTP, and letting them end. What is answered is `api`'s.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::api::Api;
use crate::authentication::Trust;
use crate::health::Readiness;
use crate::review::Reviewer;
use crate::settings::Settings;
use crate::source::MetricSource;
use crate::tls::{self, ServingCertificate};

/// A pause when no connection can be accepted: the likely cause is a lack of file descriptors, which takes a while to
/// pass.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often a silent HTTP/2 connection is asked whether it still lives, and how long it may take to say so.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_LIMIT: Duration = Duration::from_secs(15);

/// Requests at once on one HTTP/2 connection, as in Kubernetes' own servers.
const STREAMS_MAX: u32 = 250;

/// What the process gives the server to work with.
#[derive(Clone)]
pub struct Parts {
    pub source: Arc<dyn MetricSource>,
    pub reviewer: Arc<dyn Reviewer>,
    pub trust: Trust,
    pub certificate: ServingCertificate,
    pub readiness: Readiness,
}

impl fmt::Debug for Parts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// How the server ended once it was told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Every request was answered.
    Drained,
    /// Some connections did not end in time and were cut off.
    CutOff { connections: usize },
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

/// Serves the API on a listening socket until `shutdown` is over. Then no connection is accepted any more, requests
/// under way are answered, and connections are closed.
pub async fn serve(
    listener: TcpListener,
    settings: Settings,
    parts: Parts,
    shutdown: impl Future<Output = ()>,
) -> Result<Stopped, ServeError> {
    let config = tls::server_config(parts.certificate.clone(), settings.wall_clock.clone())?;
    let (stop, stopping) = watch::channel(());
    let host = Host {
        tls: TlsAcceptor::from(Arc::new(config)),
        api: Arc::new(Api::new(&settings, parts)),
        handshake_limit: settings.handshake_limit,
        header_read_limit: settings.header_read_limit,
        stopping,
    };
    let places = Arc::new(Semaphore::new(settings.connections_max));
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(ended) = connections.join_next() => report(ended),
            (place, stream, peer) = accept(&listener, &places) => {
                connections.spawn(host.clone().serve_connection(place, stream, peer));
            }
        }
    }
    drop(listener);
    host.api.mark_stopping();
    drop(stop);
    Ok(drain(connections, settings.drain_limit).await)
}

/// The next connection, once there is a place for it.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> (OwnedSemaphorePermit, TcpStream, SocketAddr) {
    let place = places.clone().acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (place, stream, peer),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn drain(mut connections: JoinSet<()>, limit: Duration) -> Stopped {
    let all = async {
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    };
    if timeout(limit, all).await.is_ok() {
        return Stopped::Drained;
    }
    let left = connections.len();
    connections.shutdown().await;
    tracing::warn!(connections = left, "connections were cut off");
    Stopped::CutOff { connections: left }
}

/// A connection that panicked takes its own requests with it and no others.
fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection ended by a panic");
    }
}

/// All that a connection needs.
#[derive(Clone)]
struct Host {
    tls: TlsAcceptor,
    api: Arc<Api>,
    handshake_limit: Duration,
    header_read_limit: Duration,
    /// Changes when the server stops.
    stopping: watch::Receiver<()>,
}

impl Host {
    async fn serve_connection(self, _place: OwnedSemaphorePermit, stream: TcpStream, peer: SocketAddr) {
        let mut stopping = self.stopping.clone();
        // A connection that nobody has asked anything on may end at any time.
        let stream = tokio::select! {
            biased;
            _ = stopping.changed() => return,
            stream = self.shake_hands(stream, peer) => stream,
        };
        if let Some(stream) = stream {
            self.serve_http(stream, peer).await;
        }
    }

    async fn shake_hands(&self, stream: TcpStream, peer: SocketAddr) -> Option<TlsStream<TcpStream>> {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%peer, %error, "a connection was lost");
            return None;
        }
        match timeout(self.handshake_limit, self.tls.accept(stream)).await {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                tracing::debug!(%peer, %error, "a handshake failed");
                None
            }
            Err(_) => {
                tracing::debug!(%peer, limit = ?self.handshake_limit, "a handshake took too long");
                None
            }
        }
    }

    async fn serve_http(mut self, stream: TlsStream<TcpStream>, peer: SocketAddr) {
        let session = stream.get_ref().1;
        let builder = self.http(session.alpn_protocol());
        let chain: Arc<[CertificateDer<'static>]> = session.peer_certificates().unwrap_or_default().into();
        let api = self.api.clone();
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let (api, chain) = (api.clone(), chain.clone());
            async move { Ok::<_, Infallible>(api.answer(&chain, &request.into_parts().0).await) }
        });
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let ended = tokio::select! {
            biased;
            _ = self.stopping.changed() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            ended = connection.as_mut() => ended,
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, error, "a connection broke");
        }
    }

    /// Speaks what the handshake agreed on. Guessing from the first bytes would wait for them without a limit.
    fn http(&self, protocol: Option<&[u8]>) -> auto::Builder<TokioExecutor> {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(self.header_read_limit);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_LIMIT)
            .max_concurrent_streams(STREAMS_MAX);
        if protocol == Some(tls::HTTP_2) { builder.http2_only() } else { builder.http1_only() }
    }
}
