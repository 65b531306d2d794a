//! The composite metric of an object with a formula: what its triggers' readings make of it.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use kedge_core::fallback::Failures;
use kedge_core::formula::composite::{self, CompositeOutcome, Surroundings};
use kedge_core::formula::settings::Composite;

use super::{Arc, BoardTrigger, Clock, ExternalMetric, ObjectBoard, Reading};

/// A metric with what was read of it.
pub type Read<'b> = (&'b Arc<BoardTrigger>, &'b Arc<ExternalMetric>, Reading);

impl ObjectBoard {
    /// A reading of every metric, each of at most the age that its trigger bears.
    pub async fn read_all(
        self: &Arc<Self>,
        age_max: impl Fn(&BoardTrigger) -> Duration,
        clock: &Clock,
    ) -> Vec<Read<'_>> {
        let age_max = &age_max;
        join_all(self.metrics().map(|(trigger, metric)| async move {
            (trigger, metric, self.read(trigger, metric, age_max(trigger), clock).await)
        }))
        .await
    }
}

/// What the formula says of these readings.
pub fn evaluate(
    composite: &Composite,
    readings: &[Read<'_>],
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
