//! Statements of the administrator, who needs no password.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use anyhow::bail;
use kedge_wire::postgres::{Request, Response, message};

use crate::wait::DEADLINE;

/// Runs statements on a connection of their own, and returns the first value. Several are one transaction.
pub(super) fn ask(port: u16, user: &str, database: &str, statements: &str) -> anyhow::Result<Option<String>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(DEADLINE))?;
    let startup = [("user", user), ("database", database)];
    let mut received = Vec::new();
    let mut value = None;
    for request in [Request::Startup(&startup), Request::Query(statements)] {
        stream.write_all(&request.encode())?;
        loop {
            match receive(&mut stream, &mut received)? {
                Response::ReadyForQuery(_) => break,
                Response::Error(error) => bail!("{statements}: {error}"),
                Response::DataRow(values) => value = value.or(values.into_iter().next().flatten()),
                _ => {}
            }
        }
    }
    stream.write_all(&Request::Terminate.encode())?;
    Ok(value)
}

fn receive(stream: &mut TcpStream, received: &mut Vec<u8>) -> anyhow::Result<Response> {
    let mut chunk = [0; 4096];
    loop {
        if let Some(message) = message(received)? {
            let (response, length) = (Response::decode(message)?, message.length());
            received.drain(..length);
            return Ok(response);
        }
        match stream.read(&mut chunk)? {
            0 => bail!("postgresql closed the connection"),
            read => received.extend_from_slice(&chunk[..read]),
        }
    }
}
