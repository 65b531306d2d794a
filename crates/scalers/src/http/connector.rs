//! The one way out: every connection of every scaler is made by a [`Connector`], so that a process in virtual time can
//! bring its own network.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
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

/// A shared way to open connections.
#[derive(Clone)]
pub struct Connector(Arc<dyn Connect>);

impl Connector {
    pub fn new(connect: impl Connect + 'static) -> Self {
        Self(Arc::new(connect))
    }

    /// Real sockets: names are looked up for each new connection, and IPv4 and IPv6 race.
    pub fn tcp() -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        Self::new(Tcp(tcp))
    }

    pub fn connect(&self, uri: Uri) -> BoxFuture<'static, io::Result<BoxStream>> {
        self.0.connect(uri)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

struct Tcp(HttpConnector);

impl Connect for Tcp {
    fn connect(&self, uri: Uri) -> BoxFuture<'static, io::Result<BoxStream>> {
        let mut connector = self.0.clone();
        Box::pin(async move {
            let stream = connector.call(uri).await.map_err(io::Error::other)?;
            Ok(Box::new(stream.into_inner()) as BoxStream)
        })
    }
}

/// A [`Connector`] as hyper takes it.
impl Service<Uri> for Connector {
    type Response = TokioIo<Conduit>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<TokioIo<Conduit>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.connect(uri);
        Box::pin(async move { Ok(TokioIo::new(Conduit::straight(connecting.await?))) })
    }
}

/// A stream, and what hyper must know of it.
pub struct Conduit {
    stream: BoxStream,
    end: End,
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Source,
    /// A proxy, which wants to be told in every request whom it is for.
    Proxy,
}

impl Conduit {
    pub(crate) fn straight(stream: BoxStream) -> Self {
        Self { stream, end: End::Source }
    }

    pub(super) fn to_proxy(stream: BoxStream) -> Self {
        Self { stream, end: End::Proxy }
    }
}

impl fmt::Debug for Conduit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Conduit")
    }
}

impl Connection for Conduit {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.end == End::Proxy)
    }
}

impl AsyncRead for Conduit {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Conduit {
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
