//! Sources on this machine that speak protocols other than HTTP, or that read the bodies of requests: by what was received, they answer.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::rig::PASSWORD;

/// The answer to the first request in some bytes, and its length, once it is whole.
type Answer = fn(&[u8], u16) -> Option<(Vec<u8>, usize)>;

/// Starts a server that sends a greeting on each connection, and then answers. Returns its port.
pub(super) fn serve(greeting: &'static [u8], answer: Answer) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || respond(stream, port, greeting, answer));
        }
    });
    port
}

/// Ends with the connection.
fn respond(mut stream: TcpStream, port: u16, greeting: &[u8], answer: Answer) -> Option<()> {
    stream.write_all(greeting).ok()?;
    let (mut received, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        while let Some((bytes, length)) = answer(&received, port) {
            stream.write_all(&bytes).ok()?;
            received.drain(..length);
        }
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        received.extend_from_slice(&buffer[..read]);
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// A list with 7 entries, for those who know the password.
pub(super) fn redis(received: &[u8], _: u16) -> Option<(Vec<u8>, usize)> {
    let answers = [(PASSWORD, "+OK"), ("AUTH", "-WRONGPASS invalid username-password pair"), ("TYPE", "+list")];
    let found = answers.iter().find(|(text, _)| contains(received, text)).map_or(":7", |(_, answer)| answer);
    (!received.is_empty()).then(|| (format!("{found}\r\n").into_bytes(), received.len()))
}

/// What is asked over HTTP, and its answer as JSON.
fn http(received: &[u8], answer: impl Fn(&str) -> (&'static str, &'static str)) -> Option<(Vec<u8>, usize)> {
    let text = String::from_utf8_lossy(received);
    let head = text.find("\r\n\r\n")? + 4;
    let length = |line: &str| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok();
    let whole = head + text[..head].lines().find_map(length).unwrap_or(0_usize);
    let (status, body) = answer(text.get(..whole)?);
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}", body.len());
    Some((format!("{head}\r\n\r\n{body}").into_bytes(), whole))
}

/// A consumer of `orders` with 7 messages.
pub(super) fn nats(received: &[u8], _: u16) -> Option<(Vec<u8>, usize)> {
    http(received, |_| {
        let page = r#"{"server_id":"N","account_details":[{"id":"$G","name":"$G","stream_detail":[{"name":"orders",
            "consumer_detail":[{"name":"worker","num_pending":4,"num_ack_pending":3}]}]}]}"#;
        ("200 OK", page)
    })
}

/// A queue `orders` with 7 messages, and no other.
pub(super) fn sqs(received: &[u8], _: u16) -> Option<(Vec<u8>, usize)> {
    http(received, |request| match request.contains("orders") {
        true => (
            "200 OK",
            r#"{"Attributes":{"ApproximateNumberOfMessages":"4","ApproximateNumberOfMessagesNotVisible":"3"}}"#,
        ),
        false => ("400 Bad Request", r#"{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no such queue"}"#),
    })
}

/// A queue `orders` with 7 messages, for the user `worker` with the password: in base64, as the command sends both.
pub(super) fn rabbitmq(received: &[u8], _: u16) -> Option<(Vec<u8>, usize)> {
    http(received, |request| match request.contains("d29ya2VyOmh1bnRlcjItaXMtc2VjcmV0") {
        true => ("200 OK", r#"{"name":"orders","messages":7,"messages_ready":7}"#),
        false => ("401 Unauthorized", r#"{"error":"not_authorized"}"#),
    })
}

/// Every query gives 7, to those who know the password.
pub(super) fn postgresql(received: &[u8], _: u16) -> Option<(Vec<u8>, usize)> {
    // The first message has no kind.
    let (kind, start) = if received.first()? == &0 { (b'S', 0) } else { (received[0], 1) };
    let length = received.get(start..start + 4)?.try_into().map(u32::from_be_bytes).ok()? as usize + start;
    let request = received.get(..length)?;
    let answer: &[u8] = match kind {
        b'S' => b"R\0\0\0\x08\0\0\0\x03",
        b'p' if contains(request, PASSWORD) => b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I",
        b'p' => b"E\0\0\0\x26SFATAL\0VFATAL\0C28P01\0Mwrong user\0\0",
        b'Q' => {
            b"T\0\0\0\x1a\0\x01n\0\0\0\0\0\0\0\0\0\0\x14\0\x08\xff\xff\xff\xff\0\0D\0\0\0\x0b\0\x01\0\0\0\x017C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I"
        }
        _ => b"",
    };
    Some((answer.to_vec(), length))
}

/// What MariaDB 10.11 sends first.
pub(super) const MYSQL_GREETING: &[u8] =
    b"d\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x04\0\0\0<~)M'yO_\0\xfe\xff\x08\x02\0\xff\x81\x15\
    \0\0\0\0\0\0\x1d\0\0\0n-0LkWSy(Yfu\0mysql_native_password\0";

/// Every query gives 7, to the user `worker`.
pub(super) fn mysql(received: &[u8], _: u16) -> Option<(Vec<u8>, usize)> {
    let length = 4 + usize::from(*received.first()?) + (usize::from(*received.get(1)?) << 8);
    let request = received.get(..length)?;
    let answer: &[u8] = match (request[3], contains(request, "worker")) {
        (1, true) => b"\x07\0\0\x02\0\0\0\x02\0\0\0",
        (1, false) => b"\x16\0\0\x02\xff\x15\x04#28000Access denied",
        _ => {
            b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\0\0\0\x01n\0\x0c\x3f\0\x14\0\0\0\x08\x81\0\0\0\0\x05\0\0\x03\xfe\0\0\x02\0\x02\0\0\x04\x017\x05\0\0\x05\xfe\0\0\x02\0"
        }
    };
    Some((answer.to_vec(), length))
}

/// A broker with the topic `orders`, which has 10 messages, of which group `workers` has committed 3.
pub(super) fn kafka(received: &[u8], port: u16) -> Option<(Vec<u8>, usize)> {
    let length = received.get(..4)?.try_into().map(u32::from_be_bytes).ok()? as usize + 4;
    let request = received.get(..length)?;
    let broker = [&b"\0\x09127.0.0.1\0\0"[..], &port.to_be_bytes()].concat();
    let body: Vec<u8> = match request[5] {
        // Which requests it knows.
        18 => b"\0\0\0\0\0\x04\0\x02\0\x01\0\x0b\0\x03\0\0\0\x0d\0\x09\0\x01\0\x0a\0\x0a\0\0\0\x06".to_vec(),
        // The cluster and its topics.
        3 => {
            let topic: &[u8] = match contains(request, "orders") {
                true => b"\0\0\0\x06orders\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01",
                false => b"\0\x03\0\x07nowhere\0\0\0\0\0",
            };
            [b"\0\0\0\0\0\0\0\x01\0\0\0\x01", broker.as_slice(), b"\xff\xff\xff\xff\0\0\0\x01\0\0\0\x01", topic]
                .concat()
        }
        // The coordinator of the group.
        10 => [b"\0\0\0\0\0\0\xff\xff\0\0\0\x01", broker.as_slice()].concat(),
        // The committed offset.
        9 => b"\0\0\0\0\0\0\0\x01\0\x06orders\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0".to_vec(),
        // The last offset.
        _ => b"\0\0\0\x01\0\x06orders\0\0\0\x01\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\x0a".to_vec(),
    };
    let answer = [&request[8..12], &body].concat();
    let frame = [&u32::try_from(answer.len()).unwrap().to_be_bytes(), answer.as_slice()].concat();
    Some((frame, length))
}
