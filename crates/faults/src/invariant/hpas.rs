//! Each object has at most one HPA, and the operator writes no HPA of another owner.

use std::collections::BTreeSet;

use kedge_plane::{Change, ChangeType};
use serde_json::Value;

use super::{RunRecord, is_operator};
use crate::scenario::NAME;

/// An object never has two HPAs.
pub(super) fn at_most_one(record: &RunRecord) -> Vec<String> {
    let mut owned = BTreeSet::new();
    let mut broken = Vec::new();
    for change in record.changes_of("HorizontalPodAutoscaler") {
        let is_there = change.change_type != ChangeType::Deleted && is_owned(&change.after);
        match is_there {
            true => owned.insert(change.name.clone()),
            false => owned.remove(&change.name),
        };
        if owned.len() > 1 {
            broken.push(format!("one object has two HPAs: {owned:?}"));
        }
    }
    broken
}

/// An HPA of another owner stays as it is, unless an annotation transfers its ownership.
pub(super) fn only_owned(record: &RunRecord) -> Vec<String> {
    let touched = |change: &&Change| {
        let foreign = change.before.as_ref().is_some_and(|before| !is_owned(before));
        is_operator(&change.by) && foreign && !is_transferred(record, change)
    };
    let describe = |change: &Change| {
        format!("the HPA {} of another owner was {:?} by {}", change.name, change.change_type, change.by)
    };
    record.changes_of("HorizontalPodAutoscaler").filter(touched).map(describe).collect()
}

fn is_owned(hpa: &Value) -> bool {
    let mut owners = hpa["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.any(|owner| owner["kind"] == "ScaledObject" && owner["name"] == NAME)
}

fn is_transferred(record: &RunRecord, change: &Change) -> bool {
    let object = record.object_at(change.revision);
    object.is_some_and(|object| {
        object["metadata"]["annotations"]["scaledobject.keda.sh/transfer-hpa-ownership"] == "true"
    })
}
