//! No outage is a number: what a real broker sent, whole and damaged.

use kedge_wire::kafka::{FRAME_BYTES_MAX, frame};

use super::*;
use crate::recorded_server::Recording;

/// What Kafka 4.3.1 answered, except that its list of requests is cut.
const VERSIONS: &[u8] = b"\0\0\0\x34\0\0\0\x01\0\0\0\0\0\x07\0\x02\0\x01\0\x0b\0\x03\0\0\0\x0d\0\x09\0\x01\0\x0a\0\x0a\0\0\0\x06\0\x0f\0\0\0\x06\0\x11\0\0\0\x01\0\x24\0\0\0\x02";
const LISTED: &[u8] =
    b"\0\0\0*\0\0\0\x04\0\0\0\x01\0\x06orders\0\0\0\x01\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0-";
const FETCHED: &[u8] =
    b"\0\0\0*\0\0\0\x05\0\0\0\0\0\0\0\x01\0\x06orders\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0";
const COORDINATOR: &[u8] = b"\0\0\0#\0\0\0\x03\0\0\0\0\0\0\0\x04NONE\0\0\0\x01\0\x09127.0.0.1\0\0q\xa3";
const METADATA: &[u8] = b"\0\0\0j\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\x01\0\x09127.0.0.1\0\0q\xa3\xff\xff\0\x16kedgekedgekedgekedgekg\0\0\0\x01\0\0\0\x01\0\0\0\x06orders\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01";
const HANDSHAKE: &[u8] =
    b"\0\0\0<\0\0\0\x02\0\0\0\0\0\x04\0\x05PLAIN\0\x0dSCRAM-SHA-512\0\x0dSCRAM-SHA-256\0\x0bOAUTHBEARER";
const AUTHENTICATED: &[u8] = b"\0\0\0\x0c\0\0\0\x03\0\0\0\0\0\0\0\0";

/// The last offset, and a group that has committed none; what is kept begins at 3.
const UNCOMMITTED: &[u8] =
    b"\0\0\0*\0\0\0\x05\0\0\0\0\0\0\0\x01\0\x06orders\0\0\0\x01\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0";
const FIRST: &[u8] =
    b"\0\0\0*\0\0\0\x06\0\0\0\x01\0\x06orders\0\0\0\x01\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\x03";

/// All topics, while the group has a member.
const MEMBERS: &[u8] = b"\0\0\0\x7f\0\0\0\x03\0\0\0\x01\0\0\0\x07workers\0\x13CompletingRebalance\0\x08consumer\0\0\0\0\0\x01\0*kedge-b329728b-8470-44cb-9844-725ff5b8014f\0\x05kedge\0\x0a/127.0.0.1\0\0\0\0\0\0\0\0";
const METADATA_OF_ALL: &[u8] = b"\0\0\0\x9f\0\0\0\x04\0\0\0\0\0\0\0\x01\0\0\0\x01\0\x09127.0.0.1\0\0q\xa3\xff\xff\0\x16kedgekedgekedgekedgekg\0\0\0\x01\0\0\0\x02\0\0\0\x06orders\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x12__consumer_offsets\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01";
const FETCHED_OF_ALL: &[u8] = b"\0\0\0R\0\0\0\x05\0\0\0\0\0\0\0\x02\0\x12__consumer_offsets\0\0\0\x01\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\x06orders\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0";
const LISTED_OF_ALL: &[u8] = b"\0\0\0X\0\0\0\x06\0\0\0\x02\0\x12__consumer_offsets\0\0\0\x01\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\x01\0\x06orders\0\0\0\x01\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0-";

/// The answer with another id.
fn numbered(answer: &[u8], id: u8) -> Vec<u8> {
    let mut answer = answer.to_vec();
    answer[7] = id;
    answer
}

/// A server that answers the first requests so, and these that follow, whose ids it counts on.
fn recording(sign_in: &[&[u8]], exchange: &[&[u8]]) -> Recording {
    let first = u8::try_from(sign_in.len()).unwrap() + 1;
    Recording::new(exchange.iter().zip(first..).map(|(answer, id)| numbered(answer, id)))
        .requests(|bytes| frame(bytes, FRAME_BYTES_MAX).ok()?.map(|frame| frame.len() + 4))
        .sign_in(sign_in)
        .value_bytes(b"\0\0\0\0\0\0\0-")
        .value_bytes(b"\0\0\0\0\0\0\0\x03")
        .value_bytes(&[0xff; 8])
}

fn at_the_broker(sample: Sample) -> Sample {
    sample.with("bootstrapServers", "127.0.0.1:29091").with("lagThreshold", "1000")
}

#[tokio::test(start_paused = true)]
async fn no_outage_is_a_number() {
    let exchange = [METADATA, COORDINATOR, LISTED, FETCHED];
    let sample = at_the_broker(orders());
    recording(&[VERSIONS], &exchange).assert_no_outage_is_a_number(&sample, 42.0).await;
    let signed = sample.with("sasl", "plaintext").auth("username", "worker").auth("password", "w0rker");
    recording(&[VERSIONS, HANDSHAKE, AUTHENTICATED], &exchange).assert_no_outage_is_a_number(&signed, 42.0).await;
}

#[tokio::test(start_paused = true)]
async fn no_outage_is_a_number_where_first_offsets_count() {
    let sample = at_the_broker(orders().with("offsetResetPolicy", "earliest"));
    let exchange = [METADATA, COORDINATOR, LISTED, UNCOMMITTED, FIRST];
    recording(&[VERSIONS], &exchange).assert_no_outage_is_a_number(&sample, 42.0).await;
}

#[tokio::test(start_paused = true)]
async fn no_outage_is_a_number_without_a_topic() {
    let exchange = [COORDINATOR, FETCHED, METADATA, LISTED];
    recording(&[VERSIONS], &exchange).assert_no_outage_is_a_number(&at_the_broker(group()), 42.0).await;
}

#[tokio::test(start_paused = true)]
async fn no_outage_is_a_number_for_the_topics_of_a_cluster() {
    let exchange = [COORDINATOR, MEMBERS, METADATA_OF_ALL, FETCHED_OF_ALL, LISTED_OF_ALL];
    recording(&[VERSIONS], &exchange).assert_no_outage_is_a_number(&at_the_broker(apache()), 43.0).await;
}
