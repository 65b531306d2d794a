//! Single requests over plain HTTP, to processes on this machine.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The response to a GET, with its head.
pub async fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    send(address, &format!("GET {path} HTTP/1.0\r\nhost: {address}\r\n\r\n")).await
}

/// The response to a POST with these headers, with its head.
pub async fn post(address: SocketAddr, path: &str, headers: &[(&str, &str)], body: &str) -> std::io::Result<String> {
    request(address, "POST", path, headers, body).await
}

/// The response to a request with these headers, with its head.
pub async fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> std::io::Result<String> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    send(
        address,
        &format!("{method} {path} HTTP/1.0\r\nhost: {address}\r\ncontent-length: {length}\r\n{headers}\r\n{body}"),
    )
    .await
}

/// HTTP/1.0 has no chunks, and its response ends with the connection.
async fn send(address: SocketAddr, request: &str) -> std::io::Result<String> {
    let mut connection = TcpStream::connect(address).await?;
    connection.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    connection.read_to_string(&mut response).await?;
    Ok(response)
}

/// Whether a response, with its head, has the status 200.
pub fn is_ok(response: &str) -> bool {
    response.split_whitespace().nth(1) == Some("200")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_in_the_first_line() {
        assert!(is_ok("HTTP/1.0 200 OK\r\n\r\n") && is_ok("HTTP/1.1 200 OK\r\n\r\n"));
        assert!(!is_ok("HTTP/1.1 503 Service Unavailable\r\n\r\n200") && !is_ok(""));
    }
}
