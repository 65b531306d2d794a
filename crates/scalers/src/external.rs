//! `external` and `external-push`: a gRPC server of the user's own gives the values. `config` reads the trigger,
//! [`ExternalClient`] calls the server, `response` parses its responses, `push` reads its streams.
//!
//! The contract is `proto/externalscaler.proto`.

mod backoff;
mod client;
mod config;
mod push;
mod response;

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use futures::future::try_join;
use futures::stream::BoxStream;
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_core::trigger_class::TriggerClass;

use crate::error::ReadError;
use crate::metric_name;
use crate::scaler::{Activity, BoxFuture, Known, PushEvent, Scaler};
use crate::shared::Shared;
use crate::target::TargetType;
use crate::trigger::{BuildError, TriggerConfig};
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};
pub use client::ExternalClient;
pub use config::{CA_CERT, ENABLE_TLS, SCALER_ADDRESS, TLS_CLIENT_CERT, TLS_CLIENT_KEY, UNSAFE_SSL};
use response::ServerMetricSpec;
pub use response::{specs, value};

pub static EXTERNAL: TriggerType = TriggerType {
    name: "external",
    keda_scaler: "externalScaler",
    class: TriggerClass::Source,
    help: "the answers of a gRPC server of your own",
    build: |shared, trigger| Ok(Arc::new(build(trigger, shared, Delivery::Poll)?)),
    ..DESCRIPTION
};

pub static EXTERNAL_PUSH: TriggerType = TriggerType {
    name: "external-push",
    keda_scaler: "externalPushScaler",
    class: TriggerClass::Push,
    help: "the answers of a gRPC server of your own, which also pushes its activity",
    build: |shared, trigger| Ok(Arc::new(build(trigger, shared, Delivery::Push)?)),
    ..DESCRIPTION
};

/// What both types have in common.
const DESCRIPTION: TriggerType = TriggerType {
    name: "",
    keda_scaler: "",
    class: TriggerClass::Source,
    help: "",
    docs_page: "external.md",
    groups: &[config::FIELDS],
    other_parameters: OtherParameters::PassedOn,
    activation: None,
    metrics: MetricsOrigin::Source,
    cluster_reads: &[],
    build: |shared, trigger| Ok(Arc::new(build(trigger, shared, Delivery::Poll)?)),
};

/// How the server delivers activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    /// In answers only.
    Poll,
    /// Also by streams.
    Push,
}

/// One trigger, and the server that decides for it.
#[derive(Clone, Debug)]
pub(crate) struct ExternalScaler {
    client: ExternalClient,
    index: usize,
    delivery: Delivery,
    target_type: TargetType,
    specs: Arc<SpecCache>,
}

/// The metrics that the server reported last.
#[derive(Debug, Default)]
struct SpecCache(Mutex<LastSpecs>);

#[derive(Clone, Debug, Default)]
enum LastSpecs {
    #[default]
    None,
    /// The response to a query: queried again at the next occasion.
    Polled(Vec<MetricSpec>),
    /// Pushed by the server: valid until the next push.
    Pushed(Vec<MetricSpec>),
}

impl SpecCache {
    fn last(&self) -> LastSpecs {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn store(&self, specs: LastSpecs) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = specs;
    }
}

fn build(trigger: &TriggerConfig<'_>, shared: &Shared, delivery: Delivery) -> Result<ExternalScaler, BuildError> {
    let config = config::parse(trigger, shared)?;
    let client = ExternalClient::new(config.channel, config.reference, config.limit);
    let target_type = config.target_type;
    Ok(ExternalScaler { client, index: trigger.index, delivery, target_type, specs: Arc::default() })
}

pub(crate) fn client(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<ExternalClient, BuildError> {
    Ok(build(trigger, shared, Delivery::Poll)?.client)
}

impl ExternalScaler {
    fn parse_specs(&self, received: &[ServerMetricSpec]) -> Result<Vec<MetricSpec>, ReadError> {
        let endpoint = self.client.endpoint();
        response::specs(self.index, self.target_type, received)
            .map_err(|problem| ReadError::Malformed { endpoint, problem })
    }

    async fn fetch_specs(&self) -> Result<Vec<MetricSpec>, ReadError> {
        let last = self.specs.last();
        if let LastSpecs::Pushed(specs) = last {
            return Ok(specs);
        }
        match self.client.get_metric_spec().await {
            Ok(received) => {
                let specs = self.parse_specs(&received)?;
                self.specs.store(LastSpecs::Polled(specs.clone()));
                Ok(specs)
            }
            // KEDA: forgets them, and with them the failures that its fallback would count.
            Err(error) => match last {
                LastSpecs::Polled(specs) => Ok(specs),
                _ => Err(error),
            },
        }
    }

    async fn fetch_values(&self, metric: &str) -> Result<Known, ReadError> {
        let endpoint = || self.client.endpoint();
        let Some(name) = metric_name::strip_prefix(self.index, metric) else {
            let problem = format!("{metric} is not a metric of trigger {}", self.index);
            return Err(ReadError::NoValue { endpoint: endpoint(), problem });
        };
        let (values, is_active) = try_join(self.client.get_metrics(name), self.client.is_active()).await?;
        let values =
            response::values(&values).map_err(|problem| ReadError::Malformed { endpoint: endpoint(), problem })?;
        // KEDA: publishes nothing, which the HPA cannot distinguish from a metric that is not there.
        if values.is_empty() {
            let problem = format!("GetMetrics gave no values for {name:?}");
            return Err(ReadError::NoValue { endpoint: endpoint(), problem });
        }
        Ok(Known { values, activity: activity(is_active) })
    }
}

fn activity(is_active: bool) -> Activity {
    if is_active { Activity::Active } else { Activity::Inactive }
}

impl Scaler for ExternalScaler {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(self.fetch_specs())
    }

    fn read<'a>(&'a self, metric: &'a str, _now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(self.fetch_values(metric))
    }

    fn host(&self) -> Option<String> {
        Some(self.client.endpoint().to_string())
    }

    fn push(&self) -> Option<BoxStream<'static, PushEvent>> {
        (self.delivery == Delivery::Push).then(|| push::events(self))
    }
}
