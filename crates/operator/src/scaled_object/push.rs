//! Acting on a push: the target is activated at once, and no source is queried.

use std::collections::BTreeSet;
use std::sync::Arc;

use kedge_api::ScaledObject;
use kedge_api::names::COMPOSITE_METRIC;
use kedge_cluster::ScaleTarget;
use kedge_core::activity::Contribution;
use kedge_core::policy::Policy;
use kedge_core::status::PollFacts;

use super::poll::{Polled, contributions};
use super::{ReconcileError, ReconcileState, Reconciler};
use crate::scalers_cache::{CachedTrigger, ObjectScalers};

impl Reconciler {
    /// Decides by the push and the last readings.
    pub(super) async fn act_on_push(
        &self,
        object: &ScaledObject,
        policy: &Policy,
        target: &ScaleTarget,
        scalers: &Arc<ObjectScalers>,
        state: &mut ReconcileState,
    ) -> Result<PollFacts, ReconcileError> {
        let pushed: Vec<&Arc<CachedTrigger>> = pushed_triggers(scalers).collect();
        let current = self.cached_replicas(target).await?;
        let mut polled = last_known(scalers, current);
        let indexes: BTreeSet<usize> = pushed.iter().map(|trigger| trigger.index).collect();
        let metrics = scalers.metrics().filter(|(trigger, _)| indexes.contains(&trigger.index));
        polled.active.extend(metrics.map(|(_, metric)| (metric.name.clone(), true)));
        polled.contributions.push(Contribution::Active);
        let facts = self.conclude(object, policy, target, scalers, &polled, current, state).await?;
        // Not before: a reconcile that failed is retried, and acts on it then.
        pushed.iter().filter_map(|trigger| trigger.push.as_ref()).for_each(|push| push.clear_active());
        Ok(facts)
    }
}

/// The triggers whose push source reported work.
fn pushed_triggers(scalers: &ObjectScalers) -> impl Iterator<Item = &Arc<CachedTrigger>> {
    scalers.triggers.iter().filter(|trigger| trigger.push.as_ref().is_some_and(|push| push.is_active()))
}

/// What the last readings contribute. A formula contributes nothing: the push alone activates its target.
fn last_known(scalers: &ObjectScalers, current: Option<i32>) -> Polled {
    if scalers.composite.is_some() {
        return Polled { active: [(COMPOSITE_METRIC.to_owned(), true)].into(), ..Polled::default() };
    }
    contributions(scalers, &scalers.last_readings(), current)
}
