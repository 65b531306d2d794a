//! Kafka's protocol, in versions that brokers from 0.11 (with SASL from 1.0) to 4 speak: the last ones before flexible encoding.
//!
//! | module | what it holds |
//! |---|---|
//! | [`format`] | how values are written and read, and `kafka_messages!`, which defines messages by their fields |
//! | [`messages`] | the requests, with their responses |
//! | [`error_code`] | the errors of brokers, by name |
//!
//! A frame is a length and so many bytes. The responses on a connection are in the order of the requests.

pub mod error_code;
pub mod format;
pub mod messages;

pub use error_code::ErrorCode;
pub use format::{Body, Bytes, KafkaError, WireFormat};

/// The longest response.
pub const FRAME_BYTES_MAX: usize = 32 << 20;

/// The length of a frame is written in so many bytes.
pub const LENGTH_BYTES: usize = 4;

/// A request in one version of it.
pub trait Request: WireFormat {
    type Response: WireFormat;
    const API: Api;
}

/// A kind of request, and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Api {
    pub name: &'static str,
    pub key: i16,
    pub version: i16,
}

/// The bytes of a request, from its length on.
pub fn encode_request(api: Api, body: &[u8], correlation_id: i32, client_id: &str) -> Vec<u8> {
    let mut frame = vec![0; LENGTH_BYTES];
    (api.key, api.version).write(&mut frame);
    correlation_id.write(&mut frame);
    client_id.to_owned().write(&mut frame);
    frame.extend_from_slice(body);
    let length = u32::try_from(frame.len() - LENGTH_BYTES).unwrap_or(u32::MAX);
    frame[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    frame
}

/// The body of a message.
pub fn encode(message: &impl WireFormat) -> Vec<u8> {
    let mut body = Vec::new();
    message.write(&mut body);
    body
}

/// Reads a whole body.
pub fn decode<M: WireFormat>(body: &[u8]) -> Result<M, KafkaError> {
    let mut body = Body::new(body);
    let message = M::read(&mut body)?;
    if body.is_empty() { Ok(message) } else { Err(KafkaError::TooLong) }
}

/// The bytes of the first frame in what was received, without its length; none while more must be received.
pub fn frame(received: &[u8]) -> Result<Option<&[u8]>, KafkaError> {
    let Some((length, rest)) = received.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    match usize::try_from(i32::from_be_bytes(*length)) {
        Ok(length) if length <= FRAME_BYTES_MAX => Ok(rest.get(..length)),
        _ => Err(KafkaError::Length),
    }
}

/// The body of a response, which must be that to the request with this id.
pub fn response_body(frame: &[u8], correlation_id: i32) -> Result<&[u8], KafkaError> {
    match frame.split_first_chunk() {
        Some((id, body)) if i32::from_be_bytes(*id) == correlation_id => Ok(body),
        Some(_) => Err(KafkaError::Correlation),
        None => Err(KafkaError::TooShort),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::messages::*;
    use super::*;

    #[test]
    fn a_request_is_a_frame_with_a_header() {
        let body = encode(&FindCoordinator { key: "g".to_owned(), key_type: FindCoordinator::GROUP });
        let bytes = encode_request(FindCoordinator::API, &body, 7, "kedge");
        let expected = b"\0\0\0\x13\0\x0a\0\x01\0\0\0\x07\0\x05kedge\0\x01g\0";
        assert_eq!(bytes, expected);
        assert_eq!(frame(&bytes).unwrap().unwrap(), &expected[4..]);
    }

    #[test]
    fn frames_are_whole_and_of_a_sensible_length() {
        let rows: [(&[u8], Result<Option<&[u8]>, KafkaError>); 6] = [
            (b"", Ok(None)),
            (b"\0\0\0\x02a", Ok(None)),
            (b"\0\0\0\x02ab", Ok(Some(b"ab"))),
            (b"\0\0\0\x02abc", Ok(Some(b"ab"))),
            (b"\xff\xff\xff\xff", Err(KafkaError::Length)),
            (b"HTTP/1.1 400", Err(KafkaError::Length)),
        ];
        for (received, expected) in rows {
            assert_eq!(frame(received), expected, "{received:?}");
        }
        assert_eq!(response_body(b"\0\0\0\x07ab", 7), Ok(&b"ab"[..]));
        assert_eq!(response_body(b"\0\0\0\x07ab", 8), Err(KafkaError::Correlation));
        assert_eq!(response_body(b"\0\0", 0), Err(KafkaError::TooShort));
    }

    #[test]
    fn lengths_of_hostile_servers_cost_nothing() {
        // An array of 2 billion entries, and a string and bytes that are not there.
        assert_eq!(decode::<ApiVersionsResponse>(b"\0\0\x7f\xff\xff\xff"), Err(KafkaError::TooShort));
        assert_eq!(decode::<SaslHandshake>(b"\x7f\xffab"), Err(KafkaError::TooShort));
        assert_eq!(decode::<SaslAuthenticate>(b"\x7f\xff\xff\xffab"), Err(KafkaError::TooShort));
        assert_eq!(decode::<SaslHandshake>(b"\xff\xff"), Err(KafkaError::Length));
        assert_eq!(decode::<SaslHandshake>(b"\0\x01\xff"), Err(KafkaError::Text));
        assert_eq!(decode::<SaslHandshake>(b"\0\x01ab"), Err(KafkaError::TooLong));
    }

    fn text() -> impl Strategy<Value = String> {
        "[a-zäß.-]{0,9}"
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = frame(&bytes).map(|frame| frame.map(|frame| response_body(frame, 0).map(<[u8]>::len)));
            let _ = (decode::<MetadataResponse>(&bytes), decode::<FindCoordinatorResponse>(&bytes));
            let _ = (decode::<OffsetFetchResponse>(&bytes), decode::<ListOffsetsResponse>(&bytes));
            let _ = (decode::<ApiVersionsResponse>(&bytes), decode::<DescribeGroupsResponse>(&bytes));
            let _ = (decode::<SaslHandshakeResponse>(&bytes), decode::<SaslAuthenticateResponse>(&bytes));
        }

        #[test]
        fn what_is_written_is_read(
            name in text(), note in proptest::option::of(text()), numbers in proptest::collection::vec(any::<i32>(), 0..5), offset: i64, code: i16, flag: bool, key: i8,
        ) {
            let partitions = numbers.iter().map(|index| PartitionMetadata {
                error_code: ErrorCode(code), index: *index, leader: 1, replicas: numbers.clone(), in_sync: vec![],
            });
            let topics = vec![TopicMetadata { error_code: ErrorCode(0), name: name.clone(), is_internal: flag, partitions: partitions.collect() }];
            let brokers = vec![Broker { node_id: 1, host: name.clone(), port: 9092, rack: note.clone() }];
            let metadata = MetadataResponse { throttle_ms: 0, brokers, cluster_id: note.clone(), controller_id: 1, topics };
            prop_assert_eq!(decode(&encode(&metadata)), Ok(metadata));
            let committed = numbers.iter().map(|index| CommittedOffset { index: *index, offset, metadata: note.clone(), error_code: ErrorCode(code) });
            let topics = vec![CommittedTopic { name: name.clone(), partitions: committed.collect() }];
            let fetched = OffsetFetchResponse { throttle_ms: 0, topics, error_code: ErrorCode(code) };
            prop_assert_eq!(decode(&encode(&fetched)), Ok(fetched));
            let asked = OffsetFetch { group: name.clone(), topics: note.is_some().then(|| vec![TopicPartitions { name: name.clone(), partitions: numbers }]) };
            prop_assert_eq!(decode(&encode(&asked)), Ok(asked));
            let find = FindCoordinator { key: name, key_type: key };
            prop_assert_eq!(decode(&encode(&find)), Ok(find));
        }
    }
}
