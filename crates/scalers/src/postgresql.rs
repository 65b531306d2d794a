//! `postgresql`: the number that a query gives.
//!
//! | module | what it holds |
//! |---|---|
//! | `config` | the parameters |
//! | `connection_string`, `settings` | what the parts of a connection string mean |
//! | `servers` | which server is asked, and with which encryption |

mod config;
mod connection_string;
mod servers;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use kedge_core::trigger_class::TriggerClass;

use self::servers::Servers;
use crate::error::ReadError;
use crate::field::FieldGroup;
use crate::one_metric::NumberSource;
use crate::postgres_session::failure;
use crate::sessions::deadline;
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};

pub(crate) static TRIGGER: TriggerType = TriggerType {
    name: "postgresql",
    keda_scaler: "postgreSQLScaler",
    class: TriggerClass::Source,
    help: "the number that a query of PostgreSQL gives",
    docs_page: "postgresql.md",
    groups: &[
        FieldGroup {
            title: "Query",
            fields: &[config::QUERY, config::TARGET_QUERY_VALUE, config::ACTIVATION_TARGET_QUERY_VALUE],
        },
        FieldGroup {
            title: "Connection",
            fields: &[
                config::CONNECTION,
                config::HOST,
                config::PORT,
                config::USER_NAME,
                config::PASSWORD,
                config::DB_NAME,
                config::SSLMODE,
            ],
        },
    ],
    other_parameters: OtherParameters::Ignored,
    activation: Some(config::ACTIVATION_TARGET_QUERY_VALUE.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[],
    build: |shared, trigger| Ok(Arc::new(config::build(trigger, shared)?)),
};

/// A query, and the servers that can answer it.
#[derive(Debug)]
struct PostgresSource {
    query: String,
    servers: Servers,
    limit: Duration,
}

impl NumberSource for PostgresSource {
    async fn fetch_number(&self, now: DateTime<Utc>) -> Result<f64, ReadError> {
        let answered = self.servers.ask(&self.query, now, deadline(self.limit)).await?;
        let endpoint = answered.endpoint;
        match answered.outcome {
            Ok(result) => result.number().map_err(|problem| ReadError::NoValue { endpoint, problem }),
            Err(error) => Err(failure::query_failure(endpoint, &error)),
        }
    }

    fn host(&self) -> Option<String> {
        self.servers.host()
    }
}

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;
