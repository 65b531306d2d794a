//! AMQP 0-9-1, the protocol of RabbitMQ: frames, and the methods that open connections and ask for the length of a queue.
//!
//! | module | what it holds |
//! |---|---|
//! | `format` | how values are written |
//! | `method` | the methods |

mod format;
mod method;

pub use self::format::{AmqpError, LongText, ShortText, Table, Value};
pub use self::method::{Closing, Method, SaslResponse, Tuning};

use self::format::Arguments;

/// What a client sends first.
pub const PROTOCOL_HEADER: [u8; 8] = *b"AMQP\0\0\x09\x01";

/// The largest payload of a frame that is accepted.
pub const PAYLOAD_BYTES_MAX: u32 = 128 << 10;

const HEADER_BYTES: usize = 7;
const FRAME_END: u8 = 0xce;
const METHOD_FRAME: u8 = 1;
const HEARTBEAT_FRAME: u8 = 8;

/// A frame. Those with content are of no use here.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    Method { channel: u16, method: Method },
    Heartbeat,
}

/// Writes a frame with a method. Channel 0 is the connection itself.
pub fn encode_method(channel: u16, method: &Method) -> Vec<u8> {
    encode_frame(METHOD_FRAME, channel, &method.encode())
}

/// Writes a heartbeat.
pub fn encode_heartbeat() -> Vec<u8> {
    encode_frame(HEARTBEAT_FRAME, 0, &[])
}

fn encode_frame(kind: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
    // What is cut is refused by the server, because the frame is longer than it says.
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    [&[kind], &channel.to_be_bytes()[..], &length.to_be_bytes(), payload, &[FRAME_END]].concat()
}

/// Reads one frame from the beginning of what was received. Returns it with its length, or none while more must be received.
pub fn decode_frame(received: &[u8]) -> Result<Option<(Frame, usize)>, AmqpError> {
    let Some(kind) = received.first().copied() else { return Ok(None) };
    if kind == PROTOCOL_HEADER[0] {
        return decode_version(received);
    }
    if !matches!(kind, METHOD_FRAME | HEARTBEAT_FRAME) {
        return Err(AmqpError::FrameType(kind));
    }
    let Some(([_, channel @ ..], rest)) = received.split_first_chunk::<3>() else { return Ok(None) };
    let channel = u16::from_be_bytes(*channel);
    let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_be_bytes(*length);
    if length > PAYLOAD_BYTES_MAX {
        return Err(AmqpError::TooLarge);
    }
    let length = length as usize;
    let Some(end) = rest.get(length) else { return Ok(None) };
    if *end != FRAME_END {
        return Err(AmqpError::FrameEnd);
    }
    let payload = &rest[..length];
    let frame = match kind {
        METHOD_FRAME => Frame::Method { channel, method: Method::decode(Arguments::new(payload))? },
        _ if channel == 0 && payload.is_empty() => Frame::Heartbeat,
        _ => return Err(AmqpError::Heartbeat),
    };
    Ok(Some((frame, HEADER_BYTES + length + 1)))
}

/// A server that does not accept the version answers with the one that it speaks.
fn decode_version(received: &[u8]) -> Result<Option<(Frame, usize)>, AmqpError> {
    let prefix = &PROTOCOL_HEADER[..4];
    match received {
        [b'A', b'M', b'Q', b'P', _, major, minor, revision, ..] => {
            Err(AmqpError::Version { major: *major, minor: *minor, revision: *revision })
        }
        part if part.len() < PROTOCOL_HEADER.len() && prefix.starts_with(&part[..part.len().min(4)]) => Ok(None),
        _ => Err(AmqpError::FrameType(PROTOCOL_HEADER[0])),
    }
}

#[cfg(test)]
mod tests;
