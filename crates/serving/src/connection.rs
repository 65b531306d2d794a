//! One connection: the TLS handshake, then HTTP until either side closes it.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::connections::ConnectionGuard;
use crate::limits::Limits;
use crate::tls;

/// The interval of HTTP/2 pings on an idle connection, and the limit for their acknowledgement.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_LIMIT: Duration = Duration::from_secs(15);

/// Requests at once on one HTTP/2 connection.
const STREAMS_MAX: u32 = 100;

/// The certificate chain that a client presented, its own first; empty if it presented none.
pub type ClientChain = Arc<[CertificateDer<'static>]>;

/// Handles requests. Every async function from a [`ClientChain`] and a request to a response is a handler.
pub trait Handler: Clone + Send + 'static {
    type Body: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    fn handle(
        &self,
        chain: ClientChain,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Self::Body>> + Send;
}

impl<F, A, B> Handler for F
where
    F: Fn(ClientChain, Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response<B>> + Send,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type Body = B;

    fn handle(&self, chain: ClientChain, request: Request<Incoming>) -> impl Future<Output = Response<B>> + Send {
        self(chain, request)
    }
}

/// What every connection needs.
#[derive(Clone)]
pub(crate) struct ConnectionContext<H> {
    /// None where there is no TLS.
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) handler: H,
    pub(crate) limits: Limits,
    /// Changes when the server stops.
    pub(crate) stopping: watch::Receiver<()>,
}

impl<H: Handler> ConnectionContext<H> {
    pub(crate) async fn serve_connection(self, open: Arc<ConnectionGuard>, stream: TcpStream, peer: SocketAddr) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%peer, %error, "connection lost");
            return;
        }
        let Some(acceptor) = self.tls.clone() else {
            return self.serve_http(open, stream, None, ClientChain::default(), peer).await;
        };
        let mut stopping = self.stopping.clone();
        // A connection without a request may be closed at any time.
        let stream = tokio::select! {
            biased;
            _ = stopping.changed() => return,
            () = open.closed() => return,
            stream = accept_tls(&acceptor, stream, peer, self.limits.handshake_limit) => stream,
        };
        let Some(stream) = stream else { return };
        let session = stream.get_ref().1;
        let protocol = session.alpn_protocol().map(<[u8]>::to_vec);
        let chain: ClientChain = session.peer_certificates().unwrap_or_default().into();
        self.serve_http(open, stream, protocol.as_deref(), chain, peer).await;
    }

    async fn serve_http<S>(
        mut self,
        open: Arc<ConnectionGuard>,
        stream: S,
        protocol: Option<&[u8]>,
        chain: ClientChain,
        peer: SocketAddr,
    ) where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let builder = http(protocol, self.limits.header_read_limit);
        let (handler, connection) = (self.handler.clone(), open.clone());
        let service = service_fn(move |request| {
            let (handler, chain, under_way) = (handler.clone(), chain.clone(), connection.begin_request());
            async move {
                let response = handler.handle(chain, request).await;
                drop(under_way);
                Ok::<_, Infallible>(response)
            }
        });
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let ended = tokio::select! {
            biased;
            _ = self.stopping.changed() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            () = open.closed() => return,
            () = open.idle_for(self.limits.idle_limit) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            ended = connection.as_mut() => ended,
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, error, "connection failed");
        }
    }
}

async fn accept_tls(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    limit: Duration,
) -> Option<TlsStream<TcpStream>> {
    match timeout(limit, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%peer, %error, "TLS handshake failed");
            None
        }
        Err(_) => {
            tracing::debug!(%peer, ?limit, "TLS handshake timed out");
            None
        }
    }
}

/// Serves the protocol that ALPN negotiated. Detection from the first bytes would wait for them without a limit.
fn http(protocol: Option<&[u8]>, header_read_limit: Duration) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(header_read_limit);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_LIMIT)
        .max_concurrent_streams(STREAMS_MAX);
    if protocol == Some(tls::HTTP_2) { builder.http2_only() } else { builder.http1_only() }
}
