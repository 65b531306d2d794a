//! An HTTP server that records every request, with its body, and gives the same answer to all.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How long the rest of a request may take.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The server. It ends when this value is dropped.
#[derive(Debug)]
pub struct RecordingServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    server: JoinHandle<()>,
}

impl RecordingServer {
    /// Starts on a free port of an address of the loopback network.
    pub async fn start(ip: &str, answer: String) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((ip, 0)).await?;
        let address = listener.local_addr()?;
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let recorded = requests.clone();
        let server = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let (recorded, answer) = (recorded.clone(), answer.clone());
                tokio::spawn(async move { serve(connection, &recorded, &answer).await });
            }
        });
        Ok(Self { address, requests, server })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What was received: one text for each connection, even if it holds no request.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no holder of the lock panics").clone()
    }
}

impl Drop for RecordingServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(mut connection: TcpStream, recorded: &Mutex<Vec<String>>, answer: &str) {
    let mut text = Vec::new();
    while !is_complete(&text) {
        match tokio::time::timeout(PAUSE_MAX, connection.read_buf(&mut text)).await {
            Ok(Ok(1..)) => {}
            _ => break,
        }
    }
    recorded.lock().expect("no holder of the lock panics").push(String::from_utf8_lossy(&text).into_owned());
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", answer.len());
    // A client that closes the connection early loses its answer.
    let _ = connection.write_all(format!("{head}{answer}").as_bytes()).await;
}

fn is_complete(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let lengths = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = lengths.filter_map(|(_, value)| value.trim().parse().ok()).next().unwrap_or(0);
    body.len() >= length
}
