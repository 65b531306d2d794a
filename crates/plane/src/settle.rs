//! What follows from a write without anybody asking: definitions are served, dependents of what is gone go too, namespaces
//! empty themselves. In a cluster controllers do that in their own time; here it is done when the write is.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::aggregate;
use crate::crd;
use crate::gc;
use crate::meta;
use crate::namespace;
use crate::state::State;
use crate::store::{Change, Happened};

/// Follows every change up, and the changes that come of it.
pub(crate) fn settle(state: &mut State, now: DateTime<Utc>) {
    while let Some(change) = state.store.next_unsettled() {
        follow(state, &change, now);
    }
}

fn follow(state: &mut State, change: &Arc<Change>, now: DateTime<Utc>) {
    if change.happened == Happened::Deleted {
        state.applied.retain(|(uid, _), _| uid != meta::uid(&change.after));
    }
    match (change.resource.group.as_str(), change.resource.plural.as_str()) {
        ("apiextensions.k8s.io", "customresourcedefinitions") => crd::follow(state, change, now),
        ("apiregistration.k8s.io", "apiservices") => aggregate::follow(state, change, now),
        _ => {}
    }
    crd::follow_object(state, change, now);
    gc::follow(state, change, now);
    namespace::follow(state, change, now);
}
