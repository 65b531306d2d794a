//! For tests: networks in memory on which what one host sends arrives damaged, and the rule that no outage is a number.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use chrono::DateTime;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::ReadError;
use crate::http::Settings;
use crate::http::connector::{BoxStream, Connector};
use crate::sample::Sample;
use crate::scaler::{BoxFuture, Known};
use crate::{NoCluster, Registry};

/// What happens to all that a server sends on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    None,
    /// The connection is closed after so many bytes, once there would be more.
    Cut(usize),
    /// The same, with an error.
    Reset(usize),
    /// Nothing comes after so many bytes.
    Hang(usize),
    /// One byte is combined with a mask by exclusive or.
    Change(usize, u8),
}

/// They change digits, letters and lengths in different ways.
pub(crate) const MASKS: [u8; 6] = [0x01, 0x02, 0x10, 0x20, 0x80, 0xff];

impl Damage {
    /// What can happen from a byte on.
    pub(crate) fn all(at: usize, masks: &[u8]) -> impl Iterator<Item = Self> {
        let changes = masks.iter().map(move |mask| Self::Change(at, *mask));
        [Self::Cut(at), Self::Reset(at), Self::Hang(at)].into_iter().chain(changes)
    }

    /// How many bytes arrive.
    fn length_max(self) -> usize {
        match self {
            Self::Cut(at) | Self::Reset(at) | Self::Hang(at) => at,
            Self::None | Self::Change(..) => usize::MAX,
        }
    }
}

/// What hosts have sent on each of their connections, whole.
type Transcripts = Arc<Mutex<BTreeMap<String, Vec<Arc<Mutex<Vec<u8>>>>>>>;

/// A connection that arrives damaged.
struct DamagedStream {
    stream: BoxStream,
    damage: Damage,
    received: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for DamagedStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let mut received = this.received.lock().unwrap();
        let start = received.len();
        let room = buffer.remaining().min(this.damage.length_max() - start);
        // Connections end when something is sent, not before.
        let mut bytes = vec![0; room.max(1)];
        let mut part = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut this.stream).poll_read(context, &mut part))?;
        if room == 0 {
            return match this.damage {
                Damage::Hang(_) => Poll::Pending,
                Damage::Reset(_) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                _ => Poll::Ready(Ok(())),
            };
        }
        let arrived = part.filled_mut();
        received.extend_from_slice(arrived);
        if let Damage::Change(at, mask) = this.damage
            && let Some(byte) = at.checked_sub(start).and_then(|at| arrived.get_mut(at))
        {
            *byte ^= mask;
        }
        buffer.put_slice(arrived);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for DamagedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The same connection, on which what arrives is damaged.
pub(crate) fn damaged(stream: BoxStream, damage: Damage) -> BoxStream {
    Box::new(DamagedStream { stream, damage, received: Arc::default() })
}

/// The same network, on which what one host sends is damaged. Notes what arrives.
fn damaged_network(network: Connector, host: &str, damage: Damage, transcripts: &Transcripts) -> Connector {
    let (host, transcripts) = (host.to_owned(), Arc::clone(transcripts));
    Connector::new(move |uri: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
        let name = uri.authority().map(ToString::to_string).unwrap_or_default();
        let damage = if name == host { damage } else { Damage::None };
        let (network, transcripts) = (network.clone(), Arc::clone(&transcripts));
        Box::pin(async move {
            let stream = network.connect(uri).await?;
            let received = Arc::default();
            transcripts.lock().unwrap().entry(name).or_default().push(Arc::clone(&received));
            Ok(Box::new(DamagedStream { stream, damage, received }) as BoxStream)
        })
    })
}

/// One reading of a trigger on a network.
pub(crate) async fn read_once(network: Connector, sample: &Sample) -> Result<Known, ReadError> {
    let registry = Registry::new(Settings::default(), network, Arc::new(NoCluster));
    let scaler = registry.build(&sample.trigger()).unwrap_or_else(|error| panic!("{error}"));
    scaler.read("", DateTime::UNIX_EPOCH).await
}

/// Whether the byte there is part of a value: a change of it cannot be noticed.
pub(crate) fn is_of_value(bytes: &[u8], values: &[impl AsRef<[u8]>], position: usize) -> bool {
    values.iter().map(AsRef::as_ref).any(|value| {
        let mut starts = (0..bytes.len()).filter(|start| bytes[*start..].starts_with(value));
        starts.any(|start| (start..start + value.len()).contains(&position))
    })
}

/// Several servers, of which one at a time is damaged.
pub(crate) struct Outages<'a> {
    /// The servers, with nothing that earlier readings left.
    pub(crate) network: &'a dyn Fn() -> Connector,
    pub(crate) sample: &'a Sample,
    pub(crate) value: f64,
    /// Bytes that give another value when they are changed.
    pub(crate) value_bytes: &'a [&'a [u8]],
    /// Which part of what a host sends is damaged, where the rest takes no other way than elsewhere.
    pub(crate) damaged: Range<usize>,
    /// How bytes are changed.
    pub(crate) masks: &'a [u8],
}

impl Outages<'_> {
    /// Reads with each host whole, and then damaged from each byte on: there is no other value than the one of whole servers, unless a
    /// byte of the value is changed; and there is none without a host that sends it.
    pub(crate) async fn assert_none_is_a_number(&self) {
        for (host, bytes) in self.transcripts().await {
            let has_value = (0..bytes.len()).any(|at| is_of_value(&bytes, self.value_bytes, at));
            let positions = self.damaged.start..self.damaged.end.min(bytes.len());
            for damage in positions.flat_map(|at| Damage::all(at, self.masks)) {
                let transcripts = Transcripts::default();
                let network = damaged_network((self.network)(), &host, damage, &transcripts);
                let is_harmless = match (read_once(network, self.sample).await, damage) {
                    (Err(_), _) => true,
                    (Ok(_), Damage::Cut(0)) if has_value => false,
                    (Ok(known), _) if known.values == [self.value] => true,
                    // Other connections than those of whole servers may follow, with the value elsewhere.
                    (Ok(_), Damage::Change(at, _)) => transcripts.lock().unwrap()[&host]
                        .iter()
                        .any(|sent| is_of_value(&sent.lock().unwrap(), self.value_bytes, at)),
                    (Ok(_), _) => false,
                };
                assert!(is_harmless, "{host} with {damage:?} in {:?}", String::from_utf8_lossy(&bytes));
            }
        }
    }

    /// What each host sends on the longest of its connections.
    async fn transcripts(&self) -> BTreeMap<String, Vec<u8>> {
        let transcripts = Transcripts::default();
        let whole = read_once(damaged_network((self.network)(), "", Damage::None, &transcripts), self.sample).await;
        assert_eq!(whole.unwrap_or_else(|error| panic!("{error}")).values, [self.value]);
        let transcripts = transcripts.lock().unwrap();
        let longest = |connections: &Vec<Arc<Mutex<Vec<u8>>>>| {
            let bytes = connections.iter().map(|received| received.lock().unwrap().clone());
            bytes.max_by_key(Vec::len).unwrap_or_default()
        };
        transcripts.iter().map(|(host, connections)| (host.clone(), longest(connections))).collect()
    }
}
