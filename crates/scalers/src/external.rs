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

use crate::error::ReadError;
use crate::metric_name;
use crate::registry::Shared;
use crate::scaler::{Activity, BoxFuture, Known, PushEvent, Scaler};
use crate::target::TargetType;
use crate::trigger::{BuildError, TriggerConfig};
pub use answer::{specs, value};
pub use client::ExternalClient;
use config::Kind;

/// One trigger, and the server that decides for it.
#[derive(Clone, Debug)]
pub(crate) struct ExternalScaler {
    client: ExternalClient,
    index: usize,
    kind: Kind,
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

pub(crate) fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<ExternalScaler, BuildError> {
    let config = config::parse(trigger, shared)?;
    let (client, target_type) = (ExternalClient::new(config.channel, config.reference), config.target_type);
    Ok(ExternalScaler { client, index: trigger.index, kind: config.kind, target_type, memory: Arc::default() })
}

pub(crate) fn client(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<ExternalClient, BuildError> {
    Ok(build(trigger, shared)?.client)
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
        (self.kind == Kind::Push).then(|| push::events(self))
    }
}
