//! The composite metric of an object with a formula, from the readings of its triggers.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use kedge_core::fallback::Failures;
use kedge_core::formula::composite::{self, CompositeOutcome, Surroundings};
use kedge_core::formula::settings::Composite;

use super::{Arc, CachedTrigger, Clock, ExternalMetric, ObjectScalers, Reading, Requester};

/// A metric with its reading.
pub type MetricReading<'b> = (&'b Arc<CachedTrigger>, &'b Arc<ExternalMetric>, Reading);

impl ObjectScalers {
    /// A reading of every metric, each of at most the age that its trigger allows.
    pub async fn read_all(
        self: &Arc<Self>,
        age_max: impl Fn(&CachedTrigger) -> Duration,
        requester: Requester,
        clock: &Clock,
    ) -> Vec<MetricReading<'_>> {
        let age_max = &age_max;
        // The metrics are counted first: for a few, this polls them without a queue.
        let metrics: Vec<_> = self.metrics().collect();
        join_all(metrics.into_iter().map(|(trigger, metric)| async move {
            (trigger, metric, self.read(trigger, metric, age_max(trigger), requester, clock).await)
        }))
        .await
    }
}

impl ObjectScalers {
    /// The last reading of each metric that was read.
    pub fn last_readings(&self) -> Vec<MetricReading<'_>> {
        self.metrics().filter_map(|(trigger, metric)| Some((trigger, metric, metric.last()?))).collect()
    }
}

/// Evaluates the formula over these readings.
pub fn evaluate(
    composite: &Composite,
    readings: &[MetricReading<'_>],
    failures: impl Fn(&ExternalMetric) -> Failures,
    around: Surroundings<'_>,
) -> CompositeOutcome {
    let mut by_name = BTreeMap::new();
    for (trigger, metric, reading) in readings {
        let Some(name) = trigger.name.clone().filter(|name| !name.is_empty()) else { continue };
        let failures = failures(metric);
        let value = match &reading.answer {
            Ok(known) => composite::Reading::from_values(&known.values, failures),
            Err(_) => composite::Reading::Failed(failures),
        };
        // KEDA: of several metrics of one trigger the last counts.
        by_name.insert(name, value);
    }
    composite.evaluate(&by_name, around)
}
