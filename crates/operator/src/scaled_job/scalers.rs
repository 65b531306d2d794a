//! The scalers of a ScaledJob: ensured through the readings service, with events about what was built and what failed.

use std::sync::{Arc, LazyLock};

use futures::FutureExt;
use kedge_api::names::{self, events};
use kedge_cluster::{EventType, NamespacedName, ScaleTarget, TargetKind};
use tracing::debug;

use super::{JobReconcileError, JobReconcileState, JobReconciler};
use crate::job_cache::LazyScaledJob;
use crate::readings::Ensured;
use crate::scalers_cache::{CachedTrigger, ObjectScalers};
use crate::slots::Slot;

/// A ScaledJob has the pod template that its triggers may refer to: it is its own workload.
static SCALED_JOB: LazyLock<Arc<TargetKind>> = LazyLock::new(|| {
    let (group, version) = (names::GROUP.to_owned(), names::VERSION.to_owned());
    Arc::new(TargetKind { group, version, kind: "ScaledJob".to_owned(), resource: "scaledjobs".to_owned() })
});

impl JobReconciler {
    /// The scalers of the object, built for its generation and its credentials.
    pub(super) async fn ensure_scalers(
        &self,
        object: &LazyScaledJob,
        state: &mut JobReconcileState,
        slot: &mut Slot,
    ) -> Result<Arc<ObjectScalers>, JobReconcileError> {
        let key = &object.cached.key;
        if let Some(scalers) = self.readings.current(&*object.cached)
            && !scalers.needs_rebuild()
        {
            return Ok(scalers);
        }
        let name = NamespacedName { namespace: key.namespace.clone(), name: key.name.clone() };
        let workload = ScaleTarget { kind: SCALED_JOB.clone(), key: name };
        let ensured = self.readings.ensure_for_job(object, &workload).boxed();
        let ensured = self.wait_for_sources(object, slot, ensured).await?;
        Ok(self.publish_built(object, ensured, state))
    }

    /// Publishes what is new about scalers that were built.
    fn publish_built(
        &self,
        object: &LazyScaledJob,
        ensured: Ensured,
        state: &mut JobReconcileState,
    ) -> Arc<ObjectScalers> {
        let (scalers, replaced) = match ensured {
            Ensured::Cached(scalers) => return scalers,
            Ensured::Built { scalers, replaced } => (scalers, replaced),
        };
        let key = &scalers.key;
        debug!(namespace = %key.namespace, name = %key.name, generation = scalers.generation, "scalers built");
        let is_known = object.status.as_ref().is_some_and(|status| status.triggers_types.is_some());
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
        object: &LazyScaledJob,
        trigger: &Arc<CachedTrigger>,
        before: Option<&Arc<CachedTrigger>>,
        is_news: bool,
    ) {
        match (&trigger.scaler, before) {
            (_, Some(old)) if Arc::ptr_eq(old, trigger) => {}
            (Ok(_), _) if is_news => {
                let note = format!("Scaler {} is built", trigger.trigger_type);
                self.events.publish(&**object, EventType::Normal, events::SCALERS_STARTED, &note);
            }
            (Ok(_), _) => {}
            (Err(error), Some(old)) if old.scaler.as_ref().err() == Some(error) => {}
            (Err(error), _) => {
                self.events.publish(&**object, EventType::Warning, events::SCALER_FAILED, &error.to_string());
            }
        }
    }
}
