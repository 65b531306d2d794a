//! Which objects use which references, and watches of just those: a change enqueues the objects that use it.
//!
//! Secrets, ConfigMaps and the like are watched only as metadata, of which the version counts, and in groups (`watch_groups`).
//! A watch begins with the first user of what it watches, also if that does not exist yet, and ends with the last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use kedge_api::names;
use kedge_core::credentials::{Reference, ReferenceKind};
use kube::Client;
use serde::Deserialize;
use tokio::task::JoinSet;

use super::read::{Stamp, Version, path};
use super::watch_groups::{NeededWatch, WatchGroup};
use crate::work_queue::WorkQueue;
use kedge_cluster::ObjectKey;
use kedge_cluster::Scope;
use kedge_cluster::{ListWatchEvent, Projection, ResourceQuery, list_watch, list_watch_reporting};

/// The users of each reference. Runs its watches until it is dropped.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct References {
    client: Client,
    queue: Arc<WorkQueue<ObjectKey>>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Counts recorded versions.
    epoch: u64,
    users: BTreeMap<ObjectKey, User>,
    /// The reverse: the users of each reference.
    used_by: BTreeMap<Reference, BTreeSet<ObjectKey>>,
    observed: BTreeMap<Reference, ObservedVersion>,
    watches: JoinSet<()>,
    /// By the path of the resource.
    groups: BTreeMap<String, WatchGroup>,
}

/// One object that uses credentials.
#[derive(Default)]
struct User {
    /// Counts changes of what it uses.
    changes: u64,
    used: BTreeMap<Reference, Version>,
}

/// The version that a watch received last.
struct ObservedVersion {
    version: Version,
    at_epoch: u64,
}

/// The cached fields of an object. Annotations are left out: those of a Secret may repeat its values.
#[derive(Clone, Debug, Deserialize)]
struct Marked {
    metadata: Stamp,
}

/// The moment at which reading began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(u64);

/// Whether what was read is what the watches reported last.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    Agrees,
    /// Something was read in another version. The watch may be behind; or the read was stale, and no event will tell.
    InDoubt,
}

impl References {
    /// Starts the watches of authentication objects, which are few and hold no values.
    pub fn start(client: Client, queue: Arc<WorkQueue<ObjectKey>>, scopes: &[Scope]) -> Arc<Self> {
        let references = Arc::new(Self { client, queue, known: Mutex::default() });
        let prefix = format!("/apis/{}/{}", names::GROUP, names::VERSION);
        for scope in scopes {
            let path = scope.path(&prefix, "triggerauthentications");
            references.watch_all(ReferenceKind::TriggerAuthentication, scope.clone(), path);
        }
        let path = format!("{prefix}/clustertriggerauthentications");
        references.watch_all(ReferenceKind::ClusterTriggerAuthentication, Scope::Cluster, path);
        references
    }

    /// The present moment, to be taken before anything is read.
    pub fn now(&self) -> Epoch {
        Epoch(self.lock().epoch)
    }

    /// A number that changes whenever something changes that this object uses.
    pub fn changes(&self, key: &ObjectKey) -> u64 {
        self.lock().users.get(key).map_or(0, |user| user.changes)
    }

    /// Takes what an object uses, as it was read since that moment.
    pub fn set(self: &Arc<Self>, key: &ObjectKey, began: Epoch, used: BTreeMap<Reference, Version>) -> Agreement {
        let mut known = self.lock();
        let is_in_doubt = used.iter().any(|(reference, read)| known.differs(reference, read));
        let outdated = used.iter().any(|(reference, read)| known.is_outdated(reference, began, read));
        let before = known.users.get(key).map(|user| user.used.clone()).unwrap_or_default();
        for reference in used.keys().filter(|reference| !before.contains_key(*reference)) {
            known.used_by.entry(reference.clone()).or_default().insert(key.clone());
            self.begin_watch(&mut known, reference);
        }
        before.keys().filter(|reference| !used.contains_key(*reference)).for_each(|one| known.release(key, one));
        let user = known.users.entry(key.clone()).or_default();
        user.used = used;
        user.changes += u64::from(outdated);
        drop(known);
        if outdated {
            self.queue.add_now(key.clone());
        }
        if is_in_doubt { Agreement::InDoubt } else { Agreement::Agrees }
    }

    /// Forgets an object.
    pub fn forget(&self, key: &ObjectKey) {
        let mut known = self.lock();
        let Some(user) = known.users.remove(key) else { return };
        user.used.keys().for_each(|reference| known.release(key, reference));
    }

    /// Records the version that a watch received; `None` if the object does not exist. Enqueues the users that
    /// read another version.
    pub fn record_version(&self, reference: &Reference, version: Version) {
        let mut known = self.lock();
        let known = &mut *known;
        known.epoch += 1;
        let users = known.used_by.get(reference).into_iter().flatten();
        for key in users {
            let Some(user) = known.users.get_mut(key) else { continue };
            if user.used.get(reference).is_some_and(|read| *read != version) {
                user.changes += 1;
                self.queue.add_now(key.clone());
            }
        }
        match version.is_none() && !known.used_by.contains_key(reference) {
            true => drop(known.observed.remove(reference)),
            false => {
                let observed = ObservedVersion { version, at_epoch: known.epoch };
                known.observed.insert(reference.clone(), observed);
            }
        }
    }

    /// Applies an event of a watch of many objects.
    fn apply_event(&self, kind: &ReferenceKind, scope: &Scope, event: ListWatchEvent<Marked>) {
        let named = |stamp: &Stamp| Reference::new(kind.clone(), &stamp.namespace, &stamp.name);
        match event {
            ListWatchEvent::Listed(all) => {
                let all: BTreeMap<_, _> =
                    all.iter().map(|one| (named(&one.metadata), one.metadata.version(kind))).collect();
                // Only what is used counts, be it there or not.
                let is_covered = |one: &&Reference| one.kind == *kind && scope.includes(&one.namespace);
                let used: Vec<Reference> = self.lock().used_by.keys().filter(is_covered).cloned().collect();
                for reference in &used {
                    self.record_version(reference, all.get(reference).cloned().flatten());
                }
            }
            ListWatchEvent::Applied(one) => self.record_version(&named(&one.metadata), one.metadata.version(kind)),
            ListWatchEvent::Deleted(one) => self.record_version(&named(&one.metadata), None),
        }
    }

    fn watch_all(self: &Arc<Self>, kind: ReferenceKind, scope: Scope, path: String) {
        let references = Arc::downgrade(self);
        let on_event = move |event| {
            if let Some(references) = references.upgrade() {
                references.apply_event(&kind, &scope, event);
            }
        };
        let watch = list_watch::<Marked>(self.client.clone(), metadata_of(path, None), on_event);
        self.lock().watches.spawn(watch);
    }

    /// Starts the watch that a reference needs, if any.
    fn begin_watch(self: &Arc<Self>, known: &mut Known, reference: &Reference) {
        if !is_watched_in_groups(&reference.kind) || !reference.can_exist() {
            return;
        }
        let path = path(reference);
        match known.groups.entry(path.clone()).or_default().add(reference) {
            NeededWatch::None => {}
            NeededWatch::OfObject => self.watch_object(known, reference),
            NeededWatch::OfNamespace => {
                let task = known.watches.spawn(self.namespace_watch(reference, path.clone()));
                known.groups.entry(path).or_default().set_namespace_watch(task);
            }
        }
    }

    fn watch_object(self: &Arc<Self>, known: &mut Known, reference: &Reference) {
        let task = known.watches.spawn(self.object_watch(reference.clone()));
        known.groups.entry(path(reference)).or_default().set_object_watch(reference, task);
    }

    fn object_watch(self: &Arc<Self>, reference: Reference) -> impl Future<Output = ()> + Send + use<> {
        let references = Arc::downgrade(self);
        let query = metadata_of(path(&reference), Some(format!("metadata.name={}", reference.name)));
        let on_event = move |event: ListWatchEvent<Marked>| {
            let found = match event {
                ListWatchEvent::Listed(all) => all.first().and_then(|one| one.metadata.version(&reference.kind)),
                ListWatchEvent::Applied(one) => one.metadata.version(&reference.kind),
                ListWatchEvent::Deleted(_) => None,
            };
            if let Some(references) = references.upgrade() {
                references.record_version(&reference, found);
            }
        };
        list_watch(self.client.clone(), query, on_event)
    }

    fn namespace_watch(self: &Arc<Self>, of: &Reference, path: String) -> impl Future<Output = ()> + Send + use<> {
        let (kind, scope) = (of.kind.clone(), Scope::Namespace(of.namespace.clone()));
        let (references, group) = (Arc::downgrade(self), path.clone());
        let on_event = move |event: ListWatchEvent<Marked>| {
            let Some(references) = references.upgrade() else { return };
            let listed = matches!(event, ListWatchEvent::Listed(_));
            references.apply_event(&kind, &scope, event);
            if listed {
                references.lock().group_listed(&group);
            }
        };
        let (references, group) = (Arc::downgrade(self), path.clone());
        let on_failure = move |error: &kube::Error| {
            if let (kube::Error::Api(status), Some(references)) = (error, references.upgrade())
                && status.code == 403
            {
                references.watch_each(&group);
            }
        };
        list_watch_reporting(self.client.clone(), metadata_of(path, None), on_event, on_failure)
    }

    /// Watches the objects of a group one by one, because the operator may not list their namespace.
    fn watch_each(self: &Arc<Self>, group: &str) {
        let mut known = self.lock();
        let alone = known.groups.get_mut(group).map(WatchGroup::denied).unwrap_or_default();
        alone.iter().for_each(|reference| self.watch_object(&mut known, reference));
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("no holder of the lock panics")
    }
}

impl Known {
    /// Whether what an object read since that moment may have changed meanwhile.
    fn is_outdated(&self, reference: &Reference, began: Epoch, read: &Version) -> bool {
        let changed = |observed: &ObservedVersion| observed.at_epoch > began.0 && observed.version != *read;
        // A list reports nothing about what was not in use yet.
        let listed = || {
            let is_new = !self.used_by.contains_key(reference);
            is_new && self.groups.get(&path(reference)).and_then(WatchGroup::listed_at).is_some_and(|at| at > began.0)
        };
        self.observed.get(reference).map_or_else(listed, changed)
    }

    /// Whether the watch received another version last.
    fn differs(&self, reference: &Reference, read: &Version) -> bool {
        self.observed.get(reference).is_some_and(|observed| observed.version != *read)
    }

    /// Notes that a group was listed. Versions of objects that are not in use are dropped.
    fn group_listed(&mut self, group: &str) {
        self.epoch += 1;
        if let Some(listed) = self.groups.get_mut(group) {
            listed.listed(self.epoch);
        }
        let used_by = &self.used_by;
        self.observed.retain(|reference, _| used_by.contains_key(reference) || path(reference) != group);
    }

    /// Notes that an object does not use something any more. The watch goes with the last user.
    fn release(&mut self, key: &ObjectKey, reference: &Reference) {
        let Some(users) = self.used_by.get_mut(reference) else { return };
        users.remove(key);
        if !users.is_empty() {
            return;
        }
        self.used_by.remove(reference);
        self.observed.remove(reference);
        let path = path(reference);
        if let Some(group) = self.groups.get_mut(&path) {
            group.remove(reference);
            if group.is_empty() {
                self.groups.remove(&path);
            }
        }
        // What ended is let go.
        while self.watches.try_join_next().is_some() {}
    }
}

/// Authentication objects are all watched: they are few.
fn is_watched_in_groups(kind: &ReferenceKind) -> bool {
    !matches!(kind, ReferenceKind::TriggerAuthentication | ReferenceKind::ClusterTriggerAuthentication)
}

fn metadata_of(path: String, field_selector: Option<String>) -> ResourceQuery {
    ResourceQuery { path, label_selector: None, field_selector, projection: Projection::Metadata }
}
