//! Who exists, and who belongs to whom, by uid: what garbage collection asks for after every write.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Place;
use crate::meta;

/// Two indexes, kept with every write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners {
    places: BTreeMap<String, Place>,
    dependents: BTreeMap<String, BTreeSet<Place>>,
}

impl Owners {
    pub(super) fn replace(&mut self, place: Place, before: Option<&Value>, after: Option<&Value>) {
        if let Some(before) = before {
            self.places.remove(meta::uid(before));
            meta::owner_uids(before).for_each(|owner| self.disown(owner, &place));
        }
        if let Some(after) = after {
            for owner in meta::owner_uids(after) {
                self.dependents.entry(owner.to_owned()).or_default().insert(place.clone());
            }
            self.places.insert(meta::uid(after).to_owned(), place);
        }
    }

    fn disown(&mut self, owner: &str, place: &Place) {
        if let Some(places) = self.dependents.get_mut(owner) {
            places.remove(place);
            if places.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    /// Where the object of a uid is.
    pub(crate) fn place(&self, uid: &str) -> Option<&Place> {
        self.places.get(uid)
    }

    /// The objects that name this uid as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Place> {
        self.dependents.get(uid).map(|places| places.iter().cloned().collect()).unwrap_or_default()
    }
}
