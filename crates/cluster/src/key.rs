//! The names that objects are stored under.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_api::{ScaledJob, ScaledObject};

/// A namespace and a name, where the kind is known from the context. Clones share their texts: every cache and queue holds some.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedName {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

/// The kinds that Kedge scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScalableKind {
    ScaledObject,
    ScaledJob,
}

/// The key of an object that Kedge scales. Clones share their texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    pub kind: ScalableKind,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl NamespacedName {
    pub fn new(namespace: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        Self { namespace: namespace.as_ref().into(), name: name.as_ref().into() }
    }

    pub fn from_meta(metadata: &ObjectMeta) -> Self {
        Self::new(metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
    }
}

impl ScalableKind {
    /// The kind as the API names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ScaledObject => "ScaledObject",
            Self::ScaledJob => "ScaledJob",
        }
    }

    /// KEDA: the value of the label `type` of metrics about one object.
    pub fn metric_type_label(self) -> &'static str {
        match self {
            Self::ScaledObject => "scaledobject",
            Self::ScaledJob => "scaledjob",
        }
    }

    /// KEDA: the value of the label `type` of `keda_resource_registered_total`.
    pub fn resource_type_label(self) -> &'static str {
        match self {
            Self::ScaledObject => "scaled_object",
            Self::ScaledJob => "scaled_job",
        }
    }
}

impl ObjectKey {
    pub fn new(kind: ScalableKind, namespace: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        Self { kind, namespace: namespace.as_ref().into(), name: name.as_ref().into() }
    }

    pub fn scaled_object(namespace: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        Self::new(ScalableKind::ScaledObject, namespace, name)
    }

    pub fn from_meta(kind: ScalableKind, metadata: &ObjectMeta) -> Self {
        let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
        Self::new(kind, namespace.unwrap_or_default(), name.unwrap_or_default())
    }
}

impl From<&ScaledObject> for ObjectKey {
    fn from(object: &ScaledObject) -> Self {
        Self::from_meta(ScalableKind::ScaledObject, &object.metadata)
    }
}

impl From<&ScaledJob> for ObjectKey {
    fn from(job: &ScaledJob) -> Self {
        Self::from_meta(ScalableKind::ScaledJob, &job.metadata)
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The namespaced name: messages name the kind themselves.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
