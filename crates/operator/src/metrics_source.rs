//! Serving the metrics API from the readings service: a fresh reading, that of the last poll, or a query of the source; a fallback where
//! the source keeps failing.

use std::sync::Arc;

use kedge_api::names::COMPOSITE_METRIC;
use kedge_cluster::ObjectKey;
use kedge_core::activity::Contribution;
use kedge_core::fallback::MetricType;
use kedge_core::formula::composite::{CompositeOutcome, Surroundings, Unknown};
use kedge_core::formula::settings::Composite;
use kedge_core::quantity::{Quantity, format_float};
use kedge_metrics_api::source::MetricFuture;
use kedge_metrics_api::{MetricError, MetricRequest, MetricSource, MetricValue};

use crate::cluster_cache::LazyObject;
use crate::readings::Readings;
use crate::scalers_cache::composite;
use crate::scalers_cache::{CachedTrigger, ExternalMetric, ObjectScalers, Requester};

/// The source of the metrics API.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct ReadingsSource {
    pub(crate) readings: Arc<Readings>,
}

impl MetricSource for ReadingsSource {
    fn read<'a>(&'a self, request: MetricRequest<'a>) -> MetricFuture<'a> {
        Box::pin(self.serve(request))
    }
}

impl ReadingsSource {
    async fn serve(&self, request: MetricRequest<'_>) -> Result<Vec<MetricValue>, MetricError> {
        let key = ObjectKey::scaled_object(request.namespace, request.scaled_object);
        let object = self.readings.cluster.object(&key);
        let object = object.ok_or_else(|| MetricError::NotFound(format!("there is no ScaledObject {key}")))?;
        let scalers = self.scalers(&key, &object).await?;
        if let Some(composite) = scalers.composite.as_ref().filter(|_| request.metric == COMPOSITE_METRIC) {
            return Box::pin(self.serve_composite(&object, &scalers, composite)).await;
        }
        // The HPA's client requests names in lower case.
        let requested = scalers.metrics().find(|(_, metric)| metric.name.eq_ignore_ascii_case(request.metric));
        let Some((trigger, metric)) = requested else {
            let names: Vec<&str> = scalers.metrics().map(|(_, metric)| metric.name.as_str()).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(MetricError::NotFound(format!(
                "no matching metrics found for {}: ScaledObject {key} has {has}",
                request.metric
            )));
        };
        self.serve_metric(&object, &scalers, trigger, metric).await
    }

    /// The scalers of the object: as the leader has them after its reconcile, else built on demand.
    async fn scalers(&self, key: &ObjectKey, object: &LazyObject) -> Result<Arc<ObjectScalers>, MetricError> {
        if self.readings.leadership.has_reconciled(key) {
            return self.readings.get(key).ok_or_else(|| {
                MetricError::Unavailable(format!(
                    "the triggers of ScaledObject {key} are not built; its conditions say why"
                ))
            });
        }
        let built = Box::pin(self.readings.on_demand(object)).await;
        built.map_err(|why| MetricError::Unavailable(format!("ScaledObject {key} has no metrics: {why}")))
    }

    /// The values of one metric, or of its fallback.
    async fn serve_metric(
        &self,
        object: &LazyObject,
        scalers: &Arc<ObjectScalers>,
        trigger: &Arc<CachedTrigger>,
        metric: &Arc<ExternalMetric>,
    ) -> Result<Vec<MetricValue>, MetricError> {
        let (name, age_max) = (&metric.name, self.readings.age_max(scalers, trigger));
        let reading = scalers.read(trigger, metric, age_max, Requester::MetricsApi, &self.readings.clock).await;
        // A formula decides on its own whether it is active.
        if reading.is_active() && scalers.composite.is_none() {
            self.readings.seen_active.record(&scalers.key, &scalers.uid, reading.wall);
        }
        let value = |value: String| MetricValue { name: name.clone(), value, at: reading.wall };
        let error = match &reading.answer {
            Ok(known) => return Ok(known.values.iter().map(|one| value(format_float(*one))).collect()),
            Err(error) => error,
        };
        let failed = |detail: String| MetricError::Failed(format!("metric:{name} encountered error: {detail}"));
        match Box::pin(self.readings.fallback_value(object, scalers, metric)).await {
            None => Err(failed(error.to_string())),
            Some(Err(why)) => Err(failed(format!("{error}; {why}"))),
            Some(Ok(substitute)) => {
                scalers.record_fallback(trigger, metric, substitute);
                Ok(vec![value(Quantity::from_milli(substitute.0).canonical())])
            }
        }
    }

    /// The value of the formula, or of the fallback.
    async fn serve_composite(
        &self,
        object: &LazyObject,
        scalers: &Arc<ObjectScalers>,
        composite: &Composite,
    ) -> Result<Vec<MetricValue>, MetricError> {
        let readings = &self.readings;
        let age_max = |trigger: &CachedTrigger| readings.age_max(scalers, trigger);
        let read = scalers.read_all(age_max, Requester::MetricsApi, &readings.clock).await;
        let failures = |metric: &ExternalMetric| readings.failures(object, metric);
        let mut around = Surroundings { fallback: scalers.fallback.as_ref(), ..Surroundings::default() };
        let mut outcome = composite::evaluate(composite, &read, failures, around);
        if let CompositeOutcome::Unknown(Unknown::NoSubstitute(_)) = outcome
            && let Ok(target) =
                readings.targets.resolve(scalers.key.namespace.clone(), &object.spec.scale_target_ref).await
        {
            around.current_replicas = readings.current_replicas(&target).await;
            around.ready_pods = match composite.metric_type {
                MetricType::AverageValue => None,
                MetricType::Value => readings.targets.count_ready_pods(&target).await.ok(),
            };
            outcome = composite::evaluate(composite, &read, failures, around);
        }
        if outcome.contribution() == Contribution::Active {
            readings.seen_active.record(&scalers.key, &scalers.uid, readings.clock.now());
        }
        if let Some(value) = outcome.served() {
            scalers.record_composite(value);
            let value = Quantity::from_milli(value.0).canonical();
            return Ok(vec![MetricValue { name: COMPOSITE_METRIC.to_owned(), value, at: readings.clock.now() }]);
        }
        let errors = read.iter().filter_map(|(_, metric, reading)| {
            reading.answer.as_ref().err().map(|error| format!("{}: {error}", metric.name))
        });
        let all: Vec<String> = outcome.why().map(ToString::to_string).into_iter().chain(errors).collect();
        Err(MetricError::Failed(format!("metric:{COMPOSITE_METRIC} encountered error: {}", all.join("; "))))
    }
}

#[cfg(test)]
mod tests;
