//! The HPA of an object: one, and its own.

use std::collections::BTreeSet;

use kedge_plane::store::{Change, Happened};
use serde_json::Value;

use super::{Evidence, is_operator};
use crate::scenario::NAME;

/// There are never two HPAs of one object.
pub(super) fn only_one(evidence: &Evidence) -> Vec<String> {
    let mut owned = BTreeSet::new();
    let mut broken = Vec::new();
    for change in evidence.changes_of("HorizontalPodAutoscaler") {
        let is_there = change.happened != Happened::Deleted && is_owned(&change.after);
        match is_there {
            true => owned.insert(change.name.clone()),
            false => owned.remove(&change.name),
        };
        if owned.len() > 1 {
            broken.push(format!("there are two HPAs of one object: {owned:?}"));
        }
    }
    broken
}

/// An HPA of somebody else's is not touched, unless the object says that it may be taken over.
pub(super) fn only_ours(evidence: &Evidence) -> Vec<String> {
    let touched = |change: &&Change| {
        let foreign = change.before.as_ref().is_some_and(|before| !is_owned(before));
        is_operator(&change.by) && foreign && !may_be_taken(evidence, change)
    };
    let told = |change: &Change| {
        format!("the HPA {} of somebody else was {:?} by {}", change.name, change.happened, change.by)
    };
    evidence.changes_of("HorizontalPodAutoscaler").filter(touched).map(told).collect()
}

fn is_owned(hpa: &Value) -> bool {
    let mut owners = hpa["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.any(|owner| owner["kind"] == "ScaledObject" && owner["name"] == NAME)
}

fn may_be_taken(evidence: &Evidence, change: &Change) -> bool {
    let object = evidence.object_at(change.revision);
    object.is_some_and(|object| {
        object["metadata"]["annotations"]["scaledobject.keda.sh/transfer-hpa-ownership"] == "true"
    })
}
