//! `kafka` and `apache-kafka`: the lag of a consumer group.
//!
//! | module | what it holds |
//! |---|---|
//! | `config` | the parameters |
//! | `lag` | from offsets to a lag: pure |
//! | `offsets` | which offsets are read, of which brokers |

mod config;
mod lag;
mod offsets;

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_core::trigger_class::TriggerClass;
use tokio::time::Instant;

use self::config::Dialect;
use self::lag::{LagRules, Progress, lag};
use self::offsets::OffsetSource;
use crate::error::ReadError;
use crate::field::FieldGroup;
use crate::identity::aws;
use crate::scaler::{BoxFuture, Known, Scaler};
use crate::shared::Shared;
use crate::target::External;
use crate::trigger::{BuildError, TriggerConfig};
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};

pub(crate) static KAFKA: TriggerType = TriggerType {
    name: "kafka",
    keda_scaler: "kafkaScaler",
    class: TriggerClass::Source,
    help: "the lag of a consumer group in Kafka",
    docs_page: "kafka.md",
    groups: &[
        FieldGroup { title: "Lag", fields: config::KAFKA_LAG },
        FieldGroup { title: "Credentials and TLS", fields: config::KAFKA_SIGN_IN },
        FieldGroup { title: "OAuth", fields: config::KAFKA_OAUTH },
        FieldGroup { title: "Kerberos", fields: config::KAFKA_KERBEROS },
        aws::FIELDS,
    ],
    other_parameters: OtherParameters::Ignored,
    activation: Some(config::ACTIVATION_LAG_THRESHOLD.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[],
    build: |shared, trigger| build(shared, trigger, Dialect::Kafka),
};

pub(crate) static APACHE_KAFKA: TriggerType = TriggerType {
    name: "apache-kafka",
    keda_scaler: "apacheKafkaScaler",
    class: TriggerClass::Source,
    help: "the lag of a consumer group in Kafka, over several topics",
    docs_page: "apache-kafka.md",
    groups: &[
        FieldGroup { title: "Lag", fields: config::APACHE_KAFKA_LAG },
        FieldGroup { title: "Credentials and TLS", fields: config::APACHE_KAFKA_SIGN_IN },
        aws::FIELDS,
    ],
    other_parameters: OtherParameters::Ignored,
    activation: Some(config::ACTIVATION_LAG_THRESHOLD.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[],
    build: |shared, trigger| build(shared, trigger, Dialect::ApacheKafka),
};

fn build(shared: &Shared, trigger: &TriggerConfig<'_>, dialect: Dialect) -> Result<Arc<dyn Scaler>, BuildError> {
    Ok(Arc::new(config::parse(trigger, shared, dialect)?))
}

/// A consumer group, and how its lag is counted.
#[derive(Debug)]
struct KafkaScaler {
    metric: External,
    activation: i64,
    rules: LagRules,
    /// Where lag that persists does not count.
    progress: Option<Mutex<Progress>>,
    source: OffsetSource,
}

impl Scaler for KafkaScaler {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(std::future::ready(Ok(vec![self.metric.spec()])))
    }

    fn read<'a>(&'a self, _metric: &'a str, now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(async move {
            let offsets = self.source.fetch(now).await?;
            let mut progress =
                self.progress.as_ref().map(|progress| progress.lock().unwrap_or_else(PoisonError::into_inner));
            let lag = lag(&offsets, self.rules, progress.as_deref_mut(), Instant::now());
            let activity = Known::above(self.activation as f64, lag.whole as f64).activity;
            Ok(Known { values: vec![lag.value as f64], activity })
        })
    }

    fn host(&self) -> Option<String> {
        Some(self.source.cluster.host())
    }
}

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;
