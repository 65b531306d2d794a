//! One poll of the triggers: the readings, the demand that follows, and the Jobs that are created for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kedge_api::names::events;
use kedge_cluster::EventType;
use kedge_core::conditions::TriggerHealth;
use kedge_core::scaled_job::decide::{JobDecision, decide};
use kedge_core::scaled_job::demand::{Demand, MetricDemand};
use kedge_core::scaled_job::policy::JobPolicy;
use kedge_core::scaled_job::status::PollFacts;
use tracing::debug;

use super::{JobReconcileError, JobReconcileState, JobReconciler};
use crate::job_cache::LazyScaledJob;
use crate::scalers_cache::composite::MetricReading;
use crate::scalers_cache::{Failure, ObjectScalers, Requester};
use crate::slots::Slot;

impl JobReconciler {
    /// Reads the sources, without the slot, decides, and creates Jobs.
    pub(super) async fn poll(
        &self,
        object: &LazyScaledJob,
        policy: &JobPolicy,
        scalers: &Arc<ObjectScalers>,
        state: &mut JobReconcileState,
        slot: &mut Slot,
    ) -> Result<PollFacts, JobReconcileError> {
        scalers.fail_unbuilt(&self.clock);
        // Before the sources are read: a Job that ends meanwhile has taken its message, and both count less in the next poll. The other way
        // round, its message would count without it.
        let counts = self.cache.counts(&scalers.key, policy);
        let sources = scalers.read_all(|_| Duration::ZERO, Requester::ScaleLoop, &self.clock);
        let readings = self.wait_for_sources(object, slot, sources.boxed()).await?;
        self.publish_failures(object, state, &readings);
        let active = activity(&readings);
        scalers.record_active(&active);
        let metrics: Vec<MetricDemand> = readings.iter().filter_map(metric_demand).collect();
        let demand = Demand::combine(&metrics, policy.combination, policy.bounds);
        let key = &scalers.key;
        let decision = decide(policy, &demand, counts);
        debug!(namespace = %key.namespace, name = %key.name, ?decision, ?demand, "decided");
        let create_errors = match decision {
            JobDecision::Create { count, .. } => self.create_jobs(object, count, state, slot).await,
            JobDecision::Hold(_) => Vec::new(),
        };
        let has_failed = readings.len() > metrics.len() || !scalers.triggers.iter().all(|one| one.scaler.is_ok());
        if demand.is_active {
            state.last_active_at = Some(self.clock.now());
        }
        Ok(PollFacts {
            is_active: demand.is_active,
            triggers: if has_failed { TriggerHealth::SomeFailed } else { TriggerHealth::AllAnswered },
            active,
            create_errors,
            last_active_at: state.last_active_at,
        })
    }

    /// Publishes each metric that begins to fail, once.
    fn publish_failures(&self, object: &LazyScaledJob, state: &mut JobReconcileState, readings: &[MetricReading<'_>]) {
        for (_, metric, reading) in readings {
            match &reading.answer {
                Ok(_) => drop(state.failing_metrics.remove(&metric.name)),
                // A trigger that is not built is published when its scaler fails to build.
                Err(Failure::NotBuilt(_)) => {}
                Err(error) => {
                    if state.failing_metrics.insert(metric.name.clone()) {
                        let note = format!("{}: {error}", metric.name);
                        self.events.publish(&**object, EventType::Warning, events::SCALER_FAILED, &note);
                    }
                }
            }
        }
    }
}

/// What a metric announces, unless its source did not answer.
fn metric_demand((_, metric, reading): &MetricReading<'_>) -> Option<MetricDemand> {
    let known = reading.answer.as_ref().ok()?;
    Some(MetricDemand {
        queue_length: known.values.iter().sum(),
        target: metric.target.as_f64(),
        is_active: reading.is_active(),
    })
}

/// Whether each metric is active. KEDA: one whose source did not answer is not.
fn activity(readings: &[MetricReading<'_>]) -> BTreeMap<String, bool> {
    let built = readings.iter().filter(|(trigger, _, _)| trigger.scaler.is_ok());
    built.map(|(_, metric, reading)| (metric.name.clone(), reading.is_active())).collect()
}
