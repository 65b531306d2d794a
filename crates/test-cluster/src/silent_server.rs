//! A server that accepts connections and never responds.

use std::net::SocketAddr;

use tokio::net::TcpListener;

/// Starts it on a free port of the loopback address, until the runtime ends.
pub async fn start() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let mut connections = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            connections.push(connection);
        }
    });
    Ok(address)
}
