//! The index of objects and their dependents by uid, for the garbage collector.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ObjectRef;
use crate::api::meta;

/// Two indexes, kept with every write.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnerIndex {
    object_refs: BTreeMap<String, ObjectRef>,
    dependents: BTreeMap<String, BTreeSet<ObjectRef>>,
}

impl OwnerIndex {
    pub(super) fn replace(&mut self, object_ref: ObjectRef, before: Option<&Value>, after: Option<&Value>) {
        if let Some(before) = before {
            self.object_refs.remove(meta::uid(before));
            meta::owner_uids(before).for_each(|owner| self.disown(owner, &object_ref));
        }
        if let Some(after) = after {
            for owner in meta::owner_uids(after) {
                self.dependents.entry(owner.to_owned()).or_default().insert(object_ref.clone());
            }
            self.object_refs.insert(meta::uid(after).to_owned(), object_ref);
        }
    }

    fn disown(&mut self, owner: &str, object_ref: &ObjectRef) {
        if let Some(object_refs) = self.dependents.get_mut(owner) {
            object_refs.remove(object_ref);
            if object_refs.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    /// Where the object of a uid is.
    pub(crate) fn locate(&self, uid: &str) -> Option<&ObjectRef> {
        self.object_refs.get(uid)
    }

    /// The objects that name this uid as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<ObjectRef> {
        self.dependents.get(uid).map(|object_refs| object_refs.iter().cloned().collect()).unwrap_or_default()
    }
}
