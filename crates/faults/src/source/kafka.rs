//! A Kafka broker with topics of one partition. Groups have committed nothing of them but the start, so that the lag of a topic is the
//! value of the query of its name. Users sign in with PLAIN; the password is the token of that query.

use std::io;

use kedge_wire::kafka::messages::*;
use kedge_wire::kafka::{Api, Body, Bytes, ErrorCode, FRAME_BYTES_MAX, Request, WireFormat, decode, encode, frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::{SourceResponse, Sources};
use crate::fault::SourceFault;

/// The host of the broker, also in what it says of itself.
pub(super) const HOST: &str = "kafka";

/// The topic whose token new connections need.
const TOPIC: &str = "orders";

/// The only broker.
const NODE: i32 = 1;

const APIS: [Api; 6] = [
    Metadata::API,
    FindCoordinator::API,
    OffsetFetch::API,
    ListOffsets::API,
    SaslHandshake::API,
    SaslAuthenticate::API,
];

/// What happens to a connection after a request.
enum Next {
    Respond(Vec<u8>),
    /// The connection ends after a part of the response.
    Cut(Vec<u8>),
    /// Bytes that are no frame.
    Garbage(Vec<u8>),
    Hang,
}

/// Serves one connection until it ends.
pub(super) async fn serve(sources: Sources, mut stream: DuplexStream) {
    // A broken connection may be an injected fault.
    let _ = converse(&sources, &mut stream).await;
}

async fn converse(sources: &Sources, stream: &mut DuplexStream) -> io::Result<()> {
    let (mut received, mut is_signed_in) = (Vec::new(), false);
    while stream.read_buf(&mut received).await? > 0 {
        while let Some(request) = frame(&received, FRAME_BYTES_MAX).map_err(io::Error::other)?.map(<[u8]>::to_vec) {
            received.drain(..4 + request.len());
            let Some((key, id, body)) = read_header(&request) else { return Err(io::ErrorKind::InvalidData.into()) };
            let framed = |body: Vec<u8>| {
                let length = i32::try_from(4 + body.len()).expect("it is shorter than the longest frame");
                [&length.to_be_bytes()[..], &id.to_be_bytes(), &body].concat()
            };
            match respond(sources, key, body, &mut is_signed_in) {
                Some(Next::Respond(body)) => stream.write_all(&framed(body)).await?,
                Some(Next::Cut(body)) => {
                    let bytes = framed(body);
                    return stream.write_all(&bytes[..bytes.len() - 1]).await;
                }
                Some(Next::Garbage(bytes)) => stream.write_all(&bytes).await?,
                Some(Next::Hang) => return std::future::pending().await,
                None => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }
    Ok(())
}

fn read_header(request: &[u8]) -> Option<(i16, i32, &[u8])> {
    let name_length = i16::from_be_bytes(request.get(8..10)?.try_into().ok()?);
    let (header, body) = request.split_at_checked(10 + usize::try_from(name_length).ok()?)?;
    let mut header = Body::new(header);
    let (key, _version): (i16, i16) = WireFormat::read(&mut header).ok()?;
    let (id, _client): (i32, String) = WireFormat::read(&mut header).ok()?;
    Some((key, id, body))
}

/// None where the request is not understood. A connection that signed in stays so when the password changes.
fn respond(sources: &Sources, key: i16, body: &[u8], is_signed_in: &mut bool) -> Option<Next> {
    Some(Next::Respond(match key {
        18 => encode(&api_versions()),
        17 => encode(&SaslHandshakeResponse { error_code: ErrorCode::NONE, mechanisms: vec!["PLAIN".to_owned()] }),
        36 => {
            let response = authenticate(sources, &decode(body).ok()?);
            *is_signed_in = response.error_code == ErrorCode::NONE;
            encode(&response)
        }
        3 => encode(&metadata(decode(body).ok()?)),
        10 => encode(&coordinator()),
        9 => encode(&committed(decode(body).ok()?)),
        2 => return list_offsets(sources, decode(body).ok()?, *is_signed_in),
        _ => return None,
    }))
}

fn api_versions() -> ApiVersionsResponse {
    let range = |api: Api| ApiRange { key: api.key, version_min: 0, version_max: api.version };
    ApiVersionsResponse { error_code: ErrorCode::NONE, apis: APIS.into_iter().map(range).collect() }
}

/// The message of PLAIN: an identity, a user and a password.
fn authenticate(sources: &Sources, request: &SaslAuthenticate) -> SaslAuthenticateResponse {
    let text = String::from_utf8_lossy(&request.bytes.0);
    let password = text.rsplit('\0').next().unwrap_or_default();
    let is_accepted = sources.accepts(TOPIC, password);
    SaslAuthenticateResponse {
        error_code: if is_accepted { ErrorCode::NONE } else { ErrorCode::SASL_AUTHENTICATION_FAILED },
        // A broker that repeats what it received.
        message: (!is_accepted).then(|| format!("invalid credentials: {text}")),
        bytes: Bytes::default(),
    }
}

fn metadata(request: Metadata) -> MetadataResponse {
    let topic = |name: String| {
        let partition = PartitionMetadata {
            error_code: ErrorCode::NONE,
            index: 0,
            leader: NODE,
            replicas: vec![NODE],
            in_sync: vec![NODE],
        };
        TopicMetadata { error_code: ErrorCode::NONE, name, is_internal: false, partitions: vec![partition] }
    };
    let broker = Broker { node_id: NODE, host: HOST.to_owned(), port: 9092, rack: None };
    let topics = request.topics.unwrap_or_default().into_iter().map(topic).collect();
    MetadataResponse { throttle_ms: 0, brokers: vec![broker], cluster_id: None, controller_id: NODE, topics }
}

fn coordinator() -> FindCoordinatorResponse {
    FindCoordinatorResponse {
        throttle_ms: 0,
        error_code: ErrorCode::NONE,
        message: None,
        node_id: NODE,
        host: HOST.to_owned(),
        port: 9092,
    }
}

fn committed(request: OffsetFetch) -> OffsetFetchResponse {
    let offset = |index| CommittedOffset { index, offset: 0, metadata: None, error_code: ErrorCode::NONE };
    let topic = |asked: TopicPartitions| CommittedTopic {
        name: asked.name,
        partitions: asked.partitions.into_iter().map(offset).collect(),
    };
    let topics = request.topics.unwrap_or_default().into_iter().map(topic).collect();
    OffsetFetchResponse { throttle_ms: 0, topics, error_code: ErrorCode::NONE }
}

fn list_offsets(sources: &Sources, request: ListOffsets, is_signed_in: bool) -> Option<Next> {
    let name = request.topics.into_iter().next()?.name;
    let listed = |error_code, offset| ListedOffset { index: 0, error_code, timestamp: -1, offset };
    let respond =
        |partitions| encode(&ListOffsetsResponse { topics: vec![ListedTopic { name: name.clone(), partitions }] });
    let failing = |code| Next::Respond(respond(vec![listed(code, 0)]));
    Some(match sources.respond_to_connection(&name, is_signed_in) {
        SourceResponse::Value(value) => Next::Respond(respond(vec![listed(ErrorCode::NONE, value as i64)])),
        SourceResponse::Unauthorized => failing(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        SourceResponse::Faulty(fault) => match fault {
            SourceFault::Fails => failing(ErrorCode::LEADER_NOT_AVAILABLE),
            SourceFault::NamesError => failing(ErrorCode::UNKNOWN_SERVER_ERROR),
            SourceFault::Hangs => Next::Hang,
            SourceFault::Garbage => Next::Garbage(b"HTTP/1.1 503 busy\r\n\r\n".to_vec()),
            SourceFault::Resets => Next::Cut(respond(vec![listed(ErrorCode::NONE, 0)])),
            SourceFault::Partial => Next::Respond(respond(Vec::new())),
            SourceFault::TooMany => Next::Respond(respond(vec![listed(ErrorCode::NONE, 0); 100_000])),
            SourceFault::TooLarge => Next::Garbage([&(40_i32 << 20).to_be_bytes()[..], &[0; 64]].concat()),
        },
    })
}
