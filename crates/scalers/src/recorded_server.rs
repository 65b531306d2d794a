//! For tests: servers in memory that send what a real server once sent.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::DateTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::damaged::{Damage, MASKS, damaged, is_of_value};
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

    /// A registry for which every host is this server, and the number of connections that were opened.
    pub(crate) fn registry(&self, damage: Damage) -> (Registry, Arc<AtomicUsize>) {
        let opened = Arc::new(AtomicUsize::new(0));
        let (counted, recording) = (Arc::clone(&opened), self.clone());
        let connector = Connector::new(move |_: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            counted.fetch_add(1, Ordering::Relaxed);
            let stream = damaged(recording.open(), damage);
            Box::pin(async { Ok(stream) })
        });
        (Registry::new(Settings::default(), connector, Arc::new(NoCluster)), opened)
    }

    /// A network with these servers. Other hosts refuse connections.
    pub(crate) fn network(servers: &[(&'static str, Self)]) -> Connector {
        let servers = servers.to_vec();
        Connector::new(move |uri: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            let found = servers.iter().find(|(host, _)| uri.authority().is_some_and(|authority| authority == host));
            let opened = found.map(|(_, recording)| recording.open());
            Box::pin(async { opened.ok_or_else(|| io::ErrorKind::ConnectionRefused.into()) })
        })
    }

    /// A connection to the server.
    fn open(&self) -> BoxStream {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        tokio::spawn(serve(theirs, self.clone()));
        Box::new(ours)
    }

    /// One reading of a trigger whose server is this one.
    pub(crate) async fn read(&self, sample: &Sample, damage: Damage) -> Result<Known, ReadError> {
        let (registry, _) = self.registry(damage);
        let scaler = registry.build(&sample.trigger()).unwrap_or_else(|error| panic!("{error}"));
        scaler.read("", DateTime::UNIX_EPOCH).await
    }

    /// Reads the recording whole, and damaged from every byte on: only the whole is a reading. A changed byte that is not of the value
    /// may also leave the value as it is.
    pub(crate) async fn assert_no_outage_is_a_number(&self, sample: &Sample, value: f64) {
        let whole = self.read(sample, Damage::None).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(whole.values, [value]);
        let bytes = self.bytes();
        for damage in (0..bytes.len()).flat_map(|at| Damage::all(at, &MASKS)) {
            let outcome = self.read(sample, damage).await;
            let is_harmless = match (damage, &outcome) {
                (Damage::Hang(_), outcome) => outcome.as_ref().is_err_and(|error| error.reason() == "SourceTimeout"),
                (Damage::Change(at, _), Ok(known)) => {
                    known.values == [value] || is_of_value(&bytes, &self.value_bytes, at)
                }
                (_, outcome) => outcome.is_err(),
            };
            assert!(is_harmless, "{damage:?} in {:?}: {outcome:?}", String::from_utf8_lossy(&bytes));
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

/// Serves until the connection ends.
async fn serve(mut stream: DuplexStream, recording: Recording) {
    let mut answers = recording.sign_in.iter().chain(recording.exchange.iter().cycle());
    let (mut received, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    let mut answer = Some(&recording.greeting);
    while let Some(bytes) = answer {
        if stream.write_all(bytes).await.is_err() {
            return;
        }
        while !has_request(&received, recording.request_length) {
            match stream.read(&mut buffer).await {
                Ok(read @ 1..) => received.extend_from_slice(&buffer[..read]),
                _ => return,
            }
        }
        received.drain(..(recording.request_length)(&received).unwrap_or(received.len()));
        answer = answers.next();
    }
}

fn has_request(received: &[u8], request_length: RequestLength) -> bool {
    !received.is_empty() && request_length(received).is_some()
}
