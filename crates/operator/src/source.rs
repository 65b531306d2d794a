//! Answers of the board to the metrics API: a fresh reading, the last poll's, or a query of the source; a fallback where the
//! source keeps failing. It writes nothing.

use std::sync::Arc;
use std::time::Duration;

use kedge_core::fallback::{MetricType, replicas, substitute};
use kedge_core::quantity::{Quantity, format_float};
use kedge_metrics_api::source::MetricFuture;
use kedge_metrics_api::{MetricError, MetricRequest, MetricSource, MetricValue};

use crate::board::{Board, BoardTrigger, ExternalMetric, FRESH, Failure, ObjectBoard, Reading, Service};
use crate::clock::Clock;
use crate::key::Key;
use crate::target::{TargetError, Targets};
use crate::world::World;

/// The board as the metrics API sees it.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct BoardSource {
    pub board: Arc<Board>,
    pub world: Arc<World>,
    pub targets: Arc<Targets>,
    pub clock: Clock,
}

impl MetricSource for BoardSource {
    fn read<'a>(&'a self, request: MetricRequest<'a>) -> MetricFuture<'a> {
        Box::pin(self.answer(request))
    }
}

impl BoardSource {
    async fn answer(&self, request: MetricRequest<'_>) -> Result<Vec<MetricValue>, MetricError> {
        let key = Key::new(request.namespace, request.scaled_object);
        let Some(object) = self.board.get(&key) else {
            return Err(match self.world.object(&key) {
                None => MetricError::NotFound(format!("there is no ScaledObject {key}")),
                Some(_) => MetricError::Unavailable(format!(
                    "the triggers of ScaledObject {key} are not built; its conditions say why"
                )),
            });
        };
        // The HPA's client asks in lower case.
        let asked = object.metrics().find(|(_, metric)| metric.name.eq_ignore_ascii_case(request.metric));
        let Some((trigger, metric)) = asked else {
            let names: Vec<&str> = object.metrics().map(|(_, metric)| metric.name.as_str()).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(MetricError::NotFound(format!(
                "no matching metrics found for {}: ScaledObject {key} has {has}",
                request.metric
            )));
        };
        let reading = self.reading(&object, trigger, metric).await;
        match &reading.answer {
            Ok(known) => {
                let value = |value: &f64| MetricValue {
                    name: metric.name.clone(),
                    value: format_float(*value),
                    at: reading.wall,
                };
                Ok(known.values.iter().map(value).collect())
            }
            Err(error) => self.fall_back(&key, &object, metric, &reading, error).await,
        }
    }

    async fn reading(
        &self,
        object: &Arc<ObjectBoard>,
        trigger: &Arc<BoardTrigger>,
        metric: &Arc<ExternalMetric>,
    ) -> Reading {
        let age_max = match trigger.service {
            Service::Live => FRESH,
            // However old: polls keep it as fresh as the object asks for.
            Service::LastPoll => Duration::MAX,
        };
        object.read(trigger, metric, age_max, self.clock).await
    }

    async fn fall_back(
        &self,
        key: &Key,
        object: &ObjectBoard,
        metric: &ExternalMetric,
        reading: &Reading,
        error: &Failure,
    ) -> Result<Vec<MetricValue>, MetricError> {
        let failed =
            |detail: String| MetricError::Failed(format!("metric:{} encountered error: {detail}", metric.name));
        let Some(fallback) = object.fallback.as_ref().filter(|fallback| metric.failures().is_past(fallback)) else {
            return Err(failed(error.to_string()));
        };
        let ready = match metric.metric_type {
            MetricType::AverageValue => None,
            MetricType::Value => self.ready_pods(key).await.map_err(|why| failed(format!("{error}; {why}")))?,
        };
        let value = replicas(fallback, self.world.current_replicas(key))
            .and_then(|replicas| substitute(replicas, metric.target, metric.metric_type, ready))
            .map_err(|why| failed(format!("{error}; {why}")))?;
        let value = Quantity::from_milli(value.0).canonical();
        Ok(vec![MetricValue { name: metric.name.clone(), value, at: reading.wall }])
    }

    /// The ready pods of the object's target, counted now: the HPA multiplies by them, so the fallback divides.
    async fn ready_pods(&self, key: &Key) -> Result<Option<i32>, TargetError> {
        match self.world.target_of(key) {
            Some((target, _)) => self.targets.ready_pods(&target).await.map(Some),
            None => Ok(None),
        }
    }
}
