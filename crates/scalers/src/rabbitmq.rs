//! `rabbitmq`: the messages in a queue of RabbitMQ, or how fast they come and go.
//!
//! | module | what it holds |
//! |---|---|
//! | `fields` | the parameters |
//! | `config`, `given` | the trigger made from them |
//! | `mode` | what the numbers of a queue mean in each mode |
//! | `management` | the URL of a question to the management API, and what its answers mean |
//! | `management_source` | asking the management API |
//! | `broker_url` | the URL of a broker that speaks AMQP |
//! | `spoken` | the protocol, by `host` |
//! | `broker_source` | asking a broker |

mod broker_source;
mod broker_url;
mod config;
mod fields;
mod given;
mod management;
mod management_source;
mod mode;
mod spoken;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_core::trigger_class::TriggerClass;

use self::broker_source::BrokerSource;
use self::management_source::ManagementSource;
use self::mode::{Mode, QueueNumbers};
use crate::error::ReadError;
use crate::field::FieldGroup;
use crate::scaler::{BoxFuture, Known, Scaler};
use crate::target::External;
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};

pub(crate) static TRIGGER: TriggerType = TriggerType {
    name: "rabbitmq",
    keda_scaler: "rabbitMQScaler",
    class: TriggerClass::Source,
    help: "the messages in a queue of RabbitMQ, or how fast they come and go",
    docs_page: "rabbitmq.md",
    groups: &[
        FieldGroup { title: "Queue", fields: fields::QUEUE },
        FieldGroup { title: "Server", fields: fields::SERVER },
        FieldGroup { title: "Credentials and TLS", fields: fields::SIGN_IN },
        FieldGroup { title: "OAuth, with the management API", fields: crate::auth::OAUTH_FIELDS },
    ],
    other_parameters: OtherParameters::Ignored,
    activation: Some(fields::ACTIVATION_VALUE.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[],
    build: |shared, trigger| Ok(Arc::new(config::build(trigger, shared)?)),
};

/// One queue, or those whose names match.
#[derive(Debug)]
struct RabbitScaler {
    metric: External,
    mode: Mode,
    activation: f64,
    source: Source,
}

/// Where the numbers come from.
#[derive(Debug)]
enum Source {
    Management(Box<ManagementSource>),
    Broker(BrokerSource),
}

impl Scaler for RabbitScaler {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(std::future::ready(Ok(vec![self.metric.spec()])))
    }

    fn read<'a>(&'a self, _metric: &'a str, now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(async move {
            let numbers: QueueNumbers = match &self.source {
                Source::Management(source) => source.fetch(now).await?,
                Source::Broker(source) => source.fetch().await?,
            };
            Ok(self.mode.known(numbers, self.activation))
        })
    }

    fn host(&self) -> Option<String> {
        match &self.source {
            Source::Management(source) => source.host(),
            Source::Broker(source) => Some(source.endpoint().to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
