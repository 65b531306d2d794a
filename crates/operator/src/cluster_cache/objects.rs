//! The cached ScaledObjects: by key, and by target.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_cluster::{ListWatchEvent, NamespacedName, ObjectKey, Scope};

use super::cached_object::CachedObject;
use super::small_set::SmallSet;

#[derive(Debug, Default)]
pub(super) struct Objects {
    by_key: BTreeMap<ObjectKey, Arc<CachedObject>>,
    by_target: BTreeMap<NamespacedName, SmallSet<ObjectKey>>,
    /// The targets whose last object was removed. Another may have been cached since.
    vacated: Vec<NamespacedName>,
}

impl Objects {
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Arc<CachedObject>> {
        self.by_key.get(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.by_key.keys()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Arc<CachedObject>> {
        self.by_key.values()
    }

    /// The keys of the objects whose target has this name, of whatever kind.
    pub(super) fn keys_with_target(&self, target: &NamespacedName) -> impl Iterator<Item = &ObjectKey> {
        self.by_target.get(target).into_iter().flatten()
    }

    /// Whether the target of any object has this name.
    pub(super) fn has_target(&self, target: &NamespacedName) -> bool {
        self.by_target.contains_key(target)
    }

    /// The targets that no object has any more.
    pub(super) fn take_vacated(&mut self) -> Vec<NamespacedName> {
        let mut vacated = std::mem::take(&mut self.vacated);
        vacated.retain(|target| !self.has_target(target));
        vacated
    }

    /// The objects whose target has this name, of whatever kind.
    pub(super) fn with_target(&self, target: &NamespacedName) -> impl Iterator<Item = &Arc<CachedObject>> {
        self.keys_with_target(target).filter_map(|key| self.by_key.get(key))
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<CachedObject>> {
        let old = self.by_key.remove(key)?;
        if let Some(keys) = self.by_target.get_mut(&old.target) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_target.remove(&old.target);
                self.vacated.push(old.target.clone());
            }
        }
        Some(old)
    }

    fn insert(&mut self, object: Arc<CachedObject>) {
        self.by_target.entry(object.target.clone()).or_default().insert(object.key.clone());
        self.by_key.insert(object.key.clone(), object);
    }

    /// Removes everything within a scope.
    fn take(&mut self, scope: &Scope) -> BTreeMap<ObjectKey, Arc<CachedObject>> {
        let inside: Vec<ObjectKey> = self.keys().filter(|key| scope.includes(&key.namespace)).cloned().collect();
        inside.into_iter().filter_map(|key| self.remove(&key).map(|old| (key, old))).collect()
    }

    /// Caches an object as a write returned it, unless the watch has reported a later change already, or the deletion.
    pub(super) fn record_written(&mut self, object: Arc<CachedObject>) {
        let is_newer = |cached: &Arc<CachedObject>| is_later(object.version.as_deref(), cached.version.as_deref());
        if self.get(&object.key).is_some_and(is_newer) {
            self.remove(&object.key);
            self.insert(object);
        }
    }

    /// Applies an event of the watch in a scope, and returns the objects to reconcile.
    pub(super) fn apply_event(&mut self, scope: &Scope, event: ListWatchEvent<CachedObject>) -> Vec<ObjectKey> {
        match event {
            ListWatchEvent::Listed(all) => {
                let mut old = self.take(scope);
                let mut concerned = Vec::new();
                for object in all {
                    let before = old.remove(&object.key);
                    concerned.extend(self.replace(before, object));
                }
                old.into_keys().chain(concerned).collect()
            }
            ListWatchEvent::Applied(object) => {
                let before = self.remove(&object.key);
                self.replace(before, object).into_iter().collect()
            }
            ListWatchEvent::Deleted(object) => {
                self.remove(&object.key);
                vec![object.key]
            }
        }
    }

    /// Caches an object, and returns its key if it differs from before in more than its status. A version that is cached already stays the
    /// same value.
    fn replace(&mut self, before: Option<Arc<CachedObject>>, object: CachedObject) -> Option<ObjectKey> {
        if let Some(same) = before.as_ref().filter(|before| before.is_same_version(&object)) {
            self.insert(same.clone());
            return None;
        }
        let is_changed = before.is_none_or(|before| needs_reconcile(&before.read().metadata, &object.read().metadata));
        let key = object.key.clone();
        self.insert(Arc::new(object));
        is_changed.then_some(key)
    }
}

/// Whether one version of an object came after another. Versions of one resource are numbers that grow.
pub(crate) fn is_later(new: Option<&str>, old: Option<&str>) -> bool {
    let number = |version: Option<&str>| version.and_then(|version| version.parse::<u64>().ok());
    number(new).zip(number(old)).is_none_or(|(new, old)| new > old)
}

/// Whether a change of an object needs a reconcile: anything but its status.
pub(crate) fn needs_reconcile(old: &ObjectMeta, new: &ObjectMeta) -> bool {
    old.uid != new.uid
        || old.generation != new.generation
        || old.annotations != new.annotations
        || old.labels != new.labels
        || old.finalizers != new.finalizers
        || old.deletion_timestamp.is_some() != new.deletion_timestamp.is_some()
}
