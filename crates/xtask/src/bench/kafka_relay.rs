//! Stands before a Kafka broker, and counts the requests that clients send.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Forwards connections as long as this value lives.
pub(super) struct KafkaRelay {
    port: u16,
    requests: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

/// Where a request ends, in a stream of them: each begins with its length.
#[derive(Debug, Default)]
struct RequestCounter {
    length: Vec<u8>,
    /// How much of the request is still to come.
    left: usize,
}

/// A listener whose broker is not started yet, because the broker advertises its port.
pub(super) struct Unconnected {
    listener: TcpListener,
    pub(super) port: u16,
}

impl Unconnected {
    pub(super) async fn bind() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// Forwards every connection to the broker at this port.
    pub(super) fn connect(self, broker: u16) -> KafkaRelay {
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = requests.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = self.listener.accept().await {
                let counted = counted.clone();
                // A connection that ends with an error is one that ends.
                tokio::spawn(async move { forward(client, broker, &counted).await.ok() });
            }
        });
        KafkaRelay { port: self.port, requests, task }
    }
}

impl KafkaRelay {
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// How many requests there were since this was last called.
    pub(super) fn take_requests(&self) -> usize {
        self.requests.swap(0, Ordering::Relaxed)
    }
}

impl Drop for KafkaRelay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(client: TcpStream, broker: u16, requests: &AtomicUsize) -> io::Result<()> {
    let broker = TcpStream::connect((Ipv4Addr::LOCALHOST, broker)).await?;
    client.set_nodelay(true)?;
    broker.set_nodelay(true)?;
    let (from_client, mut to_client) = client.into_split();
    let (mut from_broker, to_broker) = broker.into_split();
    tokio::select! {
        result = forward_requests(from_client, to_broker, requests) => result,
        result = copy(&mut from_broker, &mut to_client) => result.map(drop),
    }
}

async fn forward_requests(
    mut client: OwnedReadHalf,
    mut broker: OwnedWriteHalf,
    requests: &AtomicUsize,
) -> io::Result<()> {
    let (mut buffer, mut counter) = (vec![0; 16 * 1024], RequestCounter::default());
    loop {
        let count = client.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        requests.fetch_add(counter.count(&buffer[..count]), Ordering::Relaxed);
        broker.write_all(&buffer[..count]).await?;
    }
}

impl RequestCounter {
    /// How many requests begin within these bytes, which continue those of before.
    fn count(&mut self, mut bytes: &[u8]) -> usize {
        let mut begun = 0;
        while !bytes.is_empty() {
            let skipped = self.left.min(bytes.len());
            self.left -= skipped;
            bytes = &bytes[skipped..];
            let taken = bytes.len().min(4 - self.length.len());
            self.length.extend(&bytes[..taken]);
            bytes = &bytes[taken..];
            if let Ok(length) = <[u8; 4]>::try_from(self.length.as_slice()) {
                self.left = u32::from_be_bytes(length) as usize;
                self.length.clear();
                begun += 1;
            }
        }
        begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_however_the_stream_is_cut() {
        let stream: Vec<u8> = [5_usize, 0, 300, 1]
            .into_iter()
            .flat_map(|length| [&u32::try_from(length).unwrap().to_be_bytes()[..], &vec![7; length]].concat())
            .collect();
        for size in 1..=stream.len() {
            let mut counter = RequestCounter::default();
            let counted: usize = stream.chunks(size).map(|chunk| counter.count(chunk)).sum();
            assert_eq!(counted, 4, "{size} bytes at a time");
        }
    }
}
