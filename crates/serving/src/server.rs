//! Connections: accepting them up to a limit, and letting them end. What happens on one is `connection`'s.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::connection::{Handler, Host};
use crate::limits::Limits;
use crate::tls::{self, Security};

/// A pause when no connection can be accepted: the likely cause is a lack of file descriptors, which takes a while to
/// pass.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

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

/// Serves on a listening socket until `shutdown` is over. Then no connection is accepted any more, requests under way
/// are answered, and connections are closed.
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
    let host = Host { tls, handler, limits, stopping };
    let places = Arc::new(Semaphore::new(limits.connections_max));
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
    drop(stop);
    Ok(drain(connections, limits.drain_limit).await)
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
