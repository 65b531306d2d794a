//! `redis`, `redis-cluster`, `redis-sentinel`: the length of a list, hash, set or sorted set. `redis-streams`, `redis-cluster-streams`,
//! `redis-sentinel-streams`: the length of a stream, the pending entries of a group, or its lag.
//!
//! | module | what it holds |
//! |---|---|
//! | `config` | the parameters |
//! | `measure` | what is asked, and what the replies mean |
//! | `nodes` | which server has a key |

mod config;
mod measure;
mod nodes;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use kedge_core::trigger_class::TriggerClass;

use self::config::{Config, Kind, Topology};
use self::measure::Measure;
use self::nodes::Nodes;
use crate::error::ReadError;
use crate::field::{Field, FieldGroup};
use crate::one_metric::{NumberSource, OneMetric};
use crate::scaler::Scaler;
use crate::sessions::deadline;
use crate::shared::Shared;
use crate::trigger::{BuildError, TriggerConfig};
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};

pub(crate) static LISTS: TriggerType = TriggerType {
    name: "redis",
    help: "the length of a list, hash, set or sorted set in Redis",
    groups: &[LIST, SERVER, SIGN_IN],
    build: |shared, trigger| build(shared, trigger, Topology::Single, Kind::List),
    ..LIST_TYPE
};

pub(crate) static CLUSTER_LISTS: TriggerType = TriggerType {
    name: "redis-cluster",
    help: "the length of a list, hash, set or sorted set in a Redis cluster",
    groups: &[LIST, CLUSTER, SIGN_IN],
    build: |shared, trigger| build(shared, trigger, Topology::Cluster, Kind::List),
    ..LIST_TYPE
};

pub(crate) static SENTINEL_LISTS: TriggerType = TriggerType {
    name: "redis-sentinel",
    help: "the length of a list, hash, set or sorted set in Redis behind sentinels",
    groups: &[LIST, SERVER, SENTINEL, SIGN_IN],
    build: |shared, trigger| build(shared, trigger, Topology::Sentinel, Kind::List),
    ..LIST_TYPE
};

pub(crate) static STREAMS: TriggerType = TriggerType {
    name: "redis-streams",
    help: "the length of a Redis stream, or what a consumer group has to do",
    groups: &[STREAM, SERVER, SIGN_IN],
    build: |shared, trigger| build(shared, trigger, Topology::Single, Kind::Stream),
    ..STREAM_TYPE
};

pub(crate) static CLUSTER_STREAMS: TriggerType = TriggerType {
    name: "redis-cluster-streams",
    help: "the length of a stream in a Redis cluster, or what a consumer group has to do",
    groups: &[STREAM, CLUSTER, SIGN_IN],
    build: |shared, trigger| build(shared, trigger, Topology::Cluster, Kind::Stream),
    ..STREAM_TYPE
};

pub(crate) static SENTINEL_STREAMS: TriggerType = TriggerType {
    name: "redis-sentinel-streams",
    help: "the length of a stream in Redis behind sentinels, or what a consumer group has to do",
    groups: &[STREAM, SERVER, SENTINEL, SIGN_IN],
    build: |shared, trigger| build(shared, trigger, Topology::Sentinel, Kind::Stream),
    ..STREAM_TYPE
};

const LIST_TYPE: TriggerType = TriggerType {
    name: "",
    keda_scaler: "redisScaler",
    class: TriggerClass::Source,
    help: "",
    docs_page: "redis-lists.md",
    groups: &[],
    other_parameters: OtherParameters::Ignored,
    activation: Some(config::ACTIVATION_LIST_LENGTH.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[],
    build: |_, trigger| Err(BuildError::new(trigger, Vec::new())),
};

const STREAM_TYPE: TriggerType = TriggerType {
    keda_scaler: "redisStreamsScaler",
    docs_page: "redis-streams.md",
    activation: Some(config::ACTIVATION_LAG_COUNT.name),
    ..LIST_TYPE
};

const LIST: FieldGroup =
    FieldGroup { title: "List", fields: &[config::LIST_NAME, config::LIST_LENGTH, config::ACTIVATION_LIST_LENGTH] };
const STREAM: FieldGroup = FieldGroup {
    title: "Stream",
    fields: &[
        config::STREAM,
        config::CONSUMER_GROUP,
        config::STREAM_LENGTH,
        config::PENDING_ENTRIES_COUNT,
        config::LAG_COUNT,
        config::ACTIVATION_LAG_COUNT,
    ],
};
const SERVER: FieldGroup =
    FieldGroup { title: "Server", fields: &[config::ADDRESS, config::HOST, config::PORT, config::DATABASE_INDEX] };
const IGNORED_DATABASE_INDEX: Field = config::DATABASE_INDEX.ignored();
const CLUSTER: FieldGroup =
    FieldGroup { title: "Server", fields: &[config::ADDRESS, config::HOST, config::PORT, IGNORED_DATABASE_INDEX] };
const SENTINEL: FieldGroup = FieldGroup {
    title: "Sentinels",
    fields: &[config::SENTINEL_MASTER, config::SENTINEL_USERNAME, config::SENTINEL_PASSWORD],
};
const SIGN_IN: FieldGroup = FieldGroup {
    title: "Credentials and TLS",
    fields: &[
        config::USERNAME,
        config::PASSWORD,
        config::ENABLE_TLS,
        config::TLS,
        config::UNSAFE_SSL,
        config::CA,
        config::CERT,
        config::KEY,
        config::KEY_PASSWORD,
    ],
};

fn build(
    shared: &Shared,
    trigger: &TriggerConfig<'_>,
    topology: Topology,
    kind: Kind,
) -> Result<Arc<dyn Scaler>, BuildError> {
    let Config { metric, activation, source } = config::parse(trigger, shared, topology, kind)?;
    Ok(Arc::new(OneMetric { metric, activation: activation as f64, source }))
}

/// A key, or what a group has to do.
#[derive(Debug)]
struct RedisSource {
    nodes: Nodes,
    measure: Measure,
    limit: Duration,
}

impl NumberSource for RedisSource {
    async fn fetch_number(&self, _now: DateTime<Utc>) -> Result<f64, ReadError> {
        Ok(self.measure.read(&self.nodes, deadline(self.limit)).await? as f64)
    }

    fn host(&self) -> Option<String> {
        Some(self.nodes.host())
    }
}

#[cfg(test)]
mod tests;
