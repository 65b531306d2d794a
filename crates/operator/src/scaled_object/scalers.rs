//! The scalers of an object: ensured through the readings service, with events about what was built and what failed.

use std::sync::Arc;

use futures::FutureExt;
use kedge_api::ScaledObject;
use kedge_api::names::{conditions, events};
use kedge_cluster::{EventType, ScaleTarget};
use tracing::{debug, warn};

use super::{ReconcileError, ReconcileState, Reconciler};
use crate::cluster_cache::LazyObject;
use crate::readings::Ensured;
use crate::scalers_cache::{CachedTrigger, ObjectScalers};
use crate::slots::Slot;

impl Reconciler {
    /// The scalers of the object, built for its generation and its credentials.
    pub(super) async fn ensure_scalers(
        &self,
        object: &LazyObject,
        target: &ScaleTarget,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Result<Arc<ObjectScalers>, ReconcileError> {
        let ensured = match self.readings.current(&*object.cached) {
            Some(scalers) => Ensured::Cached(scalers),
            None => self.wait_for_sources(object, slot, self.readings.ensure(object, target).boxed()).await?,
        };
        if let Ensured::Built { scalers, .. } = &ensured {
            let key = &scalers.key;
            debug!(namespace = %key.namespace, name = %key.name, generation = scalers.generation, "scalers built");
        }
        let scalers = self.publish_built(object, ensured, state);
        // They may have been built on demand, since this reconcile began.
        state.has_built_scalers = true;
        Ok(scalers)
    }

    /// The scalers, after sources that did not describe their metrics were queried again.
    pub(super) async fn rebuild_scalers(
        &self,
        object: &LazyObject,
        scalers: Arc<ObjectScalers>,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Result<Arc<ObjectScalers>, ReconcileError> {
        let ensured =
            self.wait_for_sources(object, slot, self.readings.rebuild_changed(object, scalers).boxed()).await?;
        Ok(self.publish_built(object, ensured, state))
    }

    /// Publishes what is new about scalers that were built.
    fn publish_built(&self, object: &LazyObject, ensured: Ensured, state: &mut ReconcileState) -> Arc<ObjectScalers> {
        let (scalers, replaced) = match ensured {
            Ensured::Cached(scalers) => return scalers,
            Ensured::Built { scalers, replaced } => (scalers, replaced),
        };
        let is_known = object.status.as_ref().is_some_and(|status| status.hpa_name.is_some());
        // What an earlier process built and published is not news.
        let is_news = std::mem::replace(&mut state.has_built_scalers, true) || !is_known;
        for trigger in &scalers.triggers {
            let before = replaced.as_ref().and_then(|old| old.trigger(trigger.index, &trigger.trigger_type));
            self.publish_trigger(object, trigger, before, is_news);
        }
        if is_news && scalers.is_any_built() && !replaced.is_some_and(|old| old.is_any_built()) {
            self.events.publish(&**object, EventType::Normal, events::SCALERS_STARTED, "Started scalers watch");
        }
        scalers
    }

    fn publish_trigger(
        &self,
        object: &ScaledObject,
        trigger: &Arc<CachedTrigger>,
        before: Option<&Arc<CachedTrigger>>,
        is_news: bool,
    ) {
        match (&trigger.scaler, before) {
            (_, Some(old)) if Arc::ptr_eq(old, trigger) => {}
            (Ok(_), _) if is_news => {
                let note = format!("Scaler {} is built", trigger.trigger_type);
                self.events.publish(object, EventType::Normal, events::SCALERS_STARTED, &note);
                self.report_unexpected_parameters(object, trigger.index);
                self.report_absent_credentials(object, trigger);
            }
            (Ok(_), _) => {}
            (Err(error), Some(old)) if old.scaler.as_ref().err() == Some(error) => {}
            (Err(error), _) if !is_news && is_in_ready_condition(object, &error.to_string()) => {}
            (Err(error), _) => {
                self.events.publish(object, EventType::Warning, events::SCALER_FAILED, &error.to_string());
            }
        }
    }

    /// Publishes an event for each credential that does not exist, and that the trigger did not need to be built.
    fn report_absent_credentials(&self, object: &ScaledObject, trigger: &CachedTrigger) {
        for absent in &trigger.credentials.absent {
            let note = format!("trigger {} ({}) was built without it: {absent}", trigger.index, trigger.trigger_type);
            warn!(note, "a credential does not exist");
            self.events.publish(object, EventType::Warning, events::SCALER_INFO, &note);
        }
    }

    /// Publishes an event for each parameter that the trigger's type does not know, where this is configured.
    fn report_unexpected_parameters(&self, object: &ScaledObject, index: usize) {
        let Some(trigger) = object.spec.triggers.get(index) else { return };
        for note in self.readings.builder.registry.report_unexpected_parameters(trigger) {
            warn!(note, "a trigger has an unexpected parameter");
            self.events.publish(object, EventType::Warning, events::SCALER_INFO, &note);
        }
    }
}

/// Whether the Ready condition contains this error already.
fn is_in_ready_condition(object: &ScaledObject, error: &str) -> bool {
    let conditions = object.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.r#type == conditions::READY);
    ready.any(|ready| ready.message.as_ref().is_some_and(|message| message.contains(error)))
}

#[cfg(test)]
mod tests {
    use kedge_scalers::{Connector, NoCluster, Registry, UnexpectedParameters};
    use serde_json::{Value, json};

    use super::*;
    use crate::test_cluster::TestCluster;

    /// The notes of the events KEDAScalerInfo about an object with a misspelt parameter.
    async fn published_notes(unexpected_parameters: UnexpectedParameters) -> Vec<Value> {
        let cluster = TestCluster::new();
        cluster.apply_known("web", 1, json!({}));
        let path = "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects/web";
        let mut object = cluster.object(path).unwrap();
        object["spec"]["triggers"][0]["metadata"]["timeZone"] = json!("Etc/UTC");
        object["status"] = json!({});
        cluster.apply(path, object);
        let registry = Registry::new(Default::default(), Connector::tcp(), Arc::new(NoCluster));
        let operator = cluster.operator_with(registry.with_unexpected_parameters(unexpected_parameters));
        let running = tokio::spawn(operator.run(std::future::pending()));
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        running.abort();
        let published = cluster.objects("/apis/events.k8s.io/v1/namespaces/shop/events");
        assert!(published.iter().any(|event| event["reason"] == events::SCALERS_STARTED), "{published:?}");
        let infos = published.into_iter().filter(|event| event["reason"] == events::SCALER_INFO);
        infos.map(|mut event| event["note"].take()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn an_unexpected_parameter_is_published_where_this_is_configured() {
        let reported = published_notes(UnexpectedParameters::Reported).await;
        assert_eq!(reported, [json!("Unmatched input property timeZone in scaler cron")]);
        assert_eq!(published_notes(UnexpectedParameters::Ignored).await, [json!(null); 0]);
    }
}
