//! A client that waits for its answers, for what tests prepare in a server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use anyhow::{bail, ensure};
use kedge_wire::mysql::{
    Authentication, Client, Greeting, Permissions, Progress, ServerError, Step, TextResults, decode_packet,
    encode_packet,
};

use crate::wait::DEADLINE;

/// A connection to the database `shop`.
#[derive(Debug)]
pub struct MysqlClient {
    stream: TcpStream,
    received: Vec<u8>,
    sequence: u8,
}

impl MysqlClient {
    /// Signs in with `mysql_native_password`.
    pub fn connect(port: u16, user: &str, password: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(DEADLINE))?;
        let mut client = Self { stream, received: Vec::new(), sequence: 0 };
        let first = client.receive()?;
        if let Some(error) = ServerError::decode(&first)? {
            bail!("{error}");
        }
        let greeting = Greeting::decode(&first)?;
        let permissions = Permissions { is_encrypted: false, clear_password: false, native_password: true };
        let (mut authentication, answer) = Authentication::begin(&greeting, password, permissions, [0; 20])?;
        let who = Client { user, database: "shop", has_multi_statements: false, has_tls: false };
        client.send(&who.encode_response(greeting.capabilities, authentication.plugin(), &answer))?;
        loop {
            let payload = client.receive()?;
            match authentication.step(&payload)? {
                Step::Send(answer) => client.send(&answer)?,
                Step::Wait => {}
                Step::Done => return Ok(client),
            }
        }
    }

    /// Runs a statement; returns the first value that it gives, if any.
    pub fn run(&mut self, statement: &str) -> anyhow::Result<Option<String>> {
        self.sequence = 0;
        self.send(&[b"\x03", statement.as_bytes()].concat())?;
        let mut results = TextResults::default();
        loop {
            let payload = self.receive()?;
            match results.push(&payload)? {
                Progress::More => {}
                Progress::Refused(error) => bail!("{statement}: {error}"),
                Progress::Done(outcome) => {
                    let first = outcome.first_row.and_then(|row| row.into_iter().next()).flatten();
                    return Ok(first.map(|value| String::from_utf8_lossy(&value).into_owned()));
                }
            }
        }
    }

    fn send(&mut self, payload: &[u8]) -> anyhow::Result<()> {
        self.stream.write_all(&encode_packet(self.sequence, payload))?;
        self.sequence = self.sequence.wrapping_add(1);
        Ok(())
    }

    fn receive(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut chunk = [0; 4096];
        loop {
            if let Some((packet, length)) = decode_packet(&self.received)? {
                let payload = packet.payload.to_vec();
                self.sequence = packet.sequence.wrapping_add(1);
                self.received.drain(..length);
                return Ok(payload);
            }
            let read = self.stream.read(&mut chunk)?;
            ensure!(read > 0, "mariadbd closed the connection");
            self.received.extend_from_slice(&chunk[..read]);
        }
    }
}
