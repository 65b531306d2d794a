//! The cached objects of one kind that Kedge scales.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_cluster::{ListWatchEvent, ObjectKey, Scope};
use kube::Resource;

#[derive(Debug)]
pub(super) struct Objects<T> {
    by_key: BTreeMap<ObjectKey, Arc<T>>,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { by_key: BTreeMap::new() }
    }
}

impl<T> Objects<T> {
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.by_key.get(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.by_key.keys()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Arc<T>> {
        self.by_key.values()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<T>)> {
        self.by_key.iter()
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        self.by_key.remove(key);
    }

    /// Removes everything within a scope.
    fn take(&mut self, scope: &Scope) -> BTreeMap<ObjectKey, Arc<T>> {
        self.by_key.extract_if(.., |key, _| scope.includes(&key.namespace)).collect()
    }
}

impl<T> Objects<T>
where
    T: Resource<DynamicType = ()>,
    for<'a> ObjectKey: From<&'a T>,
{
    /// Caches an object as a write returned it, unless the watch has reported a later change already, or the deletion.
    pub(super) fn record_written(&mut self, object: T) {
        let key = ObjectKey::from(&object);
        if self.get(&key).is_some_and(|cached| is_later(object.meta(), cached.meta())) {
            self.by_key.insert(key, Arc::new(object));
        }
    }

    /// Applies an event of the watch in a scope, and returns the objects to reconcile.
    pub(super) fn apply_event(&mut self, scope: &Scope, event: ListWatchEvent<T>) -> Vec<ObjectKey> {
        match event {
            ListWatchEvent::Listed(all) => {
                let mut old = self.take(scope);
                let mut concerned = Vec::new();
                for object in all {
                    let before = old.remove(&ObjectKey::from(&object));
                    concerned.extend(self.replace(before, object));
                }
                old.into_keys().chain(concerned).collect()
            }
            ListWatchEvent::Applied(object) => {
                let before = self.by_key.remove(&ObjectKey::from(&object));
                self.replace(before, object).into_iter().collect()
            }
            ListWatchEvent::Deleted(object) => {
                let key = ObjectKey::from(&object);
                self.by_key.remove(&key);
                vec![key]
            }
        }
    }

    /// Caches an object, and returns its key if it differs from before in more than its status.
    fn replace(&mut self, before: Option<Arc<T>>, object: T) -> Option<ObjectKey> {
        let key = ObjectKey::from(&object);
        let is_changed = before.is_none_or(|before| needs_reconcile(before.meta(), object.meta()));
        self.by_key.insert(key.clone(), Arc::new(object));
        is_changed.then_some(key)
    }
}

/// Whether one version of an object came after another. Versions of one resource are numbers that grow.
pub(super) fn is_later(new: &ObjectMeta, old: &ObjectMeta) -> bool {
    let number = |meta: &ObjectMeta| meta.resource_version.as_ref().and_then(|version| version.parse::<u64>().ok());
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
