//! Answers of the board to the metrics API: a fresh reading, the last poll's, or a query of the source; a fallback where the
//! source keeps failing. It writes nothing.

use std::sync::Arc;
use std::time::Duration;

use kedge_api::ScaledObject;
use kedge_api::names::COMPOSITE_METRIC;
use kedge_core::fallback::{Failures, MetricType, NoSubstitute, replicas, substitute};
use kedge_core::formula::composite::{CompositeOutcome, Surroundings, Unknown};
use kedge_core::formula::settings::Composite;
use kedge_core::quantity::{Quantity, format_float};
use kedge_metrics_api::source::MetricFuture;
use kedge_metrics_api::{MetricError, MetricRequest, MetricSource, MetricValue};

use crate::board::composite;
use crate::board::{BoardTrigger, ExternalMetric, FRESH, ObjectBoard, Service};
use crate::build::failures_in_status;
use crate::pass::Passes;
use crate::role::Role;
use kedge_cluster::ObjectKey;
use kedge_cluster::target::{ScaleTarget, TargetError};

/// The board as the metrics API sees it.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct BoardSource {
    pub(crate) passes: Arc<Passes>,
    pub(crate) role: Arc<Role>,
}

/// Why a fallback cannot be given.
#[derive(Debug, thiserror::Error)]
enum NoFallback {
    #[error(transparent)]
    Rule(#[from] NoSubstitute),
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl MetricSource for BoardSource {
    fn read<'a>(&'a self, request: MetricRequest<'a>) -> MetricFuture<'a> {
        Box::pin(self.answer(request))
    }
}

impl BoardSource {
    async fn answer(&self, request: MetricRequest<'_>) -> Result<Vec<MetricValue>, MetricError> {
        let key = ObjectKey::new(request.namespace, request.scaled_object);
        let object = self.passes.world.object(&key);
        let object = object.ok_or_else(|| MetricError::NotFound(format!("there is no ScaledObject {key}")))?;
        let board = self.board(&key, &object).await?;
        if let Some(composite) = board.composite.as_ref().filter(|_| request.metric == COMPOSITE_METRIC) {
            return self.composite(&object, &board, composite).await;
        }
        // The HPA's client asks in lower case.
        let asked = board.metrics().find(|(_, metric)| metric.name.eq_ignore_ascii_case(request.metric));
        let Some((trigger, metric)) = asked else {
            let names: Vec<&str> = board.metrics().map(|(_, metric)| metric.name.as_str()).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(MetricError::NotFound(format!(
                "no matching metrics found for {}: ScaledObject {key} has {has}",
                request.metric
            )));
        };
        let reading = board.read(trigger, metric, self.age_max(trigger), &self.passes.clock).await;
        match &reading.answer {
            Ok(known) => {
                let value = |value: &f64| MetricValue {
                    name: metric.name.clone(),
                    value: format_float(*value),
                    at: reading.wall,
                };
                Ok(known.values.iter().map(value).collect())
            }
            Err(error) => {
                let name = &metric.name;
                let failed = |detail: String| MetricError::Failed(format!("metric:{name} encountered error: {detail}"));
                match self.fall_back(&object, &board, metric).await {
                    None => Err(failed(error.to_string())),
                    Some(Err(why)) => Err(failed(format!("{error}; {why}"))),
                    Some(Ok(value)) => Ok(vec![MetricValue { name: name.clone(), value, at: reading.wall }]),
                }
            }
        }
    }

    /// The triggers of the object: as the scale loop has them, or, where another replica has it, or ours has not come to it yet, built on
    /// demand.
    async fn board(&self, key: &ObjectKey, object: &ScaledObject) -> Result<Arc<ObjectBoard>, MetricError> {
        if self.role.has_come_to(key) {
            return self.passes.board.get(key).ok_or_else(|| {
                MetricError::Unavailable(format!(
                    "the triggers of ScaledObject {key} are not built; its conditions say why"
                ))
            });
        }
        let built = self.passes.board_on_demand(key, object).await;
        built.map_err(|why| MetricError::Unavailable(format!("ScaledObject {key} has no metrics: {why}")))
    }

    /// The value of the formula, or of the fallback.
    async fn composite(
        &self,
        object: &ScaledObject,
        board: &Arc<ObjectBoard>,
        composite: &Composite,
    ) -> Result<Vec<MetricValue>, MetricError> {
        let readings = board.read_all(|trigger| self.age_max(trigger), &self.passes.clock).await;
        let failures = |metric: &ExternalMetric| self.failures(object, metric);
        let mut around = Surroundings { fallback: board.fallback.as_ref(), ..Surroundings::default() };
        let mut outcome = composite::evaluate(composite, &readings, failures, around);
        if let CompositeOutcome::Unknown(Unknown::NoSubstitute(_)) = outcome
            && let Ok(target) = self
                .passes
                .targets
                .resolve(object.metadata.namespace.as_deref().unwrap_or_default(), &object.spec.scale_target_ref)
                .await
        {
            around.current_replicas = self.current(&target).await;
            around.ready_pods = match composite.metric_type {
                MetricType::AverageValue => None,
                MetricType::Value => self.passes.targets.count_ready_pods(&target).await.ok(),
            };
            outcome = composite::evaluate(composite, &readings, failures, around);
        }
        if let Some(value) = outcome.served() {
            let value = Quantity::from_milli(value.0).canonical();
            return Ok(vec![MetricValue { name: COMPOSITE_METRIC.to_owned(), value, at: self.passes.clock.now() }]);
        }
        let errors = readings.iter().filter_map(|(_, metric, reading)| {
            reading.answer.as_ref().err().map(|error| format!("{}: {error}", metric.name))
        });
        let all: Vec<String> = outcome.why().map(ToString::to_string).into_iter().chain(errors).collect();
        Err(MetricError::Failed(format!("metric:{COMPOSITE_METRIC} encountered error: {}", all.join("; "))))
    }

    /// How old an answer for this trigger may be.
    fn age_max(&self, trigger: &BoardTrigger) -> Duration {
        match trigger.service {
            // However old: polls keep it as fresh as the object asks for.
            Service::LastPoll if self.role.leads() => Duration::MAX,
            Service::LastPoll | Service::Live => FRESH,
        }
    }

    /// The replicas of a target: as they are known, or as they are read now.
    async fn current(&self, target: &ScaleTarget) -> Option<i32> {
        match self.passes.world.replicas_of(target) {
            Some(current) => Some(current),
            None => {
                self.passes.targets.fetch_scale(target).await.ok().as_ref().map(kedge_cluster::target::desired_replicas)
            }
        }
    }

    /// The value that stands for a metric that keeps failing, if the object has a fallback and it is time for it.
    async fn fall_back(
        &self,
        object: &ScaledObject,
        board: &ObjectBoard,
        metric: &ExternalMetric,
    ) -> Option<Result<String, NoFallback>> {
        let fallback =
            board.fallback.as_ref().filter(|fallback| self.failures(object, metric).exceed_threshold(fallback))?;
        let given = async {
            let target = self
                .passes
                .targets
                .resolve(object.metadata.namespace.as_deref().unwrap_or_default(), &object.spec.scale_target_ref)
                .await?;
            // The HPA multiplies by the ready pods, so the fallback divides by them.
            let ready = match metric.metric_type {
                MetricType::AverageValue => None,
                MetricType::Value => Some(self.passes.targets.count_ready_pods(&target).await?),
            };
            let wanted = replicas(fallback, self.current(&target).await)?;
            Ok(substitute(wanted, metric.target, metric.metric_type, ready)?)
        };
        Some(given.await.map(|value| Quantity::from_milli(value.0).canonical()))
    }

    /// The failures in a row of a metric. Only the replica that leads counts them; the others read what it wrote.
    fn failures(&self, object: &ScaledObject, metric: &ExternalMetric) -> Failures {
        if self.role.leads() { metric.failures() } else { failures_in_status(object, &metric.name) }
    }
}

#[cfg(test)]
mod tests;
