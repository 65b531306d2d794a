//! The requests for offsets, groups and signing in, with their responses.

use super::error_code::ErrorCode;
use super::format::Bytes;
use crate::kafka_messages;

kafka_messages! {
    /// Which requests the broker knows.
    ApiVersions = "ApiVersions" 18 0 => ApiVersionsResponse {}
    ApiVersionsResponse { error_code: ErrorCode, apis: Vec<ApiRange> }
    ApiRange { key: i16, version_min: i16, version_max: i16 }

    SaslHandshake = "SaslHandshake" 17 1 => SaslHandshakeResponse { mechanism: String }
    SaslHandshakeResponse { error_code: ErrorCode, mechanisms: Vec<String> }
    SaslAuthenticate = "SaslAuthenticate" 36 0 => SaslAuthenticateResponse { bytes: Bytes }
    SaslAuthenticateResponse { error_code: ErrorCode, message: Option<String>, bytes: Bytes }

    /// The brokers, and the partitions of topics.
    Metadata = "Metadata" 3 4 => MetadataResponse {
        /// None means all.
        topics: Option<Vec<String>>,
        creates_topics: bool,
    }
    MetadataResponse {
        throttle_ms: i32,
        brokers: Vec<Broker>,
        cluster_id: Option<String>,
        controller_id: i32,
        topics: Vec<TopicMetadata>,
    }
    Broker { node_id: i32, host: String, port: i32, rack: Option<String> }
    TopicMetadata { error_code: ErrorCode, name: String, is_internal: bool, partitions: Vec<PartitionMetadata> }
    PartitionMetadata { error_code: ErrorCode, index: i32, leader: i32, replicas: Vec<i32>, in_sync: Vec<i32> }

    /// The broker that has the offsets of a group.
    FindCoordinator = "FindCoordinator" 10 1 => FindCoordinatorResponse { key: String, key_type: i8 }
    FindCoordinatorResponse {
        throttle_ms: i32,
        error_code: ErrorCode,
        message: Option<String>,
        node_id: i32,
        host: String,
        port: i32,
    }

    /// The offsets that a group has committed.
    OffsetFetch = "OffsetFetch" 9 3 => OffsetFetchResponse {
        group: String,
        /// None means all that have one.
        topics: Option<Vec<TopicPartitions>>,
    }
    TopicPartitions { name: String, partitions: Vec<i32> }
    OffsetFetchResponse { throttle_ms: i32, topics: Vec<CommittedTopic>, error_code: ErrorCode }
    CommittedTopic { name: String, partitions: Vec<CommittedOffset> }
    CommittedOffset { index: i32, offset: i64, metadata: Option<String>, error_code: ErrorCode }

    /// The first or the last offsets of partitions, of the broker that leads them.
    ListOffsets = "ListOffsets" 2 1 => ListOffsetsResponse {
        /// −1: a consumer.
        replica_id: i32,
        topics: Vec<ListOffsetsTopic>,
    }
    ListOffsetsTopic { name: String, partitions: Vec<ListOffsetsPartition> }
    ListOffsetsPartition { index: i32, timestamp: i64 }
    ListOffsetsResponse { topics: Vec<ListedTopic> }
    ListedTopic { name: String, partitions: Vec<ListedOffset> }
    ListedOffset { index: i32, error_code: ErrorCode, timestamp: i64, offset: i64 }

    /// The members of groups.
    DescribeGroups = "DescribeGroups" 15 0 => DescribeGroupsResponse { groups: Vec<String> }
    DescribeGroupsResponse { groups: Vec<DescribedGroup> }
    DescribedGroup {
        error_code: ErrorCode,
        group: String,
        state: String,
        protocol_type: String,
        protocol: String,
        members: Vec<GroupMember>,
    }
    GroupMember { member_id: String, client_id: String, client_host: String, metadata: Bytes, assignment: Bytes }
}

impl FindCoordinator {
    /// The kind of key that names a consumer group.
    pub const GROUP: i8 = 0;
}

impl ListOffsetsPartition {
    /// Asks for the offset of the next message.
    pub const LATEST: i64 = -1;
    /// Asks for the offset of the first message that is kept.
    pub const EARLIEST: i64 = -2;
}
