//! A client that takes messages, and keeps them without an acknowledgement until it is dropped.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, ensure};
use kedge_wire::amqp::{Method, PROTOCOL_HEADER, SaslResponse, ShortText, Table, Tuning, encode_method};

use super::{PASSWORD, USER};

const LIMIT: Duration = Duration::from_secs(60);
const METHOD_FRAME: u8 = 1;
const FRAME_END: u8 = 0xce;

/// The methods that take one message: `Basic.Get`, and its answer.
const GET: [u8; 4] = [0, 60, 0, 70];
const GET_OK: [u8; 4] = [0, 60, 0, 71];

#[derive(Debug)]
pub struct RabbitClient {
    stream: TcpStream,
}

impl RabbitClient {
    /// Connects to a broker, and opens the vhost `/`.
    pub fn connect(broker: SocketAddr) -> anyhow::Result<Self> {
        Self::connect_to(broker, "/")
    }

    /// Connects to a broker, and opens a vhost.
    pub fn connect_to(broker: SocketAddr, vhost: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(broker)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let mut client = Self { stream };
        let text = |text: &str| ShortText::new(text).context("too long");
        client.stream.write_all(&PROTOCOL_HEADER)?;
        client.until([0, 10, 0, 10])?;
        let (response, properties) = (SaslResponse::plain(USER, PASSWORD), Table::default());
        client.send(0, &Method::StartOk { properties, mechanism: text("PLAIN")?, response, locale: text("en_US")? })?;
        client.until([0, 10, 0, 30])?;
        let tuning = Tuning { channel_max: 1, frame_bytes_max: 131_072, heartbeat_seconds: 0 };
        client.send(0, &Method::TuneOk(tuning))?;
        client.send(0, &Method::Open { vhost: text(vhost)? })?;
        client.until([0, 10, 0, 41])?;
        client.send(1, &Method::ChannelOpen)?;
        client.until([0, 20, 0, 11])?;
        Ok(client)
    }

    /// Takes messages of a queue.
    pub fn take(&mut self, queue: &str, count: usize) -> anyhow::Result<()> {
        let length = u8::try_from(queue.len())?;
        let arguments = [&GET[..], &[0, 0, length], queue.as_bytes(), &[0]].concat();
        let payload_length = u32::try_from(arguments.len())?.to_be_bytes();
        let frame = [&[METHOD_FRAME, 0, 1][..], &payload_length, &arguments, &[FRAME_END]].concat();
        for _ in 0..count {
            self.stream.write_all(&frame)?;
            self.until(GET_OK)?;
        }
        Ok(())
    }

    fn send(&mut self, channel: u16, method: &Method) -> anyhow::Result<()> {
        Ok(self.stream.write_all(&encode_method(channel, method))?)
    }

    /// Receives frames until one has this method. Those with the content of the message before it are of no use.
    fn until(&mut self, wanted: [u8; 4]) -> anyhow::Result<()> {
        loop {
            let mut header = [0; 7];
            self.stream.read_exact(&mut header)?;
            let [kind, _, _, length @ ..] = header;
            let mut payload = vec![0; u32::from_be_bytes(length) as usize + 1];
            self.stream.read_exact(&mut payload)?;
            if kind == METHOD_FRAME {
                let shown = String::from_utf8_lossy(&payload);
                ensure!(payload.starts_with(&wanted), "the broker answered {shown:?} in place of {wanted:?}");
                return Ok(());
            }
        }
    }
}
