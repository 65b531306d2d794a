//! One request in plain HTTP, for probes and metrics.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What is answered, head and all. Over HTTP/1.0, so that an answer is whole and ends with the connection.
pub(crate) async fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut connection = TcpStream::connect(address).await?;
    connection.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    Ok(answer)
}
