//! Objects, revisions, and the log of what changed.
//!
//! Every write takes the next revision, and the log records what each revision changed. Watches read the log; earlier state
//! is rebuilt by walking it backwards.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::api::meta;
use crate::api::resource::{GroupResource, Gvr, Resource};

mod owners;

pub(crate) use owners::OwnerIndex;

/// The type of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeType {
    Added,
    Modified,
    Deleted,
}

/// One entry of the log: one write that changed something.
#[derive(Clone, Debug)]
pub struct Change {
    pub revision: u64,
    pub at: DateTime<Utc>,
    /// The user of the write.
    pub by: String,
    pub resource: Gvr,
    pub namespace: Option<String>,
    pub name: String,
    pub change_type: ChangeType,
    /// The object before; none where it was created.
    pub before: Option<Arc<Value>>,
    /// The object after; where it was deleted, its last state, with the revision of the deletion.
    pub after: Arc<Value>,
}

impl Change {
    pub(crate) fn is_of(&self, collection: &GroupResource) -> bool {
        self.resource.plural == collection.plural && self.resource.group == collection.group
    }

    fn key(&self) -> String {
        key(self.namespace.as_deref(), &self.name)
    }
}

/// The objects of one resource, by namespace and name, in the order of lists.
pub(crate) type Collection = BTreeMap<String, Arc<Value>>;

/// An object: its resource, and its key in the collection.
pub(crate) type ObjectRef = (GroupResource, String);

/// The key of an object in its collection, in the API server's order, which is not the order of the pairs.
pub(crate) fn key(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

/// A write: object, user and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) by: &'a str,
    pub(crate) at: DateTime<Utc>,
}

/// All objects, and the log.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    revision: u64,
    /// Changes up to this revision are compacted.
    compacted_revision: u64,
    log: VecDeque<Arc<Change>>,
    log_max: usize,
    /// Changes that the lifecycle controllers have not processed yet.
    pending: VecDeque<Arc<Change>>,
    collections: BTreeMap<GroupResource, Collection>,
    owners: OwnerIndex,
}

static EMPTY: Collection = Collection::new();

impl Store {
    pub(crate) fn new(log_max: usize) -> Self {
        Self {
            revision: 1,
            compacted_revision: 1,
            log: VecDeque::new(),
            log_max,
            pending: VecDeque::new(),
            collections: BTreeMap::new(),
            owners: OwnerIndex::default(),
        }
    }

    /// Sets the length of the log.
    pub(crate) fn set_log_max(&mut self, changes: usize) {
        self.log_max = changes;
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision that many before the current one, as far as the log reaches back.
    pub(crate) fn behind(&self, revisions: u64) -> u64 {
        self.revision.saturating_sub(revisions).max(self.compacted_revision)
    }

    pub(crate) fn owners(&self) -> &OwnerIndex {
        &self.owners
    }

    pub(crate) fn collection(&self, collection: &GroupResource) -> &Collection {
        self.collections.get(collection).unwrap_or(&EMPTY)
    }

    pub(crate) fn collections(&self) -> impl Iterator<Item = (&GroupResource, &Collection)> {
        self.collections.iter()
    }

    pub(crate) fn get(&self, collection: &GroupResource, key: &str) -> Option<&Arc<Value>> {
        self.collections.get(collection)?.get(key)
    }

    /// Stores an object under the next revision, which it is stamped with.
    pub(crate) fn put(&mut self, entry: Entry<'_>, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        meta::set_text(&mut object, "resourceVersion", &self.revision.to_string());
        let (after, key) = (Arc::new(object), key(entry.namespace, entry.name));
        let collection = &entry.resource.collection;
        let before = self.collections.entry(collection.clone()).or_default().insert(key.clone(), after.clone());
        self.owners.replace((collection.clone(), key), before.as_deref(), Some(&after));
        let change_type = if before.is_some() { ChangeType::Modified } else { ChangeType::Added };
        self.record(entry, change_type, before, after.clone());
        after
    }

    /// Removes an object, under the next revision. The change holds its last stored state.
    pub(crate) fn remove(&mut self, entry: Entry<'_>) -> Option<Arc<Value>> {
        let (collection, key) = (&entry.resource.collection, key(entry.namespace, entry.name));
        let before = self.collections.get_mut(collection)?.remove(&key)?;
        self.owners.replace((collection.clone(), key), Some(&before), None);
        self.revision += 1;
        let mut last = (*before).clone();
        meta::set_text(&mut last, "resourceVersion", &self.revision.to_string());
        let last = Arc::new(last);
        self.record(entry, ChangeType::Deleted, Some(before), last.clone());
        Some(last)
    }

    fn record(&mut self, entry: Entry<'_>, change_type: ChangeType, before: Option<Arc<Value>>, after: Arc<Value>) {
        let change = Change {
            revision: self.revision,
            at: entry.at,
            by: entry.by.to_owned(),
            resource: entry.resource.stored.clone(),
            namespace: entry.namespace.map(str::to_owned),
            name: entry.name.to_owned(),
            change_type,
            before,
            after,
        };
        let change = Arc::new(change);
        self.pending.push_back(change.clone());
        self.log.push_back(change);
        if self.log.len() > self.log_max {
            self.compacted_revision = self.log.pop_front().map_or(self.compacted_revision, |oldest| oldest.revision);
        }
    }

    /// The next change that the lifecycle controllers have not processed yet.
    pub(crate) fn next_pending(&mut self) -> Option<Arc<Change>> {
        self.pending.pop_front()
    }

    /// Compacts the log: every older revision is expired.
    pub(crate) fn compact(&mut self) {
        self.log.clear();
        self.compacted_revision = self.revision;
    }

    /// The oldest revision that watches can continue from.
    pub(crate) fn oldest_known(&self) -> u64 {
        self.compacted_revision
    }

    /// The changes after a revision, in order; none if they are compacted.
    pub(crate) fn since(&self, revision: u64) -> Option<impl DoubleEndedIterator<Item = &Arc<Change>>> {
        (revision >= self.compacted_revision).then(|| {
            let start = self.log.partition_point(|change| change.revision <= revision);
            self.log.range(start..)
        })
    }

    /// The objects of a resource at a revision; none if that is compacted.
    pub(crate) fn collection_at(&self, collection: &GroupResource, revision: u64) -> Option<CollectionAt<'_>> {
        let mut changed = BTreeMap::new();
        for change in self.since(revision)?.rev().filter(|change| change.is_of(collection)) {
            changed.insert(change.key(), change.before.clone());
        }
        Some(CollectionAt { now: self.collection(collection), changed })
    }

    /// One object at a revision; the outer none if that is compacted.
    pub(crate) fn object_at(&self, collection: &GroupResource, key: &str, revision: u64) -> Option<Option<Arc<Value>>> {
        let first_later = self.since(revision)?.find(|change| change.is_of(collection) && change.key() == key);
        Some(match first_later {
            Some(change) => change.before.clone(),
            None => self.get(collection, key).cloned(),
        })
    }
}

/// A collection at a revision: as it is now, but for the objects that have changed since.
pub(crate) struct CollectionAt<'a> {
    now: &'a Collection,
    /// As they were; none where there was no such object.
    changed: BTreeMap<String, Option<Arc<Value>>>,
}

impl CollectionAt<'_> {
    /// The objects of a namespace, or all, from a key on, in the order of lists.
    pub(crate) fn objects_from(
        &self,
        namespace: Option<&str>,
        start: Option<&str>,
    ) -> impl Iterator<Item = (&String, &Arc<Value>)> {
        // '0' follows '/'.
        let begin =
            namespace.map(|namespace| format!("{namespace}/")).into_iter().chain(start.map(str::to_owned)).max();
        let end = namespace.map_or(Bound::Unbounded, |namespace| Bound::Excluded(format!("{namespace}0")));
        let begin = begin.unwrap_or_default();
        // A range must not end before it begins, as it would for a key of another namespace.
        let end = match end {
            Bound::Excluded(end) if end < begin => Bound::Excluded(begin.clone()),
            end => end,
        };
        let range = (Bound::Included(begin), end);
        let unchanged = self.now.range(range.clone()).filter(|(key, _)| !self.changed.contains_key(*key));
        let earlier = self.changed.range(range).filter_map(|(key, object)| Some((key, object.as_ref()?)));
        let (mut unchanged, mut earlier) = (unchanged.peekable(), earlier.peekable());
        std::iter::from_fn(move || match (unchanged.peek(), earlier.peek()) {
            (Some((one, _)), Some((other, _))) if other < one => earlier.next(),
            (Some(_), _) => unchanged.next(),
            (None, _) => earlier.next(),
        })
    }
}

/// The part of a collection that lies in a namespace, or all of it.
pub(crate) fn within<'a>(
    collection: &'a Collection,
    namespace: Option<&str>,
) -> Box<dyn Iterator<Item = (&'a String, &'a Arc<Value>)> + 'a> {
    match namespace {
        // '0' follows '/'.
        Some(namespace) => Box::new(collection.range(format!("{namespace}/")..format!("{namespace}0"))),
        None => Box::new(collection.iter()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::api::resource::table::BUILT_IN;

    /// Names of two namespaces, one of which begins like the other.
    const KEYS: [(&str, &str); 5] = [("a", "one"), ("a", "two"), ("a-b", "one"), ("b", "one"), ("b", "two")];

    fn listed(past: &CollectionAt<'_>, namespace: Option<&str>, start: Option<&str>) -> Vec<String> {
        past.objects_from(namespace, start).map(|(key, object)| format!("{key} {}", object["n"])).collect()
    }

    proptest! {
        #[test]
        fn a_past_collection_is_what_was_listed_then(steps in vec((0..KEYS.len(), any::<bool>()), 1..20), start in 0..KEYS.len()) {
            let resource = BUILT_IN[&Gvr::new("", "v1", "configmaps")].clone();
            let mut store = Store::new(1000);
            let mut seen = vec![(store.revision(), Vec::new())];
            for (number, (index, removes)) in steps.into_iter().enumerate() {
                let (namespace, name) = KEYS[index];
                let entry = Entry { resource: &resource, namespace: Some(namespace), name, by: "me", at: DateTime::UNIX_EPOCH };
                if removes {
                    store.remove(entry);
                } else {
                    store.put(entry, json!({ "metadata": { "namespace": namespace, "name": name }, "n": number }));
                }
                let now: Vec<String> = store.collection(&resource.collection).iter().map(|(key, object)| format!("{key} {}", object["n"])).collect();
                seen.push((store.revision(), now));
            }
            let start = key(Some(KEYS[start].0), KEYS[start].1);
            for (revision, all) in seen {
                let past = store.collection_at(&resource.collection, revision).unwrap();
                prop_assert_eq!(&listed(&past, None, None), &all);
                let from: Vec<String> = all.iter().filter(|line| *line.split(' ').next().unwrap() >= *start).cloned().collect();
                prop_assert_eq!(listed(&past, None, Some(&start)), from);
                for namespace in ["a", "a-b", "b", "c"] {
                    let inside: Vec<String> = all.iter().filter(|line| line.split('/').next() == Some(namespace)).cloned().collect();
                    prop_assert_eq!(listed(&past, Some(namespace), None), inside);
                }
            }
        }
    }
}
