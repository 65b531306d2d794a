//! A cached ScaledObject: what polls, reads and counts need of it at hand, and the whole as JSON.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kedge_api::ScaledObject;
use kedge_api::trigger::Trigger;
use kedge_cluster::{NamespacedName, ObjectKey, TargetKind};
use kedge_core::credentials::Reference;
use serde::{Deserialize, Deserializer};

use crate::compact::Compact;

/// One version of a ScaledObject.
#[derive(Clone, Debug)]
pub struct CachedObject {
    pub key: ObjectKey,
    pub uid: Option<Box<str>>,
    pub generation: Option<i64>,
    pub created_at: Option<Timestamp>,
    pub trigger_types: Box<[Box<str>]>,
    /// What it refers to, unless it is being deleted.
    pub authentications: Box<[Reference]>,
    /// The kind of its target, where every cluster has that kind.
    pub target_kind: Option<Arc<TargetKind>>,
    pub(super) version: Option<Box<str>>,
    /// The name of its target, of whatever kind.
    pub(super) target: NamespacedName,
    object: Compact<ScaledObject>,
}

impl CachedObject {
    pub fn read(&self) -> ScaledObject {
        self.object.read()
    }

    pub(super) fn is_same_version(&self, other: &Self) -> bool {
        self.version.is_some() && (&self.uid, &self.version) == (&other.uid, &other.version)
    }
}

/// Leaves out the record of who wrote which field, which is larger than the rest.
impl From<ScaledObject> for CachedObject {
    fn from(mut object: ScaledObject) -> Self {
        object.metadata.managed_fields = None;
        let key = ObjectKey::from(&object);
        let (meta, spec) = (&object.metadata, &object.spec);
        Self {
            uid: meta.uid.as_deref().map(Box::from),
            generation: meta.generation,
            created_at: meta.creation_timestamp.as_ref().map(|time| time.0),
            trigger_types: spec.triggers.iter().map(|trigger| Box::from(trigger.r#type.as_str())).collect(),
            authentications: authentications(meta, &spec.triggers, &key.namespace),
            target_kind: TargetKind::built_in(&spec.scale_target_ref),
            version: meta.resource_version.as_deref().map(Box::from),
            target: NamespacedName {
                namespace: key.namespace.clone(),
                name: spec.scale_target_ref.name.as_str().into(),
            },
            object: Compact::new(&object),
            key,
        }
    }
}

/// Reduces each object of a list as soon as it is read: in the types of the Kubernetes API, all of them take four times as much.
impl<'de> Deserialize<'de> for CachedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ScaledObject::deserialize(deserializer).map(Self::from)
    }
}

/// What triggers refer to, unless their object is being deleted.
pub(crate) fn authentications(metadata: &ObjectMeta, triggers: &[Trigger], namespace: &str) -> Box<[Reference]> {
    if metadata.deletion_timestamp.is_some() {
        return Box::default();
    }
    let references = triggers.iter().filter_map(|trigger| trigger.authentication_ref.as_ref());
    references.map(|reference| Reference::authentication(reference, namespace)).collect()
}

impl Cached for CachedObject {
    type Object = ScaledObject;

    fn read_object(&self) -> ScaledObject {
        self.read()
    }
}

pub type LazyObject = Lazy<CachedObject>;

/// What is cached of an object, the whole included.
pub trait Cached {
    type Object;

    fn read_object(&self) -> Self::Object;
}

/// A cached object that is read when more of it is needed than is at hand: a quiet poll needs no more.
#[derive(Debug)]
pub struct Lazy<C: Cached> {
    pub cached: Arc<C>,
    object: OnceLock<Box<C::Object>>,
}

impl<C: Cached> Lazy<C> {
    /// An object that was just written, and has been cached.
    pub fn written(cached: Arc<C>, object: C::Object) -> Self {
        Self { cached, object: OnceLock::from(Box::new(object)) }
    }
}

impl<C: Cached> From<Arc<C>> for Lazy<C> {
    fn from(cached: Arc<C>) -> Self {
        Self { cached, object: OnceLock::new() }
    }
}

impl<C: Cached> Deref for Lazy<C> {
    type Target = C::Object;

    fn deref(&self) -> &C::Object {
        self.object.get_or_init(|| Box::new(self.cached.read_object()))
    }
}

#[cfg(test)]
mod tests {
    use kedge_core::credentials::ReferenceKind;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_at_hand_is_what_the_object_says() {
        let mut object: ScaledObject = serde_json::from_value(json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 2,
                "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{ "manager": "kubectl" }],
            },
            "spec": {
                "scaleTargetRef": { "name": "api", "kind": "StatefulSet" },
                "triggers": [
                    { "type": "prometheus", "metadata": {}, "authenticationRef": { "name": "prom" } },
                    { "type": "cron", "metadata": {} },
                ],
            },
        }))
        .unwrap();
        let cached = CachedObject::from(object.clone());
        assert_eq!(
            (cached.uid.as_deref(), cached.generation, cached.version.as_deref()),
            (Some("u"), Some(2), Some("7"))
        );
        assert_eq!((&cached.key, &cached.target), (&ObjectKey::from(&object), &NamespacedName::new("shop", "api")));
        assert_eq!(cached.created_at, object.metadata.creation_timestamp.as_ref().map(|time| time.0));
        assert_eq!(cached.target_kind.as_ref().map(|kind| kind.kind.as_str()), Some("StatefulSet"));
        assert_eq!(*cached.trigger_types, ["prometheus".into(), "cron".into()]);
        assert_eq!(*cached.authentications, [Reference::new(ReferenceKind::TriggerAuthentication, "shop", "prom")]);
        object.metadata.managed_fields = None;
        assert_eq!(cached.read(), object, "the rest is read as it was, without the managed fields");
        object.metadata.deletion_timestamp = object.metadata.creation_timestamp.clone();
        assert!(CachedObject::from(object).authentications.is_empty(), "it is being deleted");
    }
}
