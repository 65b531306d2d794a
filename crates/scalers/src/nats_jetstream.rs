//! `nats-jetstream`: the messages that a JetStream consumer has yet to process.
//!
//! | module | what it holds |
//! |---|---|
//! | `config` | the parameters |
//! | `monitoring` | what servers answer, and what that means |
//! | `leader` | the search for the server that has the numbers of a consumer |

mod config;
mod leader;
mod monitoring;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use kedge_core::trigger_class::TriggerClass;

use self::leader::ConsumerReader;
use crate::error::ReadError;
use crate::field::FieldGroup;
use crate::one_metric::NumberSource;
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};

pub(crate) static TRIGGER: TriggerType = TriggerType {
    name: "nats-jetstream",
    keda_scaler: "natsJetStreamScaler",
    class: TriggerClass::Source,
    help: "the messages that a NATS JetStream consumer has yet to process",
    docs_page: "nats-jetstream.md",
    groups: &[
        FieldGroup {
            title: "Consumer",
            fields: &[
                config::STREAM,
                config::CONSUMER,
                config::ACCOUNT,
                config::ACCOUNT_ID,
                config::LAG_THRESHOLD,
                config::ACTIVATION_LAG_THRESHOLD,
            ],
        },
        FieldGroup { title: "Server", fields: &[config::ENDPOINT, config::USE_HTTPS] },
    ],
    other_parameters: OtherParameters::Ignored,
    activation: Some(config::ACTIVATION_LAG_THRESHOLD.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[],
    build: |shared, trigger| Ok(Arc::new(config::build(trigger, shared)?)),
};

impl NumberSource for ConsumerReader {
    async fn fetch_number(&self, _now: DateTime<Utc>) -> Result<f64, ReadError> {
        self.fetch_lag().await.map(|lag| lag as f64)
    }

    fn host(&self) -> Option<String> {
        Some(self.endpoint().to_string())
    }
}

#[cfg(test)]
mod tests;
