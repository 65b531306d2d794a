//! `prometheus`: the number that a query returns. `config` parses the trigger, `identity` the cloud identity of its requests;
//! `request` makes requests, `response` parses responses.

mod config;
mod identity;
mod request;
mod response;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use http::header::AUTHORIZATION;
use kedge_core::trigger_class::TriggerClass;

use crate::auth;
use crate::error::ReadError;
use crate::http::Call;
use crate::identity::{aws, gcp};
use crate::metric_name;
use crate::observer;
use crate::one_metric::{NumberSource, OneMetric};
use crate::shared::Shared;
use crate::target::External;
use crate::trigger::{BuildError, TriggerConfig};
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};
use config::{Config, EmptyResult};
use response::Unusable;

pub(crate) static TRIGGER: TriggerType = TriggerType {
    name: "prometheus",
    keda_scaler: "prometheusScaler",
    class: TriggerClass::Source,
    help: "the number that a Prometheus query returns",
    docs_page: "prometheus.md",
    groups: &[config::FIELDS, auth::FIELDS, identity::AZURE_FIELDS, aws::FIELDS, gcp::FIELDS],
    other_parameters: OtherParameters::Ignored,
    activation: Some(config::ACTIVATION_THRESHOLD.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[],
    build: |shared, trigger| Ok(Arc::new(build(trigger, shared)?)),
};

/// One query of one Prometheus.
#[derive(Debug)]
struct PrometheusQuery {
    config: Config,
    limit: Duration,
}

fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<OneMetric<PrometheusQuery>, BuildError> {
    let config = config::parse(trigger, shared)?;
    let name = metric_name::full_name(trigger.index, "prometheus");
    let metric = External::float(name, config.target_type, config.threshold);
    let limit = shared.http.settings().limit(config.timeout);
    Ok(OneMetric { metric, activation: config.activation, source: PrometheusQuery { config, limit } })
}

impl NumberSource for PrometheusQuery {
    async fn fetch_number(&self, now: DateTime<Utc>) -> Result<f64, ReadError> {
        let address = self.config.query_request.address_at(now).map_err(|problem| ReadError::Config {
            field: "serverAddress",
            problem: problem.to_owned(),
            remedy: config::REMEDY,
        })?;
        let mut call = Call::get(address, self.config.headers.clone(), self.limit);
        if let Some(signer) = &self.config.signer {
            signer.sign(&mut call, now).await?;
        }
        if let Some(oauth) = &self.config.oauth {
            call.set_header(AUTHORIZATION, oauth.header(now).await?);
        }
        let body = match (self.config.client.fetch(&call).await, &self.config.oauth) {
            (Err(error @ ReadError::Status { code: 401, .. }), Some(oauth)) => {
                oauth.discard().await;
                return Err(error);
            }
            (fetched, _) => fetched?,
        };
        let parsed = response::parse(&body, self.config.empty_result);
        if parsed.is_empty {
            let ignored = self.config.empty_result == EmptyResult::IsZero;
            observer::report(|observer| observer.empty_response(ignored));
        }
        parsed.number.map_err(|unusable| match unusable {
            Unusable::Malformed(problem) => ReadError::Malformed { endpoint: call.endpoint(), problem },
            Unusable::NoValue(problem) => ReadError::NoValue { endpoint: call.endpoint(), problem: problem.to_owned() },
        })
    }

    fn host(&self) -> Option<String> {
        self.config.query_request.address().host()
    }
}

#[cfg(test)]
mod tests;
