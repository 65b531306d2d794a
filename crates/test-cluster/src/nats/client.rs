//! A client of NATS, as far as tests need it: requests to JetStream, messages, acknowledgements.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use crate::wait::DEADLINE;

/// How long an answer may take until the question is repeated.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// A client, which waits for each of its answers.
#[derive(Debug)]
pub struct NatsClient {
    address: SocketAddr,
    sign_in: Value,
    connection: Connection,
    /// The number of the newest subscription.
    subscription: u64,
    /// The number of the newest message that was published.
    published: u64,
}

#[derive(Debug)]
struct Connection {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

/// A message that a server delivered.
#[derive(Debug)]
struct Message {
    /// Where an acknowledgement is sent to.
    reply_to: Option<String>,
    body: Vec<u8>,
}

impl NatsClient {
    pub(super) fn connect(address: SocketAddr, sign_in: Value) -> anyhow::Result<Self> {
        let connection = Connection::open(address, &sign_in)?;
        Ok(Self { address, sign_in, connection, subscription: 0, published: 0 })
    }

    /// Creates a stream of the subjects below its name.
    pub fn create_stream(&mut self, name: &str, replicas: usize) -> anyhow::Result<()> {
        let config = json!({ "name": name, "subjects": [format!("{name}.>")], "num_replicas": replicas });
        self.ask(&format!("STREAM.CREATE.{name}"), &config).map(drop)
    }

    /// Creates a durable consumer, which acknowledges each message.
    pub fn create_consumer(&mut self, stream: &str, consumer: &str) -> anyhow::Result<()> {
        let config = json!({ "durable_name": consumer, "ack_policy": "explicit" });
        let question = json!({ "stream_name": stream, "config": config });
        self.ask(&format!("CONSUMER.DURABLE.CREATE.{stream}.{consumer}"), &question).map(drop)
    }

    /// The answer of JetStream's API. An error is an error here.
    pub fn ask(&mut self, action: &str, question: &Value) -> anyhow::Result<Value> {
        let message = self.request(&format!("$JS.API.{action}"), "", &question.to_string(), 1)?.remove(0);
        let answer: Value =
            serde_json::from_slice(&message.body).with_context(|| format!("{action}: no answer: {message:?}"))?;
        ensure!(answer["error"].is_null(), "{action}: {}", answer["error"]);
        Ok(answer)
    }

    /// Publishes messages to a stream, and returns when all are stored.
    pub fn publish(&mut self, stream: &str, count: usize) -> anyhow::Result<()> {
        for _ in 0..count {
            self.published += 1;
            // What is repeated with its id is stored once.
            let header = format!("Nats-Msg-Id: {}-{}\r\n", self.connection.writer.local_addr()?, self.published);
            let stored = self.request(&format!("{stream}.new"), &header, "x", 1)?.remove(0);
            let stored: Value = serde_json::from_slice(&stored.body).context("the message was not stored")?;
            ensure!(stored["seq"].is_u64(), "{stored}");
        }
        Ok(())
    }

    /// Takes messages of a consumer, and acknowledges this many of them.
    pub fn take(&mut self, stream: &str, consumer: &str, count: usize, acknowledged: usize) -> anyhow::Result<()> {
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}");
        let messages = self.request(&subject, "", &json!({ "batch": count }).to_string(), count)?;
        for message in messages.into_iter().take(acknowledged) {
            let subject = message.reply_to.context("the message cannot be acknowledged")?;
            // The answer says that the acknowledgement counts.
            self.request(&subject, "", "+ACK", 1)?;
        }
        Ok(())
    }

    /// Sends a message with these lines of the header, and returns its first answers. A cluster that elects a leader drops questions, so
    /// that what is not answered is repeated, on a new connection.
    fn request(&mut self, subject: &str, header: &str, body: &str, answers: usize) -> anyhow::Result<Vec<Message>> {
        let started = Instant::now();
        loop {
            self.subscription += 1;
            match self.connection.request(self.subscription, subject, header, body, answers) {
                Err(error) if is_late(&error) && started.elapsed() < DEADLINE => {
                    self.connection = Connection::open(self.address, &self.sign_in)?;
                }
                outcome => return outcome,
            }
        }
    }
}

fn is_late(error: &anyhow::Error) -> bool {
    let io_error = error.downcast_ref::<io::Error>();
    io_error.is_some_and(|error| matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut))
}

impl Connection {
    fn open(address: SocketAddr, sign_in: &Value) -> anyhow::Result<Self> {
        let writer = TcpStream::connect(address)?;
        writer.set_read_timeout(Some(ANSWER_LIMIT))?;
        let mut connection = Self { reader: BufReader::new(writer.try_clone()?), writer };
        let mut options = json!({ "verbose": false, "headers": true, "no_responders": true });
        json_patch::merge(&mut options, sign_in);
        connection.send(&format!("CONNECT {options}\r\n"))?;
        connection.flush()?;
        Ok(connection)
    }

    fn request(
        &mut self,
        number: u64,
        subject: &str,
        header: &str,
        body: &str,
        answers: usize,
    ) -> anyhow::Result<Vec<Message>> {
        let inbox = format!("_INBOX.tests.{number}");
        let publish = match header {
            "" => format!("PUB {subject} {inbox} {}\r\n{body}\r\n", body.len()),
            _ => {
                let head = format!("NATS/1.0\r\n{header}\r\n");
                format!("HPUB {subject} {inbox} {} {}\r\n{head}{body}\r\n", head.len(), head.len() + body.len())
            }
        };
        self.send(&format!("SUB {inbox} {number}\r\n{publish}"))?;
        let messages = (0..answers).map(|_| self.receive()).collect::<anyhow::Result<Vec<_>>>()?;
        self.send(&format!("UNSUB {number}\r\n"))?;
        self.flush()?;
        Ok(messages)
    }

    fn send(&mut self, text: &str) -> anyhow::Result<()> {
        Ok(self.writer.write_all(text.as_bytes())?)
    }

    /// Waits until the server has read everything.
    fn flush(&mut self) -> anyhow::Result<()> {
        self.send("PING\r\n")?;
        while self.line()? != "PONG" {}
        Ok(())
    }

    /// The next message of a subscription.
    fn receive(&mut self) -> anyhow::Result<Message> {
        loop {
            let line = self.line()?;
            let parts: Vec<&str> = line.split(' ').collect();
            let (head, length, reply_to) = match parts.as_slice() {
                ["MSG", _, _, length] => (0, *length, None),
                ["MSG", _, _, reply_to, length] => (0, *length, Some((*reply_to).to_owned())),
                ["HMSG", _, _, head, length] => (head.parse()?, *length, None),
                ["HMSG", _, _, reply_to, head, length] => (head.parse()?, *length, Some((*reply_to).to_owned())),
                _ => continue,
            };
            let mut body = vec![0; length.parse::<usize>()? + 2];
            self.reader.read_exact(&mut body)?;
            body.truncate(body.len() - 2);
            return Ok(Message { reply_to, body: body.split_off(head) });
        }
    }

    /// The next line that is no ping.
    fn line(&mut self) -> anyhow::Result<String> {
        loop {
            let mut line = String::new();
            ensure!(self.reader.read_line(&mut line)? > 0, "nats-server closed the connection");
            match line.trim_end() {
                "PING" => self.send("PONG\r\n")?,
                error if error.starts_with("-ERR") => bail!("nats-server: {error}"),
                line => return Ok(line.to_owned()),
            }
        }
    }
}
