//! For tests: servers in memory that send what a real server once sent, whole or damaged.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::DateTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::error::ReadError;
use crate::http::Settings;
use crate::http::connector::{BoxStream, Connector};
use crate::sample::Sample;
use crate::scaler::{BoxFuture, Known};
use crate::{NoCluster, Registry};

/// The length of the first request in some bytes, once it is whole.
pub(crate) type RequestLength = fn(&[u8]) -> Option<usize>;

/// What a server sends on each connection.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    request_length: RequestLength,
    greeting: Vec<u8>,
    /// To the first requests.
    sign_in: Vec<Vec<u8>>,
    /// To those that follow, again and again.
    exchange: Vec<Vec<u8>>,
    /// Bytes that give another value when they are changed.
    value_bytes: Vec<Vec<u8>>,
}

/// What happens to all that a server sends on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    None,
    /// The connection is closed after so many bytes.
    Cut(usize),
    /// Nothing comes after so many bytes.
    Hang(usize),
    /// One byte is combined with a mask by exclusive or.
    Change(usize, u8),
}

impl Recording {
    /// A server that answers requests with these bytes, in turn. All that arrives at once is a request.
    pub(crate) fn new(exchange: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        Self {
            request_length: |bytes| Some(bytes.len()),
            greeting: Vec::new(),
            sign_in: Vec::new(),
            exchange: exchange.into_iter().map(|answer| answer.as_ref().to_vec()).collect(),
            value_bytes: Vec::new(),
        }
    }

    /// An HTTP server that answers with these bodies, as JSON.
    pub(crate) fn http(bodies: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let answers = bodies.into_iter().map(|body| http_answer("200 OK", body.as_ref()));
        Self::new(answers).requests(http_request_length)
    }

    pub(crate) fn requests(mut self, request_length: RequestLength) -> Self {
        self.request_length = request_length;
        self
    }

    pub(crate) fn greeting(mut self, greeting: &[u8]) -> Self {
        self.greeting = greeting.to_vec();
        self
    }

    pub(crate) fn sign_in(mut self, answers: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        self.sign_in = answers.into_iter().map(|answer| answer.as_ref().to_vec()).collect();
        self
    }

    pub(crate) fn value_bytes(mut self, bytes: &[u8]) -> Self {
        self.value_bytes.push(bytes.to_vec());
        self
    }

    /// All that is sent on one connection before the exchange begins again.
    fn bytes(&self) -> Vec<u8> {
        [self.greeting.clone(), self.sign_in.concat(), self.exchange.concat()].concat()
    }

    /// Whether the byte there is part of the value.
    fn is_of_value(&self, position: usize) -> bool {
        let bytes = self.bytes();
        self.value_bytes.iter().any(|value| {
            let mut starts = (0..bytes.len()).filter(|start| bytes[*start..].starts_with(value));
            starts.any(|start| (start..start + value.len()).contains(&position))
        })
    }

    /// A registry for which every host is this server, and the number of connections that were opened.
    pub(crate) fn registry(&self, damage: Damage) -> (Registry, Arc<AtomicUsize>) {
        let opened = Arc::new(AtomicUsize::new(0));
        let (counted, recording) = (Arc::clone(&opened), self.clone());
        let connector = Connector::new(move |_: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            counted.fetch_add(1, Ordering::Relaxed);
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            tokio::spawn(serve(theirs, recording.clone(), damage));
            Box::pin(async { Ok(Box::new(ours) as BoxStream) })
        });
        (Registry::new(Settings::default(), connector, Arc::new(NoCluster)), opened)
    }

    /// One reading of a trigger whose server is this one.
    pub(crate) async fn read(&self, sample: &Sample, damage: Damage) -> Result<Known, ReadError> {
        let (registry, _) = self.registry(damage);
        let scaler = registry.build(&sample.trigger()).unwrap_or_else(|error| panic!("{error}"));
        scaler.read("", DateTime::UNIX_EPOCH).await
    }

    /// Reads the recording whole, cut and hung after every byte, and with every byte changed: only the whole is a reading. A
    /// changed byte that is not of the value may also leave the value as it is.
    pub(crate) async fn assert_no_outage_is_a_number(&self, sample: &Sample, value: f64) {
        let whole = self.read(sample, Damage::None).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(whole.values, [value]);
        let bytes = self.bytes();
        for at in 0..bytes.len() {
            let cut = self.read(sample, Damage::Cut(at)).await;
            assert!(cut.is_err(), "cut after {at} bytes, {:?}: {cut:?}", String::from_utf8_lossy(&bytes[..at]));
            let hung = self.read(sample, Damage::Hang(at)).await.map_err(|error| error.reason());
            assert_eq!(hung, Err("SourceTimeout"), "hung after {at} bytes");
            for mask in [0x01, 0x02, 0x10, 0x20, 0x80, 0xff] {
                let changed = self.read(sample, Damage::Change(at, mask)).await.map(|known| known.values);
                let is_harmless = changed.as_ref().map_or(true, |values| *values == [value] || self.is_of_value(at));
                assert!(
                    is_harmless,
                    "byte {at} of {:?} changed by {mask:#x}: {changed:?}",
                    String::from_utf8_lossy(&bytes)
                );
            }
        }
    }
}

/// An answer of an HTTP server.
pub(crate) fn http_answer(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn http_request_length(bytes: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    let head = text.find("\r\n\r\n")? + 4;
    let length =
        text[..head].lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    Some(head + length.unwrap_or(0_usize)).filter(|whole| bytes.len() >= *whole)
}

async fn serve(mut stream: DuplexStream, recording: Recording, damage: Damage) {
    let mut sent = 0;
    if send(&mut stream, &recording.greeting, damage, &mut sent).await.is_err() {
        return;
    }
    let (mut received, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    let mut answers = recording.sign_in.iter().chain(recording.exchange.iter().cycle());
    loop {
        while let Some(length) =
            Some(&received).filter(|bytes| !bytes.is_empty()).and_then(|bytes| (recording.request_length)(bytes))
        {
            received.drain(..length);
            let Some(answer) = answers.next() else { return };
            if send(&mut stream, answer, damage, &mut sent).await.is_err() {
                return;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(read @ 1..) => received.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
}

/// Sends an answer as the damage lets it. An error ends the connection.
async fn send(stream: &mut DuplexStream, answer: &[u8], damage: Damage, sent: &mut usize) -> io::Result<()> {
    let (start, end) = (*sent, *sent + answer.len());
    *sent = end;
    let mut bytes = answer.to_vec();
    match damage {
        Damage::Cut(at) if at < end => {
            stream.write_all(&bytes[..at.saturating_sub(start)]).await?;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Damage::Hang(at) if at < end => bytes.truncate(at.saturating_sub(start)),
        Damage::Change(at, mask) if (start..end).contains(&at) => bytes[at - start] ^= mask,
        _ => {}
    }
    stream.write_all(&bytes).await
}
