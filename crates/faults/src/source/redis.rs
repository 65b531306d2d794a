//! A Redis server with lists: each is as long as the value of the query of its name. Its password is the token of that query.

use std::io;

use kedge_wire::resp::{Reply, decode_reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::{SourceResponse, Sources};
use crate::fault::SourceFault;

/// The list whose token new connections need.
const LIST: &str = "queue";

const WRONG_PASSWORD: &str = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
const LOADING: &str = "-LOADING Redis is loading the dataset in memory\r\n";

/// What happens to a connection after a command.
enum Next {
    Reply(Vec<u8>),
    /// The connection ends after a part of the reply.
    Cut(&'static str),
    Hang,
}

/// Serves one connection until it ends.
pub(super) async fn serve(sources: Sources, mut stream: DuplexStream) {
    // A broken connection may be an injected fault.
    let _ = converse(&sources, &mut stream).await;
}

async fn converse(sources: &Sources, stream: &mut DuplexStream) -> io::Result<()> {
    let (mut received, mut token) = (Vec::new(), None);
    while stream.read_buf(&mut received).await? > 0 {
        // A command is encoded as a reply that is a list.
        while let Some((command, length)) = decode_reply(&received).map_err(io::Error::other)? {
            received.drain(..length);
            let words: Vec<&str> = command.as_list().into_iter().flatten().filter_map(Reply::as_text).collect();
            match respond(sources, &words, &mut token) {
                Next::Reply(bytes) => stream.write_all(&bytes).await?,
                Next::Cut(part) => return stream.write_all(part.as_bytes()).await,
                Next::Hang => return std::future::pending().await,
            }
        }
    }
    Ok(())
}

/// The token of a connection is the one that it signed in with: it stays valid for this connection when the password changes.
fn respond(sources: &Sources, words: &[&str], token: &mut Option<String>) -> Next {
    let reply = |text: &str| Next::Reply(text.as_bytes().to_vec());
    match words {
        ["AUTH", .., password] if sources.accepts(LIST, password) => {
            *token = Some((*password).to_owned());
            reply("+OK\r\n")
        }
        ["AUTH", ..] => reply(WRONG_PASSWORD),
        ["TYPE", _] => reply("+list\r\n"),
        ["LLEN", list] => match sources.respond_to_connection(list, token.is_some()) {
            SourceResponse::Value(value) => reply(&format!(":{}\r\n", value as i64)),
            SourceResponse::Unauthorized => reply("-NOAUTH Authentication required.\r\n"),
            SourceResponse::Faulty(fault) => faulty(fault),
        },
        _ => reply("-ERR unknown command\r\n"),
    }
}

fn faulty(fault: SourceFault) -> Next {
    match fault {
        SourceFault::Fails => Next::Reply(LOADING.into()),
        SourceFault::Hangs => Next::Hang,
        SourceFault::Garbage => Next::Reply(b"<html>busy</html>".to_vec()),
        // What arrives is the beginning of another number.
        SourceFault::Resets => Next::Cut(":0"),
        SourceFault::Partial => Next::Reply(b"$-1\r\n".to_vec()),
        SourceFault::NamesError => Next::Reply(b"-ERR max number of clients reached\r\n".to_vec()),
        SourceFault::TooMany => Next::Reply(format!("*100000\r\n{}", ":0\r\n".repeat(100_000)).into()),
        SourceFault::TooLarge => Next::Reply(format!("$11534336\r\n{}\r\n", " ".repeat(11 << 20)).into()),
    }
}
