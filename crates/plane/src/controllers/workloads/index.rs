//! Who owns what, kept from the log of changes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::api::resource::Gvr;
use crate::controllers::client::ObjectKey;
use crate::storage::store::{Change, ChangeType};

/// An object of any kind.
pub(super) type Anything = (Gvr, ObjectKey);

/// Objects by the UIDs of their owners.
#[derive(Debug, Default)]
pub(super) struct Index(BTreeMap<String, BTreeSet<Anything>>);

impl Index {
    pub(super) fn note(&mut self, change: &Change, key: &ObjectKey) {
        if let Some(before) = &change.before {
            self.remove(&change.resource, key, before);
        }
        match change.change_type {
            ChangeType::Deleted => self.remove(&change.resource, key, &change.after),
            ChangeType::Added | ChangeType::Modified => self.add(&change.resource, key, &change.after),
        }
    }

    pub(super) fn add(&mut self, resource: &Gvr, key: &ObjectKey, object: &Value) {
        for uid in owner_uids(object) {
            self.0.entry(uid.to_owned()).or_default().insert((resource.clone(), key.clone()));
        }
    }

    fn remove(&mut self, resource: &Gvr, key: &ObjectKey, object: &Value) {
        for uid in owner_uids(object) {
            if let Some(owned) = self.0.get_mut(uid) {
                owned.remove(&(resource.clone(), key.clone()));
                if owned.is_empty() {
                    self.0.remove(uid);
                }
            }
        }
    }

    /// What the owner has, in order.
    pub(super) fn owned(&self, uid: &str) -> impl Iterator<Item = &Anything> {
        self.0.get(uid).into_iter().flatten()
    }
}

pub(super) fn owners(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    owners(object).iter().filter_map(|owner| owner["uid"].as_str())
}
