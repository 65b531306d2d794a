//! What the triggers of a fleet ask: one server for all objects.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use kedge_test_cluster::cargo;
use kedge_test_cluster::example_scaler::ExampleScaler;
use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use kedge_test_cluster::kafka::{KafkaClient, KafkaServer};
use kedge_test_cluster::moto::Moto;
use kedge_test_cluster::redis::{RedisServer, RedisServers};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::kafka_relay::{KafkaRelay, Unconnected};

/// Half of the target: one replica.
const LOAD: usize = 5;

/// The topic of all Kafka triggers, and the group of those that share one.
const TOPIC: &str = "jobs";

/// The name of the Secret and of the TriggerAuthentication.
const CREDENTIALS: &str = "source";

/// What the triggers are. The value of a cron trigger cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum TriggerType {
    Prometheus,
    /// Always in its window.
    Cron,
    /// All with the queue of one external scaler.
    External,
    /// Each with a list of one server.
    Redis,
    /// Each with a group of its own, of one topic of one broker.
    Kafka,
    /// All with one group of one topic of one broker.
    KafkaOneGroup,
    /// Each with a queue of moto.
    AwsSqsQueue,
}

pub(super) enum Source {
    Http(HttpSource),
    Nothing,
    External(ExampleScaler),
    Redis {
        _servers: RedisServers,
        server: RedisServer,
        /// How many commands it had executed when they were counted last.
        counted: AtomicUsize,
    },
    Kafka {
        _server: KafkaServer,
        relay: KafkaRelay,
        client: Mutex<KafkaClient>,
        groups: Groups,
    },
    Sqs {
        moto: Moto,
        /// How many requests it had answered when they were counted last.
        counted: AtomicUsize,
    },
}

/// Which groups the triggers of a fleet have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Groups {
    OneForEach,
    OneForAll,
}

impl Groups {
    fn of(self, name: &str) -> &str {
        match self {
            Self::OneForEach => name,
            Self::OneForAll => TOPIC,
        }
    }
}

impl Source {
    pub(super) async fn start(trigger_type: TriggerType) -> anyhow::Result<Self> {
        Ok(match trigger_type {
            TriggerType::Prometheus => Self::Http(HttpSource::start().await?),
            TriggerType::Cron => Self::Nothing,
            TriggerType::External => Self::External(start_scaler().await?),
            TriggerType::Redis => {
                let mut servers = RedisServers::prepare("bench-redis").await?;
                let server = servers.start("redis", &[]).await?;
                Self::Redis { _servers: servers, server, counted: AtomicUsize::new(0) }
            }
            TriggerType::Kafka => start_kafka(Groups::OneForEach).await?,
            TriggerType::KafkaOneGroup => start_kafka(Groups::OneForAll).await?,
            TriggerType::AwsSqsQueue => {
                Self::Sqs { moto: Moto::start("bench-moto").await?, counted: AtomicUsize::new(0) }
            }
        })
    }

    /// The port that queries arrive at.
    pub(super) fn port(&self) -> Option<u16> {
        let port_of = |url: &str| url.trim_end_matches('/').rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        match self {
            Self::Http(source) => port_of(&source.url()),
            Self::Nothing => None,
            Self::External(scaler) => port_of(&scaler.address()),
            Self::Redis { server, .. } => Some(server.port()),
            Self::Kafka { relay, .. } => Some(relay.port()),
            Self::Sqs { moto, .. } => port_of(&moto.url()),
        }
    }

    /// Gives the triggers of these names as much load as one replica needs, or none.
    pub(super) async fn set_load(&self, names: &[String], is_active: bool) -> anyhow::Result<()> {
        let load = if is_active { LOAD } else { 0 };
        match self {
            Self::Http(source) => names.iter().for_each(|name| source.set(name, SourceResponse::Value(load as f64))),
            Self::Nothing => {}
            Self::External(scaler) => scaler.set(&load.to_string()),
            Self::Redis { server, .. } => {
                for name in names {
                    server.ask(&["DEL", name])?;
                    let entries = std::iter::repeat_n("job", load);
                    if is_active {
                        server.ask(&["RPUSH", name].into_iter().chain(entries).collect::<Vec<_>>())?;
                    }
                }
            }
            Self::Kafka { client, groups, .. } => {
                let mut client = client.lock().await;
                // The load is what the group has not committed of the messages that are there.
                let committed = i64::try_from(LOAD - load)?;
                let named: BTreeSet<&str> = names.iter().map(|name| groups.of(name)).collect();
                for group in named {
                    client.commit(group, TOPIC, 0, committed).await?;
                }
            }
            Self::Sqs { moto, .. } => {
                for name in names {
                    // One that exists is not created again.
                    moto.ask("sqs", "AmazonSQS.CreateQueue", &json!({ "QueueName": name })).await?;
                    moto.ask("sqs", "AmazonSQS.PurgeQueue", &json!({ "QueueUrl": name })).await?;
                    let message = |id: usize| json!({ "Id": id.to_string(), "MessageBody": "job" });
                    let messages: Vec<Value> = (0..load).map(message).collect();
                    if is_active {
                        let batch = json!({ "QueueUrl": name, "Entries": messages });
                        moto.ask("sqs", "AmazonSQS.SendMessageBatch", &batch).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// How many queries arrived since this was last called, where the source counts them.
    pub(super) fn take_queries(&self) -> anyhow::Result<Option<usize>> {
        match self {
            Self::Http(source) => Ok(Some(source.take_received().len())),
            Self::Redis { server, counted, .. } => {
                let now = executed_commands(server)?;
                Ok(Some(now - counted.swap(now, Ordering::Relaxed)))
            }
            Self::Kafka { relay, .. } => Ok(Some(relay.take_requests())),
            Self::Sqs { moto, counted } => {
                let now = moto.requests()?;
                Ok(Some(now - counted.swap(now, Ordering::Relaxed)))
            }
            Self::Nothing | Self::External(_) => Ok(None),
        }
    }

    /// A trigger with a target of twice the load.
    pub(super) fn trigger(&self, name: &str) -> Value {
        let target = (2 * LOAD).to_string();
        match self {
            Self::Http(source) => {
                let metadata = json!({ "serverAddress": source.url(), "query": name, "threshold": target });
                json!({ "type": "prometheus", "metadata": metadata })
            }
            Self::Nothing => {
                let (start, end) = ("0 0 1 1 *", "59 23 31 12 *");
                let metadata = json!({ "timezone": "Etc/UTC", "start": start, "end": end, "desiredReplicas": "1" });
                json!({ "type": "cron", "metadata": metadata })
            }
            Self::External(scaler) => {
                let metadata = json!({ "scalerAddress": scaler.address(), "targetLength": target });
                json!({ "type": "external", "metadata": metadata })
            }
            Self::Redis { server, .. } => {
                let metadata = json!({ "address": server.address(), "listName": name, "listLength": target });
                json!({ "type": "redis", "metadata": metadata })
            }
            Self::Kafka { relay, groups, .. } => {
                let metadata = json!({
                    "bootstrapServers": format!("127.0.0.1:{}", relay.port()), "topic": TOPIC, "consumerGroup": groups.of(name), "lagThreshold": target,
                    // Groups that have no load yet have committed nothing.
                    "scaleToZeroOnInvalidOffset": "true",
                });
                json!({ "type": "kafka", "metadata": metadata })
            }
            Self::Sqs { moto, .. } => {
                let metadata = json!({
                    "queueURL": name, "awsRegion": "eu-west-1", "awsEndpoint": moto.url(), "queueLength": target,
                });
                json!({ "type": "aws-sqs-queue", "metadata": metadata, "authenticationRef": { "name": CREDENTIALS } })
            }
        }
    }

    /// What a namespace needs for the triggers in it: objects, each with the path of its resource.
    pub(super) fn credentials(&self, namespace: &str) -> Vec<(String, Value)> {
        let Self::Sqs { .. } = self else { return Vec::new() };
        let metadata = json!({ "name": CREDENTIALS });
        let keys = ["awsAccessKeyID", "awsSecretAccessKey"];
        let references: Vec<Value> =
            keys.iter().map(|key| json!({ "parameter": key, "name": CREDENTIALS, "key": key })).collect();
        let values = json!({ "awsAccessKeyID": "id", "awsSecretAccessKey": "key" });
        vec![
            (
                format!("/api/v1/namespaces/{namespace}/secrets"),
                json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values }),
            ),
            (
                format!("/apis/keda.sh/v1alpha1/namespaces/{namespace}/triggerauthentications"),
                json!({
                    "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": metadata,
                    "spec": { "secretTargetRef": references },
                }),
            ),
        ]
    }

    /// The name of the metric of the first trigger of an object.
    pub(super) fn metric_name(&self, name: &str) -> anyhow::Result<String> {
        match self {
            Self::Http(_) => Ok("s0-prometheus".to_owned()),
            Self::Redis { .. } => Ok(format!("s0-redis-{name}")),
            Self::Kafka { .. } => Ok(format!("s0-kafka-{TOPIC}")),
            Self::Sqs { .. } => Ok(format!("s0-aws-sqs-{name}")),
            Self::Nothing | Self::External(_) => None.context("the metrics of this trigger type are not read"),
        }
    }
}

fn executed_commands(server: &RedisServer) -> anyhow::Result<usize> {
    let reply = server.ask(&["INFO", "stats"])?;
    let text = reply.as_text().context("INFO has no text")?;
    let count = text.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
    Ok(count.context("INFO has no count of commands")?.trim().parse()?)
}

/// Starts a broker with one topic, which has the load of one trigger, behind a relay.
async fn start_kafka(groups: Groups) -> anyhow::Result<Source> {
    let relay = Unconnected::bind().await?;
    let server = KafkaServer::start_behind("bench-kafka", relay.port).await?;
    let relay = relay.connect(server.port());
    let mut client = server.client()?;
    client.create_topic(TOPIC, 1).await?;
    client.produce(TOPIC, 0, i32::try_from(LOAD)?).await?;
    Ok(Source::Kafka { _server: server, relay, client: Mutex::new(client), groups })
}

/// Starts the example of an external scaler in Rust.
async fn start_scaler() -> anyhow::Result<ExampleScaler> {
    // Cargo builds the example beside every program.
    let program = cargo::build("kedge", cargo::QUICKLY_BUILT)?;
    let mut scaler = ExampleScaler::plain(program.with_file_name("examples").join("scaler"))?;
    scaler.start().await?;
    Ok(scaler)
}
