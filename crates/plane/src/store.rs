//! Objects, revisions, and the log of what changed.
//!
//! Every write takes the next revision, and the log remembers what each revision changed. Watches read the log; the past
//! is rebuilt by walking it backwards.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::meta;
use crate::resource::{GroupResource, Gvr, Resource};

mod owners;

pub(crate) use owners::Owners;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    Added,
    Modified,
    Deleted,
}

/// One entry of the log: one write that changed something.
#[derive(Clone, Debug)]
pub struct Change {
    pub revision: u64,
    pub at: DateTime<Utc>,
    /// Who wrote.
    pub by: String,
    pub resource: Gvr,
    pub namespace: Option<String>,
    pub name: String,
    pub happened: Happened,
    /// The object before; none where it was created.
    pub before: Option<Arc<Value>>,
    /// The object after; where it was deleted, its last state, with the revision of the deletion.
    pub after: Arc<Value>,
}

impl Change {
    pub(crate) fn is_of(&self, shelf: &GroupResource) -> bool {
        self.resource.plural == shelf.plural && self.resource.group == shelf.group
    }

    fn key(&self) -> String {
        key(self.namespace.as_deref(), &self.name)
    }
}

/// The objects of one resource, by namespace and name, in the order of lists.
pub(crate) type Shelf = BTreeMap<String, Arc<Value>>;

/// Where an object is: its resource and its key there.
pub(crate) type Place = (GroupResource, String);

/// How the objects of a shelf are ordered: as the API server orders them, which is not the order of the pairs.
pub(crate) fn key(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

/// Who writes which object when.
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
    /// Changes up to this revision are forgotten.
    forgotten: u64,
    log: VecDeque<Arc<Change>>,
    log_max: usize,
    /// Changes whose consequences are still to be drawn.
    unsettled: VecDeque<Arc<Change>>,
    shelves: BTreeMap<GroupResource, Shelf>,
    owners: Owners,
}

static EMPTY: Shelf = Shelf::new();

impl Store {
    pub(crate) fn new(log_max: usize) -> Self {
        Self {
            revision: 1,
            forgotten: 1,
            log: VecDeque::new(),
            log_max,
            unsettled: VecDeque::new(),
            shelves: BTreeMap::new(),
            owners: Owners::default(),
        }
    }

    /// From now on the log remembers so many changes.
    pub(crate) fn remember(&mut self, changes: usize) {
        self.log_max = changes;
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision so many before now, as far as the log reaches back.
    pub(crate) fn behind(&self, revisions: u64) -> u64 {
        self.revision.saturating_sub(revisions).max(self.forgotten)
    }

    pub(crate) fn owners(&self) -> &Owners {
        &self.owners
    }

    pub(crate) fn shelf(&self, shelf: &GroupResource) -> &Shelf {
        self.shelves.get(shelf).unwrap_or(&EMPTY)
    }

    pub(crate) fn shelves(&self) -> impl Iterator<Item = (&GroupResource, &Shelf)> {
        self.shelves.iter()
    }

    pub(crate) fn get(&self, shelf: &GroupResource, key: &str) -> Option<&Arc<Value>> {
        self.shelves.get(shelf)?.get(key)
    }

    /// Stores an object under the next revision, which it is stamped with.
    pub(crate) fn put(&mut self, entry: Entry<'_>, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        meta::set_text(&mut object, "resourceVersion", &self.revision.to_string());
        let (after, key) = (Arc::new(object), key(entry.namespace, entry.name));
        let shelf = &entry.resource.shelf;
        let before = self.shelves.entry(shelf.clone()).or_default().insert(key.clone(), after.clone());
        self.owners.replace((shelf.clone(), key), before.as_deref(), Some(&after));
        let happened = if before.is_some() { Happened::Modified } else { Happened::Added };
        self.note(entry, happened, before, after.clone());
        after
    }

    /// Takes an object away, under the next revision. What is told is its last stored state.
    pub(crate) fn remove(&mut self, entry: Entry<'_>) -> Option<Arc<Value>> {
        let (shelf, key) = (&entry.resource.shelf, key(entry.namespace, entry.name));
        let before = self.shelves.get_mut(shelf)?.remove(&key)?;
        self.owners.replace((shelf.clone(), key), Some(&before), None);
        self.revision += 1;
        let mut last = (*before).clone();
        meta::set_text(&mut last, "resourceVersion", &self.revision.to_string());
        let last = Arc::new(last);
        self.note(entry, Happened::Deleted, Some(before), last.clone());
        Some(last)
    }

    fn note(&mut self, entry: Entry<'_>, happened: Happened, before: Option<Arc<Value>>, after: Arc<Value>) {
        let change = Change {
            revision: self.revision,
            at: entry.at,
            by: entry.by.to_owned(),
            resource: entry.resource.stored.clone(),
            namespace: entry.namespace.map(str::to_owned),
            name: entry.name.to_owned(),
            happened,
            before,
            after,
        };
        let change = Arc::new(change);
        self.unsettled.push_back(change.clone());
        self.log.push_back(change);
        if self.log.len() > self.log_max {
            self.forgotten = self.log.pop_front().map_or(self.forgotten, |oldest| oldest.revision);
        }
    }

    /// The next change whose consequences are still to be drawn.
    pub(crate) fn next_unsettled(&mut self) -> Option<Arc<Change>> {
        self.unsettled.pop_front()
    }

    /// Forgets the log: everything older than now is too old.
    pub(crate) fn compact(&mut self) {
        self.log.clear();
        self.forgotten = self.revision;
    }

    /// The oldest revision that watches can go on from.
    pub(crate) fn oldest_known(&self) -> u64 {
        self.forgotten
    }

    /// The changes after a revision, in order; none if they are forgotten.
    pub(crate) fn since(&self, revision: u64) -> Option<impl DoubleEndedIterator<Item = &Arc<Change>>> {
        (revision >= self.forgotten).then(|| {
            let start = self.log.partition_point(|change| change.revision <= revision);
            self.log.range(start..)
        })
    }

    /// The objects of a resource as they were at a revision; none if that is forgotten.
    pub(crate) fn shelf_at(&self, shelf: &GroupResource, revision: u64) -> Option<Shelf> {
        let mut past = self.shelf(shelf).clone();
        for change in self.since(revision)?.rev().filter(|change| change.is_of(shelf)) {
            match &change.before {
                Some(before) => past.insert(change.key(), before.clone()),
                None => past.remove(&change.key()),
            };
        }
        Some(past)
    }

    /// One object as it was at a revision; the outer none if that is forgotten.
    pub(crate) fn object_at(&self, shelf: &GroupResource, key: &str, revision: u64) -> Option<Option<Arc<Value>>> {
        let first_later = self.since(revision)?.find(|change| change.is_of(shelf) && change.key() == key);
        Some(match first_later {
            Some(change) => change.before.clone(),
            None => self.get(shelf, key).cloned(),
        })
    }
}

/// The part of a shelf that lies in a namespace, or all of it.
pub(crate) fn within<'a>(
    shelf: &'a Shelf,
    namespace: Option<&str>,
) -> Box<dyn Iterator<Item = (&'a String, &'a Arc<Value>)> + 'a> {
    match namespace {
        // '0' follows '/'.
        Some(namespace) => Box::new(shelf.range(format!("{namespace}/")..format!("{namespace}0"))),
        None => Box::new(shelf.iter()),
    }
}
