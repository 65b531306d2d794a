//! What follows from a write: definitions are served, dependents of deleted objects are collected, namespaces
//! terminate. In a cluster, controllers do that asynchronously; here it is done within the write.

pub(crate) mod api_services;
mod garbage_collector;
mod namespaces;

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::api::meta;
use crate::apiextensions::definitions;
use crate::storage::state::State;
use crate::storage::store::{Change, ChangeType};

/// Processes every pending change, and the changes that result.
pub(crate) fn reconcile(state: &mut State, now: DateTime<Utc>) {
    while let Some(change) = state.store.next_pending() {
        on_change(state, &change, now);
    }
}

fn on_change(state: &mut State, change: &Arc<Change>, now: DateTime<Utc>) {
    if change.change_type == ChangeType::Deleted {
        state.applied.retain(|(uid, _), _| uid != meta::uid(&change.after));
    }
    match (change.resource.group.as_str(), change.resource.plural.as_str()) {
        ("apiextensions.k8s.io", "customresourcedefinitions") => definitions::on_change(state, change, now),
        ("apiregistration.k8s.io", "apiservices") => api_services::on_change(state, change, now),
        _ => {}
    }
    definitions::on_instance_change(state, change, now);
    garbage_collector::on_change(state, change, now);
    namespaces::on_change(state, change, now);
}
