//! The cached objects of one kind that Kedge scales.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_api::ScaledObject;
use kedge_cluster::{ListWatchEvent, NamespacedName, ObjectKey, Scope};
use kube::Resource;

use super::small_set::SmallSet;

/// What the cache reads of an object of one kind.
pub(super) trait CachedObject: Resource<DynamicType = ()> {
    /// The name of the target that it scales, in its namespace.
    fn target_name(&self) -> &str;

    /// Returns the memory that reading it reserved in excess.
    fn shrink(&mut self);
}

impl CachedObject for ScaledObject {
    fn target_name(&self) -> &str {
        &self.spec.scale_target_ref.name
    }

    fn shrink(&mut self) {
        self.spec.triggers.shrink_to_fit();
        if let Some(conditions) = self.status.as_mut().and_then(|status| status.conditions.as_mut()) {
            conditions.shrink_to_fit();
        }
    }
}

#[derive(Debug)]
pub(super) struct Objects<T> {
    by_key: BTreeMap<ObjectKey, Arc<T>>,
    by_target: BTreeMap<NamespacedName, SmallSet<ObjectKey>>,
    /// The targets whose last object was removed. Another may have been cached since.
    vacated: Vec<NamespacedName>,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { by_key: BTreeMap::new(), by_target: BTreeMap::new(), vacated: Vec::new() }
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
    pub(super) fn with_target(&self, target: &NamespacedName) -> impl Iterator<Item = &Arc<T>> {
        self.keys_with_target(target).filter_map(|key| self.by_key.get(key))
    }
}

impl<T: CachedObject> Objects<T>
where
    for<'a> ObjectKey: From<&'a T>,
{
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<T>> {
        let old = self.by_key.remove(key)?;
        let target = target_of(key, &*old);
        if let Some(keys) = self.by_target.get_mut(&target) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_target.remove(&target);
                self.vacated.push(target);
            }
        }
        Some(old)
    }

    fn insert(&mut self, key: ObjectKey, object: Arc<T>) {
        self.by_target.entry(target_of(&key, &*object)).or_default().insert(key.clone());
        self.by_key.insert(key, object);
    }

    /// Removes everything within a scope.
    fn take(&mut self, scope: &Scope) -> BTreeMap<ObjectKey, Arc<T>> {
        let inside: Vec<ObjectKey> = self.keys().filter(|key| scope.includes(&key.namespace)).cloned().collect();
        inside.into_iter().filter_map(|key| self.remove(&key).map(|old| (key, old))).collect()
    }

    /// Caches an object as a write returned it, unless the watch has reported a later change already, or the deletion.
    pub(super) fn record_written(&mut self, object: T) {
        let key = ObjectKey::from(&object);
        let version = |object: &T| object.meta().resource_version.clone();
        if self.get(&key).is_some_and(|cached| is_later(version(&object).as_deref(), version(cached).as_deref())) {
            self.remove(&key);
            self.insert(key, reduced(object));
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
                let before = self.remove(&ObjectKey::from(&object));
                self.replace(before, object).into_iter().collect()
            }
            ListWatchEvent::Deleted(object) => {
                let key = ObjectKey::from(&object);
                self.remove(&key);
                vec![key]
            }
        }
    }

    /// Caches an object, and returns its key if it differs from before in more than its status. A version that is cached already stays the
    /// same value.
    fn replace(&mut self, before: Option<Arc<T>>, object: T) -> Option<ObjectKey> {
        let key = ObjectKey::from(&object);
        let is_changed = before.as_ref().is_none_or(|before| needs_reconcile(before.meta(), object.meta()));
        let same = before.filter(|before| is_same_version(before.meta(), object.meta()));
        self.insert(key.clone(), same.unwrap_or_else(|| reduced(object)));
        is_changed.then_some(key)
    }
}

/// An object without the record of who wrote which field, which is larger than the rest.
fn reduced<T: CachedObject>(mut object: T) -> Arc<T> {
    object.meta_mut().managed_fields = None;
    object.shrink();
    Arc::new(object)
}

fn is_same_version(one: &ObjectMeta, other: &ObjectMeta) -> bool {
    one.resource_version.is_some() && (&one.uid, &one.resource_version) == (&other.uid, &other.resource_version)
}

fn target_of(key: &ObjectKey, object: &impl CachedObject) -> NamespacedName {
    NamespacedName::new(&key.namespace, object.target_name())
}

/// Whether one version of an object came after another. Versions of one resource are numbers that grow.
pub(super) fn is_later(new: Option<&str>, old: Option<&str>) -> bool {
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
