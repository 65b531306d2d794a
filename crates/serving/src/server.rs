//! Accepts connections up to a limit, and drains them at shutdown. `connection` serves each of them.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::connection::{ConnectionContext, Handler};
use crate::connections::{AllBusy, ConnectionGuard, Connections};
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
    let open = Arc::<Connections>::default();
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    {
        // It may hold a connection that waits for a place.
        let mut accepting = pin!(accept(&listener, &open, &limits));
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(ended) = connections.join_next() => report(ended),
                (connection, stream, peer) = &mut accepting => {
                    connections.spawn(context.clone().serve_connection(connection, stream, peer));
                    accepting.set(accept(&listener, &open, &limits));
                }
            }
        }
    }
    drop(listener);
    drop(stop);
    Ok(drain(connections, limits.drain_limit).await)
}

/// The next connection, once the limits allow it.
async fn accept(
    listener: &TcpListener,
    open: &Arc<Connections>,
    limits: &Limits,
) -> (Arc<ConnectionGuard>, TcpStream, SocketAddr) {
    loop {
        open.wait_for_place(limits).await;
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        loop {
            match open.add(peer.ip(), limits) {
                Ok(connection) => return (connection, stream, peer),
                Err(AllBusy::OfServer) => open.wait_for_place(limits).await,
                Err(AllBusy::OfAddress) => {
                    tracing::debug!(%peer, "connection refused: all connections of its address are busy");
                    break;
                }
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
