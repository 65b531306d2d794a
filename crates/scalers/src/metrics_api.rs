//! `metrics-api`: a number in the response of any HTTP server. `config` parses the trigger, `request` makes requests, `service`
//! finds the pods behind a Service where each of them is queried; `location` finds the number in a response, which
//! for JSON and YAML is common to other types.

mod config;
mod location;
mod prometheus_text;
mod request;
mod service;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::{StreamExt, stream};
use kedge_core::trigger_class::TriggerClass;

use crate::auth;
use crate::cluster::{self, ClusterReads};
use crate::document::Unusable;
use crate::error::{Endpoint, ReadError};
use crate::http::Address;
use crate::one_metric::{NumberSource, OneMetric};
use crate::shared::Shared;
use crate::trigger::{BuildError, TriggerConfig};
use crate::trigger_type::{ClusterRead, MetricsOrigin, OtherParameters, ReadCondition, ReadNamespace, TriggerType};
use config::Config;
use service::{Aggregation, Service};

pub(crate) static TRIGGER: TriggerType = TriggerType {
    name: "metrics-api",
    keda_scaler: "metricsAPIScaler",
    class: TriggerClass::Source,
    help: "a number in the answer of an HTTP server",
    docs_page: "metrics-api.md",
    groups: &[config::FIELDS, auth::FIELDS_WITHOUT_CUSTOM_AND_OAUTH],
    other_parameters: OtherParameters::Ignored,
    activation: Some(config::ACTIVATION_TARGET_VALUE.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[ClusterRead {
        group: "discovery.k8s.io",
        resource: "endpointslices",
        verbs: &["list"],
        namespace: ReadNamespace::Named {
            help: "the namespace of the Service that `url` names",
            find: service_namespace,
        },
        name: None,
        condition: ReadCondition::Switch(config::AGGREGATE_ENDPOINTS.name),
    }],
    build: |shared, trigger| Ok(Arc::new(build(trigger, shared)?)),
};

fn service_namespace(metadata: &BTreeMap<String, String>) -> Option<String> {
    let address = Address::parse(metadata.get(config::URL.name)?.trim()).ok()?;
    Service::from_address(&address).ok().map(|service| service.namespace)
}

/// How many endpoints of a Service are queried at once.
// KEDA: as many.
const QUERIED_AT_ONCE: usize = 5;

/// One number in one document, or in those of all pods behind a Service.
#[derive(Debug)]
struct MetricsApi {
    config: Config,
    cluster: Arc<dyn ClusterReads>,
    cluster_limit: Duration,
    /// The last value to which all pods of the Service contributed.
    last_complete: Mutex<Option<f64>>,
}

fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<OneMetric<MetricsApi>, BuildError> {
    let config = config::parse(trigger, &shared.http)?;
    let cluster_limit = shared.http.settings().limit(None);
    let (metric, activation) = (config.metric.clone(), config.activation);
    let cluster = Arc::clone(&shared.cluster);
    let source = MetricsApi { config, cluster, cluster_limit, last_complete: Mutex::default() };
    Ok(OneMetric { metric, activation, source })
}

impl MetricsApi {
    /// The number at one address.
    async fn fetch_from(&self, address: &Address) -> Result<f64, ReadError> {
        let call = self.config.query_request.call(address)?;
        let body = self.config.client.fetch(&call).await?;
        self.config.location.find(&body).map_err(|unusable| explain(unusable, call.endpoint()))
    }

    /// The numbers of all pods behind the Service, made one.
    async fn fetch_from_all(&self, service: &Service, aggregation: Aggregation) -> Result<f64, ReadError> {
        let answer = self.cluster.endpoints(&service.namespace, &service.name);
        let endpoints = cluster::with_timeout(self.cluster_limit, cluster::ENDPOINTS, answer).await?;
        let addresses = service::addresses(&self.config.query_request.address, &endpoints);
        let query = |address: Address| async move { self.fetch_from(&address).await };
        let answers = stream::iter(addresses).map(query).buffer_unordered(QUERIED_AT_ONCE);
        let (mut values, mut failure) = (Vec::new(), None);
        let mut answers = std::pin::pin!(answers);
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(value) => values.push(value),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let value = aggregation
            .combine(&values)
            .ok_or_else(|| failure.clone().unwrap_or_else(|| service.without_endpoints()))?;
        self.check_complete(value, failure)
    }

    /// The value, unless pods failed and it is below the last complete one: what is missing may raise the replicas, but not lower them.
    // KEDA: pods that fail do not count, so that an outage of some lowers a sum.
    fn check_complete(&self, value: f64, failure: Option<ReadError>) -> Result<f64, ReadError> {
        let mut last_complete = self.last_complete.lock().unwrap_or_else(PoisonError::into_inner);
        match failure {
            None => *last_complete = Some(value),
            Some(_) if last_complete.is_some_and(|last| value >= last) => {}
            Some(failure) => return Err(failure),
        }
        Ok(value)
    }
}

fn explain(unusable: Unusable, endpoint: Endpoint) -> ReadError {
    match unusable {
        Unusable::Malformed(problem) => ReadError::Malformed { endpoint, problem },
        Unusable::NoValue(problem) => ReadError::NoValue { endpoint, problem },
    }
}

impl NumberSource for MetricsApi {
    async fn fetch_number(&self, _now: DateTime<Utc>) -> Result<f64, ReadError> {
        match &self.config.service {
            None => self.fetch_from(&self.config.query_request.address).await,
            Some((service, aggregation)) => self.fetch_from_all(service, *aggregation).await,
        }
    }

    fn host(&self) -> Option<String> {
        self.config.query_request.address.host()
    }
}

#[cfg(test)]
mod tests;
