//! Acting on a push: the target is activated at once, and no source is queried.

use std::collections::BTreeSet;
use std::sync::Arc;

use kedge_api::names::COMPOSITE_METRIC;
use kedge_core::activity::Contribution;
use kedge_core::status::PollFacts;
use tokio::time::Instant;

use super::poll::{Polled, contributions};
use super::subject::Subject;
use super::{ReconcileError, ReconcileState, Reconciler};
use crate::scalers_cache::{CachedTrigger, ObjectScalers};
use crate::slots::Slot;

impl Reconciler {
    /// Decides by the push and the last readings.
    pub(super) async fn act_on_push(
        &self,
        subject: Subject<'_>,
        state: &mut ReconcileState,
        slot: &mut Slot,
    ) -> Result<PollFacts, ReconcileError> {
        let scalers = subject.scalers;
        let pushed: Vec<&Arc<CachedTrigger>> = pushed_triggers(scalers).collect();
        let current = self.cached_replicas(subject.target, slot).await?;
        let mut polled = last_known(scalers, current);
        let indexes: BTreeSet<usize> = pushed.iter().map(|trigger| trigger.index).collect();
        let metrics = scalers.metrics().filter(|(trigger, _)| indexes.contains(&trigger.index));
        polled.active.extend(metrics.map(|(_, metric)| (metric.name.clone(), true)));
        polled.contributions.push(Contribution::Active);
        let facts = self.conclude(subject, polled, current, Instant::now(), state, slot).await?;
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
