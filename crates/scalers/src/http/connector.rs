//! Every connection of every scaler is opened by a [`Connector`], so that a process in virtual time can supply its own
//! network, and so that no connection escapes the outbound policy. `HyperConnector` makes connectors usable by hyper's clients.

mod tcp;

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use kedge_core::outbound_policy::{Denial, OutboundPolicy};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower_service::Service;

use crate::scaler::BoxFuture;

/// A connection's bytes, both ways.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub type BoxStream = Box<dyn Stream>;

/// Opens connections to the host and port of a URI; TLS is spoken on top by the caller.
pub trait Connect: Send + Sync {
    fn connect(&self, uri: Uri) -> BoxFuture<'static, io::Result<BoxStream>>;
}

impl<F> Connect for F
where
    F: Fn(Uri) -> BoxFuture<'static, io::Result<BoxStream>> + Send + Sync,
{
    fn connect(&self, uri: Uri) -> BoxFuture<'static, io::Result<BoxStream>> {
        self(uri)
    }
}

/// A shared way to open connections, within the outbound policy.
#[derive(Clone)]
pub struct Connector {
    network: Network,
    policy: Arc<OutboundPolicy>,
}

#[derive(Clone)]
enum Network {
    Tcp,
    Custom(Arc<dyn Connect>),
}

impl Connector {
    /// A network of the caller's.
    pub fn new(connect: impl Connect + 'static) -> Self {
        Self { network: Network::Custom(Arc::new(connect)), policy: Arc::default() }
    }

    /// Real sockets: names are looked up for each new connection, and IPv4 and IPv6 race.
    pub fn tcp() -> Self {
        Self { network: Network::Tcp, policy: Arc::default() }
    }

    /// The same network with a policy.
    #[must_use]
    pub fn with_policy(self, policy: Arc<OutboundPolicy>) -> Self {
        Self { policy, ..self }
    }

    /// The same network without a policy, for addresses that no tenant chooses: proxies, and services of this machine.
    pub(crate) fn unrestricted(self) -> Self {
        self.with_policy(Arc::new(OutboundPolicy::unrestricted()))
    }

    pub async fn connect(self, uri: Uri) -> io::Result<BoxStream> {
        self.policy.check_host(uri.host().unwrap_or_default()).map_err(denied)?;
        match self.network {
            Network::Tcp => tcp::connect(uri, self.policy).await,
            Network::Custom(connect) => connect.connect(uri).await,
        }
    }

    /// Whether a proxy may connect to the host of a URI.
    pub(super) fn check_proxied(&self, uri: &Uri) -> io::Result<()> {
        self.policy.check_proxied(uri.host().unwrap_or_default()).map_err(denied)
    }
}

/// The error of a connection that the policy denies.
fn denied(denial: Denial) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, denial)
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

/// Opens the connections of one kind of client.
pub(crate) trait OpenStream: Clone + Send + 'static {
    fn open(self, uri: Uri) -> impl Future<Output = io::Result<HttpStream>> + Send + 'static;
}

impl OpenStream for Connector {
    async fn open(self, uri: Uri) -> io::Result<HttpStream> {
        Ok(HttpStream::direct(self.connect(uri).await?))
    }
}

/// The service that hyper's clients take, over any [`OpenStream`].
#[derive(Clone, Debug)]
pub(crate) struct HyperConnector<C>(pub(crate) C);

impl<C: OpenStream> Service<Uri> for HyperConnector<C> {
    type Response = TokioIo<HttpStream>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<TokioIo<HttpStream>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let opening = self.0.clone().open(uri);
        Box::pin(async move { Ok(TokioIo::new(opening.await?)) })
    }
}

/// A stream, and what hyper must know of it.
pub(crate) struct HttpStream {
    stream: BoxStream,
    peer: Peer,
}

/// The server at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    Source,
    /// A proxy, which needs the absolute URL in every request.
    Proxy,
}

impl HttpStream {
    pub(crate) fn direct(stream: BoxStream) -> Self {
        Self { stream, peer: Peer::Source }
    }

    pub(super) fn to_proxy(stream: BoxStream) -> Self {
        Self { stream, peer: Peer::Proxy }
    }
}

impl fmt::Debug for HttpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpStream")
    }
}

impl Connection for HttpStream {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.peer == Peer::Proxy)
    }
}

impl AsyncRead for HttpStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for HttpStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }
}
