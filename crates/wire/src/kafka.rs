//! Kafka's protocol, in versions that brokers from 0.11 (with SASL from 1.0) to 4 speak: the last ones before flexible encoding.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@format`] | how values are written and read, and `kafka_messages!`, which defines messages by their fields |
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

/// The bytes of the first frame in what was received, without its length; none while more must be received. A longer one is refused
/// before it is received.
pub fn frame(received: &[u8], length_max: usize) -> Result<Option<&[u8]>, KafkaError> {
    let Some((length, rest)) = received.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    match usize::try_from(i32::from_be_bytes(*length)) {
        Ok(length) if length <= length_max.min(FRAME_BYTES_MAX) => Ok(rest.get(..length)),
        Ok(length) if length <= FRAME_BYTES_MAX => Err(KafkaError::TooLarge),
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
        assert_eq!(frame(&bytes, FRAME_BYTES_MAX).unwrap().unwrap(), &expected[4..]);
    }

    #[test]
    fn frames_are_whole_and_of_a_sensible_length() {
        type Row<'a> = (&'a [u8], Result<Option<&'a [u8]>, KafkaError>);
        let rows: [Row<'_>; 6] = [
            (b"", Ok(None)),
            (b"\0\0\0\x02a", Ok(None)),
            (b"\0\0\0\x02ab", Ok(Some(b"ab"))),
            (b"\0\0\0\x02abc", Ok(Some(b"ab"))),
            (b"\xff\xff\xff\xff", Err(KafkaError::Length)),
            (b"HTTP/1.1 400", Err(KafkaError::Length)),
        ];
        for (received, expected) in rows {
            assert_eq!(frame(received, FRAME_BYTES_MAX), expected, "{received:?}");
        }
        assert_eq!(frame(b"\0\0\0\x02ab", 2), Ok(Some(&b"ab"[..])));
        assert_eq!(frame(b"\0\0\0\x03", 2), Err(KafkaError::TooLarge));
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

    /// A message of every kind that is received, with these values in it.
    #[derive(Clone, Debug)]
    struct Values {
        name: String,
        note: Option<String>,
        numbers: Vec<i32>,
        offset: i64,
        code: i16,
        flag: bool,
    }

    fn values() -> impl Strategy<Value = Values> {
        let numbers = proptest::collection::vec(any::<i32>(), 0..5);
        let all = (text(), proptest::option::of(text()), numbers, any::<i64>(), any::<i16>(), any::<bool>());
        all.prop_map(|(name, note, numbers, offset, code, flag)| Values { name, note, numbers, offset, code, flag })
    }

    impl Values {
        fn metadata(&self) -> MetadataResponse {
            let Self { name, note, numbers, code, flag, .. } = self.clone();
            let partition = |index: &i32| PartitionMetadata {
                error_code: ErrorCode(code),
                index: *index,
                leader: 1,
                replicas: numbers.clone(),
                in_sync: vec![],
            };
            let partitions = numbers.iter().map(partition).collect();
            let topic = TopicMetadata { error_code: ErrorCode(0), name: name.clone(), is_internal: flag, partitions };
            let brokers = vec![Broker { node_id: 1, host: name, port: 9092, rack: note.clone() }];
            MetadataResponse { throttle_ms: 0, brokers, cluster_id: note, controller_id: 1, topics: vec![topic] }
        }

        fn coordinator(&self) -> FindCoordinatorResponse {
            let Self { name: host, note: message, code, .. } = self.clone();
            FindCoordinatorResponse {
                throttle_ms: 0,
                error_code: ErrorCode(code),
                message,
                node_id: 1,
                host,
                port: 9092,
            }
        }

        fn fetched(&self) -> OffsetFetchResponse {
            let Self { name, note, numbers, offset, code, .. } = self.clone();
            let error_code = ErrorCode(code);
            let committed = |index: &i32| CommittedOffset { index: *index, offset, metadata: note.clone(), error_code };
            let topic = CommittedTopic { name, partitions: numbers.iter().map(committed).collect() };
            OffsetFetchResponse { throttle_ms: 0, topics: vec![topic], error_code }
        }

        fn listed(&self) -> ListOffsetsResponse {
            let Self { name, numbers, offset, code, .. } = self.clone();
            let listed =
                |index: &i32| ListedOffset { index: *index, error_code: ErrorCode(code), timestamp: -1, offset };
            ListOffsetsResponse { topics: vec![ListedTopic { name, partitions: numbers.iter().map(listed).collect() }] }
        }

        fn described(&self) -> DescribeGroupsResponse {
            let Self { name, numbers, code, .. } = self.clone();
            let member = |number: &i32| GroupMember {
                member_id: number.to_string(),
                client_id: name.clone(),
                client_host: String::new(),
                metadata: Bytes(name.clone().into_bytes()),
                assignment: Bytes::default(),
            };
            let group = DescribedGroup {
                error_code: ErrorCode(code),
                group: name.clone(),
                state: "Stable".to_owned(),
                protocol_type: name.clone(),
                protocol: String::new(),
                members: numbers.iter().map(member).collect(),
            };
            DescribeGroupsResponse { groups: vec![group] }
        }

        fn versions(&self) -> ApiVersionsResponse {
            let range = |_: &i32| ApiRange { key: self.code, version_min: 0, version_max: self.code };
            ApiVersionsResponse { error_code: ErrorCode(self.code), apis: self.numbers.iter().map(range).collect() }
        }

        fn handshake(&self) -> SaslHandshakeResponse {
            let mechanisms = self.numbers.iter().map(|_| self.name.clone()).collect();
            SaslHandshakeResponse { error_code: ErrorCode(self.code), mechanisms }
        }

        fn authenticated(&self) -> SaslAuthenticateResponse {
            let Self { name, note: message, code, .. } = self.clone();
            SaslAuthenticateResponse { error_code: ErrorCode(code), message, bytes: Bytes(name.into_bytes()) }
        }
    }

    /// Reads a message with one byte changed, and cut: whatever comes out of it has as many bytes.
    fn damage<M: WireFormat + std::fmt::Debug>(message: &M, at: prop::sample::Index, mask: u8) {
        let mut bytes = encode(message);
        let at = at.index(bytes.len());
        for cut in [&bytes[..at], &[]] {
            if let Ok(read) = decode::<M>(cut) {
                panic!("{cut:?} is a part of a message: {read:?}");
            }
        }
        bytes[at] ^= mask;
        if let Ok(read) = decode::<M>(&bytes) {
            assert_eq!(encode(&read).len(), bytes.len(), "{bytes:?} became {read:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = frame(&bytes, 9).map(|frame| frame.map(|frame| response_body(frame, 0).map(<[u8]>::len)));
        }

        #[test]
        fn what_is_written_is_read(
            values in values(), name in text(), note in proptest::option::of(text()),
            numbers in proptest::collection::vec(any::<i32>(), 0..5), timestamp: i64, key: i8,
        ) {
            prop_assert_eq!(decode(&encode(&values.metadata())), Ok(values.metadata()));
            prop_assert_eq!(decode(&encode(&values.coordinator())), Ok(values.coordinator()));
            prop_assert_eq!(decode(&encode(&values.fetched())), Ok(values.fetched()));
            prop_assert_eq!(decode(&encode(&values.listed())), Ok(values.listed()));
            prop_assert_eq!(decode(&encode(&values.described())), Ok(values.described()));
            prop_assert_eq!(decode(&encode(&values.versions())), Ok(values.versions()));
            prop_assert_eq!(decode(&encode(&values.handshake())), Ok(values.handshake()));
            prop_assert_eq!(decode(&encode(&values.authenticated())), Ok(values.authenticated()));
            let topics = note.is_some().then(|| vec![TopicPartitions { name: name.clone(), partitions: numbers.clone() }]);
            let fetch = OffsetFetch { group: name.clone(), topics };
            prop_assert_eq!(decode(&encode(&fetch)), Ok(fetch));
            let partitions = numbers.iter().map(|index| ListOffsetsPartition { index: *index, timestamp }).collect();
            let list = ListOffsets { replica_id: -1, topics: vec![ListOffsetsTopic { name: name.clone(), partitions }] };
            prop_assert_eq!(decode(&encode(&list)), Ok(list));
            let find = FindCoordinator { key: name.clone(), key_type: key };
            prop_assert_eq!(decode(&encode(&find)), Ok(find));
            let describe = DescribeGroups { groups: vec![name.clone()] };
            prop_assert_eq!(decode(&encode(&describe)), Ok(describe));
            let metadata = Metadata { topics: note.map(|note| vec![note]), creates_topics: false };
            prop_assert_eq!(decode(&encode(&metadata)), Ok(metadata));
            let handshake = SaslHandshake { mechanism: name.clone() };
            prop_assert_eq!(decode(&encode(&handshake)), Ok(handshake));
            let authenticate = SaslAuthenticate { bytes: Bytes(name.into_bytes()) };
            prop_assert_eq!(decode(&encode(&authenticate)), Ok(authenticate));
        }

        #[test]
        fn damaged_messages_are_no_message_or_one_of_the_same_length(values in values(), at: prop::sample::Index, mask in 1..=255_u8) {
            damage(&values.metadata(), at, mask);
            damage(&values.coordinator(), at, mask);
            damage(&values.fetched(), at, mask);
            damage(&values.listed(), at, mask);
            damage(&values.described(), at, mask);
            damage(&values.versions(), at, mask);
            damage(&values.handshake(), at, mask);
            damage(&values.authenticated(), at, mask);
        }
    }
}
