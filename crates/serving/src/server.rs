//! Accepts connections up to a limit, and drains them at shutdown. `connection` serves each of them.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::connection::{ConnectionContext, Handler};
use crate::limits::Limits;
use crate::tls::{self, Security};

/// The pause after a failed accept: the likely cause is a temporary lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How the server stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Every request has its response.
    Drained,
    /// Some connections did not end in time and were cut off.
    CutOff { connections: usize },
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

/// Serves on a listening socket until `shutdown` is over. Then no connection is accepted any more, requests under way
/// are completed, and connections are closed.
pub async fn serve<H: Handler>(
    listener: TcpListener,
    security: Security,
    limits: Limits,
    handler: H,
    shutdown: impl Future<Output = ()>,
) -> Result<Stopped, ServeError> {
    let tls = match security {
        Security::Plain => None,
        Security::Tls(tls) => Some(TlsAcceptor::from(Arc::new(tls::server_config(tls)?))),
    };
    let (stop, stopping) = watch::channel(());
    let context = ConnectionContext { tls, handler, limits, stopping };
    let permits = Arc::new(Semaphore::new(limits.connections_max));
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(ended) = connections.join_next() => report(ended),
            (permit, stream, peer) = accept(&listener, &permits) => {
                connections.spawn(context.clone().serve_connection(permit, stream, peer));
            }
        }
    }
    drop(listener);
    drop(stop);
    Ok(drain(connections, limits.drain_limit).await)
}

/// The next connection, once the limit allows it.
async fn accept(listener: &TcpListener, permits: &Arc<Semaphore>) -> (OwnedSemaphorePermit, TcpStream, SocketAddr) {
    let permit = permits.clone().acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (permit, stream, peer),
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
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
    tracing::warn!(connections = left, "connections closed before their requests completed");
    Stopped::CutOff { connections: left }
}

/// A connection that panicked takes its own requests with it and no others.
fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "connection handler panicked");
    }
}
