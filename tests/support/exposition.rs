//! A metrics endpoint whose values a test sets, for a Prometheus to scrape.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A server of gauges. It ends when this value is dropped.
#[derive(Debug)]
pub struct Exposition {
    address: SocketAddr,
    gauges: Arc<Mutex<BTreeMap<String, f64>>>,
    server: JoinHandle<()>,
}

impl Exposition {
    /// Starts on a free port of the loopback address.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(String::new()).await
    }

    /// Starts with this text beside the gauges.
    pub async fn start_with(text: String) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let gauges = Arc::<Mutex<BTreeMap<String, f64>>>::default();
        let shown = gauges.clone();
        let server = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                // A scraper that closes its connection early loses its response.
                let _ = answer(connection, &(text.clone() + &render(&shown))).await;
            }
        });
        Ok(Self { address, gauges, server })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets a gauge to a value from now on.
    pub fn set(&self, gauge: &str, value: f64) {
        self.gauges.lock().expect("no holder of the lock panics").insert(gauge.to_owned(), value);
    }
}

impl Drop for Exposition {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn render(gauges: &Mutex<BTreeMap<String, f64>>) -> String {
    let mut text = String::new();
    for (gauge, value) in gauges.lock().expect("no holder of the lock panics").iter() {
        let _ = writeln!(text, "# TYPE {gauge} gauge\n{gauge} {value}");
    }
    text
}

async fn answer(mut connection: TcpStream, text: &str) -> std::io::Result<()> {
    // One small request per connection; its path does not matter.
    let mut request = [0; 4096];
    let _ = connection.read(&mut request).await?;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\nconnection: close";
    connection.write_all(format!("{head}\r\ncontent-length: {}\r\n\r\n{text}", text.len()).as_bytes()).await?;
    connection.shutdown().await
}
