//! `mysql`: the number that a query gives, in MySQL or MariaDB.
//!
//! | module | what it holds |
//! |---|---|
//! | `config` | the parameters |
//! | `dsn` | connection strings |

mod config;
mod dsn;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use kedge_core::trigger_class::TriggerClass;

use crate::error::ReadError;
use crate::field::FieldGroup;
use crate::mysql_session::MysqlProtocol;
use crate::one_metric::NumberSource;
use crate::sessions::{Session, deadline};
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};

pub(crate) static TRIGGER: TriggerType = TriggerType {
    name: "mysql",
    keda_scaler: "mySQLScaler",
    class: TriggerClass::Source,
    help: "the number that a query gives in MySQL or MariaDB",
    docs_page: "mysql.md",
    groups: &[
        FieldGroup {
            title: "Query",
            fields: &[config::QUERY, config::QUERY_VALUE, config::ACTIVATION_QUERY_VALUE, config::METRIC_NAME],
        },
        FieldGroup {
            title: "Server",
            fields: &[
                config::CONNECTION_STRING,
                config::HOST,
                config::PORT,
                config::DATABASE,
                config::USERNAME,
                config::PASSWORD,
            ],
        },
    ],
    other_parameters: OtherParameters::Ignored,
    activation: Some(config::ACTIVATION_QUERY_VALUE.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[],
    build: |shared, trigger| Ok(Arc::new(config::build(trigger, shared)?)),
};

/// A query, and where it runs.
#[derive(Debug)]
struct MysqlQuery {
    session: Arc<Session<MysqlProtocol>>,
    query: String,
    limit: Duration,
}

impl NumberSource for MysqlQuery {
    async fn fetch_number(&self, _now: DateTime<Utc>) -> Result<f64, ReadError> {
        let result = self.session.exchange(&self.query, deadline(self.limit)).await?;
        result.number().map_err(|problem| ReadError::NoValue { endpoint: self.session.endpoint(), problem })
    }

    fn host(&self) -> Option<String> {
        Some(self.session.endpoint().to_string())
    }
}

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;
