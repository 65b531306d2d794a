//! The end of what has lost its owners, as the garbage collector brings it about: in the background. Orphaning and
//! waiting for dependents are left out, and so is what never had an owner but names one.

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::index::{Anything, Index, owner_uids};
use crate::controllers::hand::{Grace, Hand, Key, Part, RETRY_PAUSE};
use crate::error::ApiError;
use crate::resource::Gvr;
use crate::store::{Change, Happened};

#[derive(Debug)]
pub(super) struct Garbage {
    hand: Hand,
    /// UIDs of what was deleted.
    gone: BTreeSet<String>,
    /// What has lost an owner.
    bereft: BTreeSet<Anything>,
    retry_at: Option<Instant>,
}

impl Garbage {
    pub(super) fn new(hand: Hand) -> Self {
        Self { hand, gone: BTreeSet::new(), bereft: BTreeSet::new(), retry_at: None }
    }

    pub(super) fn note(&mut self, change: &Change, key: &Key, index: &Index) {
        match (change.happened, change.after["metadata"]["uid"].as_str()) {
            (Happened::Deleted, Some(uid)) => {
                self.bereft.extend(index.owned(uid).cloned());
                self.gone.insert(uid.to_owned());
            }
            _ if owner_uids(&change.after).any(|uid| self.gone.contains(uid)) => {
                self.bereft.insert((change.resource.clone(), key.clone()));
            }
            _ => {}
        }
    }

    pub(super) async fn collect(&mut self) {
        self.retry_at = None;
        for (resource, key) in std::mem::take(&mut self.bereft) {
            if let Err(error) = self.judge(&resource, &key).await {
                tracing::debug!(%error, %resource, %key, "garbage is tried again");
                self.bereft.insert((resource, key));
                self.retry_at = Some(Instant::now() + RETRY_PAUSE);
            }
        }
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Without any owner left it goes; with some left it forgets the others.
    async fn judge(&self, resource: &Gvr, key: &Key) -> Result<(), ApiError> {
        let Some(object) = self.hand.plane.object(resource, key.namespace(), &key.name) else { return Ok(()) };
        let is_gone = |uid: &str| self.gone.contains(uid);
        if !owner_uids(&object).any(is_gone) {
            return Ok(());
        }
        if owner_uids(&object).all(is_gone) {
            let is_ending = !object["metadata"]["deletionTimestamp"].is_null();
            return if is_ending { Ok(()) } else { self.hand.delete(resource, key, Grace::Own).await };
        }
        let mut object = (*object).clone();
        if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
            owners.retain(|owner| !owner["uid"].as_str().is_some_and(is_gone));
        }
        self.hand.update(resource, key, Part::Whole, &object).await
    }
}
