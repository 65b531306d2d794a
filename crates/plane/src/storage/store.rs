//! Objects, revisions, and the log of what changed.
//!
//! Every write takes the next revision, and the log records what each revision changed. Watches read the log; earlier state
//! is rebuilt by walking it backwards.

use std::collections::{BTreeMap, VecDeque};
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
    pub(crate) fn collection_at(&self, collection: &GroupResource, revision: u64) -> Option<Collection> {
        let mut past = self.collection(collection).clone();
        for change in self.since(revision)?.rev().filter(|change| change.is_of(collection)) {
            match &change.before {
                Some(before) => past.insert(change.key(), before.clone()),
                None => past.remove(&change.key()),
            };
        }
        Some(past)
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
