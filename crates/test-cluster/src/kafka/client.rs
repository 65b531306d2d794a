//! Makes topics, messages and offsets.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail};
use kedge_wire::kafka::messages::{FindCoordinator, Metadata, TopicMetadata};
use kedge_wire::kafka::{
    Bytes, ErrorCode, FRAME_BYTES_MAX, LENGTH_BYTES, Request, WireFormat, decode, encode, encode_request, frame,
    response_body,
};
use kedge_wire::kafka_messages;

use crate::wait::{DEADLINE, wait_for};

const TIMEOUT: Duration = Duration::from_secs(60);

kafka_messages! {
    CreateTopics = "CreateTopics" 19 2 => CreateTopicsResponse { topics: Vec<NewTopic>, timeout_ms: i32, validate_only: bool }
    NewTopic { name: String, partitions: i32, replicas: i16, assignments: Vec<i32>, configs: Vec<i32> }
    CreateTopicsResponse { throttle_ms: i32, topics: Vec<CreatedTopic> }
    CreatedTopic { name: String, error_code: ErrorCode, message: Option<String> }

    DeleteTopics = "DeleteTopics" 20 1 => DeleteTopicsResponse { names: Vec<String>, timeout_ms: i32 }
    DeleteTopicsResponse { throttle_ms: i32, topics: Vec<DeletedTopic> }
    DeletedTopic { name: String, error_code: ErrorCode }

    Produce = "Produce" 0 3 => ProduceResponse { transaction: Option<String>, acks: i16, timeout_ms: i32, topics: Vec<ProducedTopic> }
    ProducedTopic { name: String, partitions: Vec<ProducedPartition> }
    ProducedPartition { index: i32, records: Bytes }
    ProduceResponse { topics: Vec<StoredTopic>, throttle_ms: i32 }
    StoredTopic { name: String, partitions: Vec<StoredPartition> }
    StoredPartition { index: i32, error_code: ErrorCode, offset: i64, time: i64 }

    DeleteRecords = "DeleteRecords" 21 0 => DeleteRecordsResponse { topics: Vec<CutTopic>, timeout_ms: i32 }
    CutTopic { name: String, partitions: Vec<CutPartition> }
    CutPartition { index: i32, offset: i64 }
    DeleteRecordsResponse { throttle_ms: i32, topics: Vec<RemainingTopic> }
    RemainingTopic { name: String, partitions: Vec<RemainingPartition> }
    RemainingPartition { index: i32, first: i64, error_code: ErrorCode }

    OffsetCommit = "OffsetCommit" 8 2 => OffsetCommitResponse {
        group: String,
        generation: i32,
        member: String,
        retention_ms: i64,
        topics: Vec<CommitTopic>,
    }
    CommitTopic { name: String, partitions: Vec<CommitPartition> }
    CommitPartition { index: i32, offset: i64, metadata: Option<String> }
    OffsetCommitResponse { topics: Vec<NotedTopic> }
    NotedTopic { name: String, partitions: Vec<NotedPartition> }
    NotedPartition { index: i32, error_code: ErrorCode }

    JoinGroup = "JoinGroup" 11 2 => JoinGroupResponse {
        group: String,
        session_timeout_ms: i32,
        rebalance_timeout_ms: i32,
        member: String,
        protocol_type: String,
        protocols: Vec<GroupProtocol>,
    }
    GroupProtocol { name: String, metadata: Bytes }
    JoinGroupResponse {
        throttle_ms: i32,
        error_code: ErrorCode,
        generation: i32,
        protocol: String,
        leader: String,
        member: String,
        members: Vec<JoinedMember>,
    }
    JoinedMember { member: String, metadata: Bytes }
}

/// A connection to a broker. What it sends is of a cluster of one broker.
#[derive(Debug)]
pub struct KafkaClient {
    stream: TcpStream,
    id: i32,
}

impl KafkaClient {
    pub(super) fn connect(port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { stream, id: 0 })
    }

    /// The response to any request.
    pub fn ask<R: Request>(&mut self, request: &R) -> anyhow::Result<R::Response> {
        self.id += 1;
        self.stream.write_all(&encode_request(R::API, &encode(request), self.id, "kedge-tests"))?;
        let mut received = vec![0; LENGTH_BYTES];
        self.stream.read_exact(&mut received)?;
        let length = u32::from_be_bytes(received[..].try_into()?);
        received.resize(LENGTH_BYTES + usize::try_from(length)?, 0);
        self.stream.read_exact(&mut received[LENGTH_BYTES..])?;
        let frame = frame(&received, FRAME_BYTES_MAX)?.context("a whole frame was received")?;
        Ok(decode(response_body(frame, self.id)?)?)
    }

    /// Asks until the broker has no error.
    async fn until_done<R: Request>(
        &mut self,
        request: &R,
        error: impl Fn(&R::Response) -> Option<ErrorCode>,
    ) -> anyhow::Result<R::Response> {
        wait_for(R::API.name, DEADLINE, async || match self.ask(request) {
            Err(failure) => Ok(Err(failure)),
            Ok(answer) => match error(&answer).filter(|code| *code != ErrorCode::NONE) {
                None => Ok(Ok(answer)),
                Some(code) => Err(code),
            },
        })
        .await?
    }

    /// Returns when every partition has a leader.
    pub async fn create_topic(&mut self, name: &str, partitions: i32) -> anyhow::Result<()> {
        let topic =
            NewTopic { name: name.to_owned(), partitions, replicas: 1, assignments: Vec::new(), configs: Vec::new() };
        let answer = self.ask(&CreateTopics { topics: vec![topic], timeout_ms: 30_000, validate_only: false })?;
        match answer.topics.first().map(|topic| topic.error_code) {
            Some(ErrorCode::NONE) => {}
            other => bail!("the topic {name} cannot be created: {other:?}"),
        }
        let request = Metadata { topics: Some(vec![name.to_owned()]), creates_topics: false };
        wait_for("the topic has leaders", DEADLINE, async || match self.ask(&request) {
            Err(failure) => Ok(Err(failure)),
            Ok(answer) => match answer.topics.first() {
                Some(topic) if has_leaders(topic, partitions) => Ok(Ok(())),
                seen => Err(format!("{seen:?}")),
            },
        })
        .await?
    }

    pub async fn delete_topic(&mut self, name: &str) -> anyhow::Result<()> {
        let request = DeleteTopics { names: vec![name.to_owned()], timeout_ms: 30_000 };
        self.until_done(&request, |answer| Some(answer.topics.first()?.error_code)).await.map(drop)
    }

    /// Sends so many messages to a partition.
    pub async fn produce(&mut self, topic: &str, index: i32, count: i32) -> anyhow::Result<()> {
        let partitions = vec![ProducedPartition { index, records: Bytes(record_batch(count)) }];
        let topics = vec![ProducedTopic { name: topic.to_owned(), partitions }];
        let request = Produce { transaction: None, acks: -1, timeout_ms: 30_000, topics };
        let error = |answer: &ProduceResponse| Some(answer.topics.first()?.partitions.first()?.error_code);
        self.until_done(&request, error).await.map(drop)
    }

    /// Deletes the messages of a partition before an offset.
    pub async fn delete_before(&mut self, topic: &str, index: i32, offset: i64) -> anyhow::Result<()> {
        let topics = vec![CutTopic { name: topic.to_owned(), partitions: vec![CutPartition { index, offset }] }];
        let error = |answer: &DeleteRecordsResponse| Some(answer.topics.first()?.partitions.first()?.error_code);
        self.until_done(&DeleteRecords { topics, timeout_ms: 30_000 }, error).await.map(drop)
    }

    /// Commits an offset of a group.
    pub async fn commit(&mut self, group: &str, topic: &str, index: i32, offset: i64) -> anyhow::Result<()> {
        self.find_coordinator(group).await?;
        let partitions = vec![CommitPartition { index, offset, metadata: None }];
        let request = OffsetCommit {
            group: group.to_owned(),
            generation: -1,
            member: String::new(),
            retention_ms: -1,
            topics: vec![CommitTopic { name: topic.to_owned(), partitions }],
        };
        let error = |answer: &OffsetCommitResponse| Some(answer.topics.first()?.partitions.first()?.error_code);
        self.until_done(&request, error).await.map(drop)
    }

    /// Becomes a member of a group, until this value is dropped or a while has passed.
    pub async fn join(&mut self, group: &str) -> anyhow::Result<()> {
        self.find_coordinator(group).await?;
        let request = JoinGroup {
            group: group.to_owned(),
            session_timeout_ms: 60_000,
            rebalance_timeout_ms: 60_000,
            member: String::new(),
            protocol_type: "consumer".to_owned(),
            protocols: vec![GroupProtocol { name: "range".to_owned(), metadata: Bytes::default() }],
        };
        self.until_done(&request, |answer| Some(answer.error_code)).await.map(drop)
    }

    /// Returns when a broker has the offsets of the group.
    pub async fn find_coordinator(&mut self, group: &str) -> anyhow::Result<()> {
        let request = FindCoordinator { key: group.to_owned(), key_type: FindCoordinator::GROUP };
        self.until_done(&request, |answer| Some(answer.error_code)).await.map(drop)
    }
}

fn has_leaders(topic: &TopicMetadata, partitions: i32) -> bool {
    let led = topic.partitions.iter().filter(|one| one.error_code == ErrorCode::NONE && one.leader >= 0).count();
    topic.error_code == ErrorCode::NONE && i32::try_from(led).is_ok_and(|led| led == partitions)
}

/// A batch of messages, format 2.
fn record_batch(count: i32) -> Vec<u8> {
    let mut checked = Vec::new();
    0_i16.write(&mut checked); // attributes: not compressed
    (count - 1).write(&mut checked);
    (0_i64, 0_i64).write(&mut checked); // times
    (-1_i64, (-1_i16, -1_i32)).write(&mut checked); // no producer that could repeat itself
    count.write(&mut checked);
    for offset in 0..count {
        let mut record = vec![0]; // attributes
        for number in [0, offset, -1, 1] {
            write_varint(number, &mut record); // time, offset, no key, a value of one byte
        }
        record.push(b'x');
        write_varint(0, &mut record); // headers
        write_varint(i32::try_from(record.len()).unwrap_or(i32::MAX), &mut checked);
        checked.extend(record);
    }
    let mut batch = Vec::new();
    0_i64.write(&mut batch);
    i32::try_from(9 + checked.len()).unwrap_or(i32::MAX).write(&mut batch);
    (-1_i32, 2_i8).write(&mut batch);
    batch.extend(crc32c(&checked).to_be_bytes());
    batch.extend(checked);
    batch
}

fn write_varint(number: i32, to: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 31)).cast_unsigned();
    while rest >= 0x80 {
        to.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    to.push(rest as u8);
}

fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_castagnoli() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(record_batch(1).len(), 61 + 8);
    }
}
