//! A connection that may go silent: nothing arrives any more, what is sent vanishes, and neither end learns of it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Whether connections are frozen. Clones share their state.
#[derive(Clone, Debug, Default)]
pub(super) struct Frozen(Arc<AtomicBool>);

impl Frozen {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub(super) struct Freezable<S> {
    stream: S,
    frozen: Frozen,
}

impl<S> Freezable<S> {
    pub(super) fn new(stream: S, frozen: Frozen) -> Self {
        Self { stream, frozen }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Freezable<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.frozen.is_set() { Poll::Pending } else { Pin::new(&mut self.stream).poll_read(cx, buffer) }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Freezable<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if self.frozen.is_set() { Poll::Ready(Ok(data.len())) } else { Pin::new(&mut self.stream).poll_write(cx, data) }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.frozen.is_set() { Poll::Ready(Ok(())) } else { Pin::new(&mut self.stream).poll_flush(cx) }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.frozen.is_set() { Poll::Ready(Ok(())) } else { Pin::new(&mut self.stream).poll_shutdown(cx) }
    }
}
