//! For tests: a cluster of brokers in memory, whose topics, groups and errors a test sets.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kedge_wire::kafka::messages::*;
use kedge_wire::kafka::{Body, Bytes, ErrorCode, FRAME_BYTES_MAX, Request, WireFormat, decode, encode, frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::http::Settings;
use crate::http::connector::{BoxStream, Connector};
use crate::recorded_server::http_answer;
use crate::scaler::BoxFuture;
use crate::scram_server::{BegunSignIn, ScramServer};
use crate::shared::Shared;
use crate::{NoCluster, Registry};

#[derive(Clone, Default)]
pub(super) struct FakeCluster(Arc<Mutex<State>>);

/// What a test can set, and what it can see.
#[derive(Default)]
pub(super) struct State {
    /// Node ids by `host:port`. Other hosts are bootstrap addresses of the same cluster.
    pub(super) nodes: BTreeMap<i32, String>,
    pub(super) topics: BTreeMap<String, Vec<FakePartition>>,
    /// What groups have committed.
    pub(super) committed: HashMap<(String, i32), i64>,
    pub(super) coordinator: i32,
    /// The members of every group.
    pub(super) members: usize,
    /// The errors that the next requests of a kind get, in the first place that has one.
    pub(super) errors: Vec<(&'static str, ErrorCode)>,
    /// Hosts that refuse connections, beside those whose name begins with `gone`.
    pub(super) refused_hosts: Vec<&'static str>,
    /// How many connections were refused, after a moment each.
    pub(super) refused: usize,
    /// Connections that are open.
    pub(super) open: usize,
    /// Answers to requests of this kind take so long.
    pub(super) slow: Option<(&'static str, Duration)>,
    /// A topic that is part of every answer about topics.
    pub(super) extra_topic: Option<&'static str>,
    /// What the first message of a sign-in gets.
    pub(super) challenge: Option<&'static str>,
    /// Who knows the password, where users sign in by SCRAM.
    pub(super) scram: Option<ScramServer>,
    /// Sign-ins by SCRAM that have begun.
    pub(super) begun: Vec<BegunSignIn>,
    /// The only token that is accepted.
    pub(super) token: Option<&'static str>,
    /// The names of topics that were asked for.
    pub(super) asked_topics: Vec<String>,
    /// How many tokens were requested.
    pub(super) tokens: usize,
    /// Requests that the brokers do not know.
    pub(super) unknown: Vec<&'static str>,
    /// Hosts that accept connections, and never answer.
    pub(super) hung_hosts: Vec<&'static str>,
    /// Requests of this kind get no answer.
    pub(super) hangs: Option<&'static str>,
    /// Connections end after so many answers.
    pub(super) answers_max: Option<usize>,
    pub(super) mechanisms: Vec<&'static str>,
    /// What was asked of whom.
    pub(super) asked: Vec<(String, &'static str)>,
    pub(super) connected: Vec<String>,
    pub(super) authenticated: Vec<Vec<u8>>,
}

#[derive(Clone, Copy)]
pub(super) struct FakePartition {
    pub(super) leader: i32,
    /// −1: it is no part of answers.
    pub(super) first: i64,
    pub(super) latest: i64,
    /// Whether its last offset is part of answers.
    pub(super) is_listed: bool,
}

pub(super) fn partition(leader: i32, latest: i64) -> FakePartition {
    FakePartition { leader, first: 0, latest, is_listed: true }
}

impl FakeCluster {
    /// Two brokers; topic `orders` with 45 messages in each of two partitions, of which group `workers` has committed 3 each.
    pub(super) fn new() -> Self {
        let fake = Self::default();
        let mut state = fake.state();
        state.nodes = [(1, "kafka-1:9092".to_owned()), (2, "kafka-2:9092".to_owned())].into();
        state.topics.insert("orders".to_owned(), vec![partition(1, 45), partition(2, 45)]);
        state.committed = [(("orders".to_owned(), 0), 3), (("orders".to_owned(), 1), 3)].into();
        (state.coordinator, state.members) = (2, 1);
        drop(state);
        fake
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// How often something was asked since the last call of `forget`.
    pub(super) fn count(&self, api: &str) -> usize {
        self.state().asked.iter().filter(|(_, asked)| *asked == api).count()
    }

    pub(super) fn forget(&self) {
        self.state().asked.clear();
    }

    pub(super) fn registry(&self) -> Registry {
        Registry::new(Settings::default(), self.connector(), Arc::new(NoCluster))
    }

    pub(super) fn shared(&self) -> Shared {
        self.shared_with(Settings::default())
    }

    pub(super) fn shared_with(&self, settings: Settings) -> Shared {
        Shared::new(settings, self.connector(), Arc::new(NoCluster))
    }

    pub(super) fn connector(&self) -> Connector {
        let fake = self.clone();
        Connector::new(move |uri: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            let host = uri.authority().map(ToString::to_string).unwrap_or_default();
            let fake = fake.clone();
            Box::pin(async move {
                if host.starts_with("gone") || fake.state().refused_hosts.contains(&host.as_str()) {
                    fake.state().refused += 1;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    return Err(io::ErrorKind::ConnectionRefused.into());
                }
                let (ours, theirs) = tokio::io::duplex(1 << 16);
                if host.starts_with("login") {
                    tokio::spawn(fake.serve_token(theirs));
                } else {
                    fake.state().connected.push(host.clone());
                    fake.state().open += 1;
                    tokio::spawn(async move {
                        fake.serve(theirs, host).await;
                        fake.state().open -= 1;
                    });
                }
                Ok(Box::new(ours) as BoxStream)
            })
        })
    }

    async fn serve(&self, mut stream: DuplexStream, host: String) {
        let (mut received, mut buffer, mut answered) = (Vec::new(), vec![0; 1 << 16], 0);
        loop {
            while let Some(request) = frame(&received, FRAME_BYTES_MAX).unwrap().map(<[u8]>::to_vec) {
                received.drain(..4 + request.len());
                let is_refused = self.state().refused_hosts.contains(&host.as_str());
                let answers_max = self.state().answers_max;
                if is_refused || answers_max.is_some_and(|most| answered >= most) {
                    return;
                }
                let Some((name, answer)) = self.answer(&host, &request) else { return std::future::pending().await };
                let slow = self.state().slow.filter(|(slow, _)| *slow == name);
                tokio::time::sleep(slow.map_or(Duration::ZERO, |(_, took)| took)).await;
                let length = i32::try_from(answer.len()).unwrap();
                if stream.write_all(&[&length.to_be_bytes(), answer.as_slice()].concat()).await.is_err() {
                    return;
                }
                answered += 1;
            }
            match stream.read(&mut buffer).await {
                Ok(read @ 1..) => received.extend_from_slice(&buffer[..read]),
                _ => return,
            }
        }
    }

    fn answer(&self, host: &str, request: &[u8]) -> Option<(&'static str, Vec<u8>)> {
        let (header, body) = request.split_at(15);
        let mut header = Body::new(header);
        let (key, _version): (i16, i16) = WireFormat::read(&mut header).unwrap();
        let (id, _client): (i32, String) = WireFormat::read(&mut header).unwrap();
        let (name, answer) = self.state().dispatch(key, body);
        let mut state = self.state();
        state.asked.push((host.to_owned(), name));
        if state.hangs == Some(name) || state.hung_hosts.contains(&host) {
            return None;
        }
        Some((name, [id.to_be_bytes().to_vec(), answer].concat()))
    }

    async fn serve_token(self, mut stream: DuplexStream) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(1..) = stream.read(&mut buffer).await {
            self.state().tokens += 1;
            let answer = http_answer("200 OK", r#"{"access_token":"t0ken","expires_in":60}"#);
            if stream.write_all(&answer).await.is_err() {
                return;
            }
        }
    }
}

/// The answer to a message of OAUTHBEARER: to another token a challenge, and none to what follows that.
fn accept_token(message: &str, token: &str) -> Option<String> {
    let is_right = message.contains(&format!("auth=Bearer {token}\u{1}"));
    let challenge = if is_right { "" } else { r#"{"status":"invalid_token"}"# };
    (message != "\u{1}").then(|| challenge.to_owned())
}

impl State {
    fn error(&mut self, api: &str) -> ErrorCode {
        let position = self.errors.iter().position(|(of, _)| *of == api);
        position.map_or(ErrorCode::NONE, |position| self.errors.remove(position).1)
    }

    fn dispatch(&mut self, key: i16, body: &[u8]) -> (&'static str, Vec<u8>) {
        match key {
            18 => (ApiVersions::API.name, encode(&self.versions())),
            17 => (SaslHandshake::API.name, encode(&self.handshake(&decode(body).unwrap()))),
            36 => (SaslAuthenticate::API.name, encode(&self.authenticate(decode(body).unwrap()))),
            3 => (Metadata::API.name, encode(&self.metadata(decode(body).unwrap()))),
            10 => (FindCoordinator::API.name, encode(&self.find_coordinator())),
            9 => (OffsetFetch::API.name, encode(&self.fetch_offsets(decode(body).unwrap()))),
            2 => (ListOffsets::API.name, encode(&self.list_offsets(decode(body).unwrap()))),
            15 => (DescribeGroups::API.name, encode(&self.describe_groups(decode(body).unwrap()))),
            other => panic!("request {other} is not expected"),
        }
    }

    fn versions(&mut self) -> ApiVersionsResponse {
        let mut apis = vec![Metadata::API, FindCoordinator::API, OffsetFetch::API, ListOffsets::API];
        apis.extend([SaslHandshake::API, SaslAuthenticate::API, DescribeGroups::API]);
        apis.retain(|api| !self.unknown.contains(&api.name));
        let old = self.error("ApiVersions") != ErrorCode::NONE;
        let range = |api: kedge_wire::kafka::Api| ApiRange {
            key: api.key,
            version_min: 0,
            version_max: if old { 0 } else { api.version },
        };
        ApiVersionsResponse { error_code: ErrorCode::NONE, apis: apis.into_iter().map(range).collect() }
    }

    fn handshake(&mut self, request: &SaslHandshake) -> SaslHandshakeResponse {
        let knows = self.mechanisms.contains(&request.mechanism.as_str());
        SaslHandshakeResponse {
            error_code: if knows { ErrorCode::NONE } else { ErrorCode::UNSUPPORTED_SASL_MECHANISM },
            mechanisms: self.mechanisms.iter().map(ToString::to_string).collect(),
        }
    }

    fn authenticate(&mut self, request: SaslAuthenticate) -> SaslAuthenticateResponse {
        let message = String::from_utf8_lossy(&request.bytes.0).into_owned();
        self.authenticated.push(request.bytes.0);
        let mut error_code = self.error("SaslAuthenticate");
        let answer = match (self.challenge.take(), self.token) {
            (Some(challenge), _) => Some(challenge.to_owned()),
            (None, Some(token)) => accept_token(&message, token),
            (None, None) => self.continue_scram(&message),
        };
        if answer.is_none() {
            error_code = ErrorCode::SASL_AUTHENTICATION_FAILED;
        }
        let message = error_code.error().map(|_| "Authentication failed: hunter2 is wrong, t0ken too".to_owned());
        SaslAuthenticateResponse { error_code, message, bytes: Bytes(answer.unwrap_or_default().into_bytes()) }
    }

    /// The answer to a message of SCRAM; none to one that proves nothing.
    fn continue_scram(&mut self, message: &str) -> Option<String> {
        let Some(server) = &self.scram else { return Some(String::new()) };
        if message.starts_with("n,,") {
            let begun = BegunSignIn::new(message);
            let answer = begun.server_first.clone();
            self.begun.push(begun);
            return Some(answer);
        }
        server.end(self.begun.iter().find(|begun| begun.is_continued_by(message))?, message)
    }

    fn metadata(&mut self, request: Metadata) -> MetadataResponse {
        let mut names = request.topics.unwrap_or_else(|| self.topics.keys().cloned().collect());
        self.asked_topics.extend_from_slice(&names);
        names.extend(self.extra_topic.map(str::to_owned));
        let error = self.error("Metadata");
        let topic = |name: String| {
            let partitions = self.topics.get(&name);
            let listed = partitions.into_iter().flatten().zip(0..).map(|(one, index)| PartitionMetadata {
                error_code: ErrorCode::NONE,
                index,
                leader: one.leader,
                replicas: vec![1],
                in_sync: vec![1],
            });
            let missing = if partitions.is_some() { error } else { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION };
            TopicMetadata { error_code: missing, name, is_internal: false, partitions: listed.collect() }
        };
        let topics = names.into_iter().map(topic).collect();
        let brokers = self.nodes.iter().map(|(node_id, address)| {
            let (host, port) = address.split_once(':').unwrap();
            Broker { node_id: *node_id, host: host.to_owned(), port: port.parse().unwrap(), rack: None }
        });
        MetadataResponse { throttle_ms: 0, brokers: brokers.collect(), cluster_id: None, controller_id: 1, topics }
    }

    fn find_coordinator(&mut self) -> FindCoordinatorResponse {
        let error_code = self.error("FindCoordinator");
        let (host, port) = self.nodes[&self.coordinator].split_once(':').unwrap();
        let (host, port) = (host.to_owned(), port.parse().unwrap());
        FindCoordinatorResponse { throttle_ms: 0, error_code, message: None, node_id: self.coordinator, host, port }
    }

    fn fetch_offsets(&mut self, request: OffsetFetch) -> OffsetFetchResponse {
        let asked = request.topics.unwrap_or_else(|| {
            let mut topics = BTreeMap::<String, Vec<i32>>::new();
            for (topic, index) in self.committed.keys() {
                topics.entry(topic.clone()).or_default().push(*index);
            }
            topics.into_iter().map(|(name, partitions)| TopicPartitions { name, partitions }).collect()
        });
        let topic = |asked: TopicPartitions| {
            let committed = asked.partitions.iter().map(|index| CommittedOffset {
                index: *index,
                offset: self.committed.get(&(asked.name.clone(), *index)).copied().unwrap_or(-1),
                metadata: None,
                error_code: ErrorCode::NONE,
            });
            CommittedTopic { partitions: committed.collect(), name: asked.name }
        };
        let topics = asked.into_iter().map(topic).collect();
        OffsetFetchResponse { throttle_ms: 0, topics, error_code: self.error("OffsetFetch") }
    }

    fn list_offsets(&mut self, request: ListOffsets) -> ListOffsetsResponse {
        let error_code = self.error("ListOffsets");
        let topic = |asked: ListOffsetsTopic| {
            let all = self.topics.get(&asked.name);
            let listed = asked.partitions.iter().filter_map(|partition| {
                let index = usize::try_from(partition.index).ok();
                let Some(one) = all.zip(index).and_then(|(all, index)| all.get(index)) else {
                    let error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
                    return Some(ListedOffset { index: partition.index, error_code, timestamp: -1, offset: -1 });
                };
                let offset = if partition.timestamp == -1 { one.latest } else { one.first };
                let listed = ListedOffset { index: partition.index, error_code, timestamp: -1, offset };
                (offset >= 0 && one.is_listed).then_some(listed)
            });
            ListedTopic { partitions: listed.collect(), name: asked.name }
        };
        ListOffsetsResponse { topics: request.topics.into_iter().map(topic).collect() }
    }

    fn describe_groups(&mut self, request: DescribeGroups) -> DescribeGroupsResponse {
        let member = GroupMember {
            member_id: "m".to_owned(),
            client_id: "c".to_owned(),
            client_host: "/h".to_owned(),
            metadata: Bytes::default(),
            assignment: Bytes::default(),
        };
        let group = |group: String| DescribedGroup {
            error_code: ErrorCode::NONE,
            group,
            state: if self.members > 0 { "Stable" } else { "Dead" }.to_owned(),
            protocol_type: "consumer".to_owned(),
            protocol: "range".to_owned(),
            members: vec![member.clone(); self.members],
        };
        DescribeGroupsResponse { groups: request.groups.into_iter().map(group).collect() }
    }
}
