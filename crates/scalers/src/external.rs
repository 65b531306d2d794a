//! `external` and `external-push`: a gRPC server of the user's own decides. `config` reads the trigger, [`ExternalClient`]
//! calls the server, `answer` reads what it says, `push` listens to what it tells unasked.
//!
//! The contract is `proto/externalscaler.proto`.

mod answer;
mod backoff;
mod client;
mod config;
mod push;

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use futures::future::try_join;
use futures::stream::BoxStream;
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use kedge_core::trigger_class::TriggerClass;

use crate::error::ReadError;
use crate::metric_name;
use crate::registry::Shared;
use crate::scaler::{Activity, BoxFuture, Known, PushEvent, Scaler};
use crate::target::TargetType;
use crate::trigger::{BuildError, TriggerConfig};
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};
pub use answer::{specs, value};
pub use client::ExternalClient;

pub(crate) static EXTERNAL: TriggerType = TriggerType {
    name: "external",
    keda_scaler: "externalScaler",
    class: TriggerClass::Source,
    help: "the answers of a gRPC server of your own",
    build: |shared, trigger| Ok(Arc::new(build(trigger, shared, Delivery::Poll)?)),
    ..DESCRIPTION
};

pub(crate) static EXTERNAL_PUSH: TriggerType = TriggerType {
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
    memory: Arc<Memory>,
}

/// The metrics as they were told last.
#[derive(Debug, Default)]
struct Memory(Mutex<Told>);

#[derive(Clone, Debug, Default)]
enum Told {
    #[default]
    Nothing,
    /// As the answer to a question: asked again at the next occasion.
    Asked(Vec<MetricSpec>),
    /// Unasked: it holds until something else is told.
    Unasked(Vec<MetricSpec>),
}

impl Memory {
    fn told(&self) -> Told {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, told: Told) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }
}

fn build(trigger: &TriggerConfig<'_>, shared: &Shared, delivery: Delivery) -> Result<ExternalScaler, BuildError> {
    let config = config::parse(trigger, shared)?;
    let (client, target_type) = (ExternalClient::new(config.channel, config.reference), config.target_type);
    Ok(ExternalScaler { client, index: trigger.index, delivery, target_type, memory: Arc::default() })
}

pub(crate) fn client(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<ExternalClient, BuildError> {
    Ok(build(trigger, shared, Delivery::Poll)?.client)
}

impl ExternalScaler {
    fn read_specs(&self, told: &[answer::Told]) -> Result<Vec<MetricSpec>, ReadError> {
        let endpoint = self.client.endpoint();
        answer::specs(self.index, self.target_type, told).map_err(|problem| ReadError::Malformed { endpoint, problem })
    }

    async fn ask_specs(&self) -> Result<Vec<MetricSpec>, ReadError> {
        let told = self.memory.told();
        if let Told::Unasked(specs) = told {
            return Ok(specs);
        }
        match self.client.get_metric_spec().await {
            Ok(answer) => {
                let specs = self.read_specs(&answer)?;
                self.memory.keep(Told::Asked(specs.clone()));
                Ok(specs)
            }
            // KEDA: forgets them, and with them the failures that its fallback would count.
            Err(error) => match told {
                Told::Asked(specs) => Ok(specs),
                _ => Err(error),
            },
        }
    }

    async fn ask_values(&self, metric: &str) -> Result<Known, ReadError> {
        let endpoint = || self.client.endpoint();
        let Some(name) = metric_name::strip_prefix(self.index, metric) else {
            let problem = format!("{metric} is not a metric of trigger {}", self.index);
            return Err(ReadError::NoValue { endpoint: endpoint(), problem });
        };
        let (values, is_active) = try_join(self.client.get_metrics(name), self.client.is_active()).await?;
        let values =
            answer::values(&values).map_err(|problem| ReadError::Malformed { endpoint: endpoint(), problem })?;
        // KEDA: publishes nothing, and the HPA cannot tell that from a metric that is not there.
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
        Box::pin(self.ask_specs())
    }

    fn read<'a>(&'a self, metric: &'a str, _now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(self.ask_values(metric))
    }

    fn push(&self) -> Option<BoxStream<'static, PushEvent>> {
        (self.delivery == Delivery::Push).then(|| push::events(self))
    }
}
