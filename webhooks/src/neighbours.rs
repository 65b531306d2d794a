//! What rules may know of the objects around theirs: small values, from the index of a cluster or from manifests.

use kedge_api::scaled_object::ScaledObjectSpec;
use kedge_core::trigger_class::Resource;

/// A kind with its group and version, in KEDA's notation: `apps/v1.Deployment`.
// KEDA: the core group gives a leading slash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KindName(pub Box<str>);

impl KindName {
    /// The kind of a target reference, which defaults to a Deployment of `apps/v1`.
    pub fn from_reference(api_version: Option<&str>, kind: Option<&str>) -> Self {
        let given = |text: Option<&str>, default| text.filter(|text| !text.is_empty()).unwrap_or(default).to_owned();
        Self::new(&given(api_version, "apps/v1"), &given(kind, "Deployment"))
    }

    /// The kind of the target of a ScaledObject.
    pub fn for_target(spec: &ScaledObjectSpec) -> Self {
        let (api_version, kind) = spec.scale_target_ref.api_version_and_kind();
        Self::new(api_version, kind)
    }

    fn new(api_version: &str, kind: &str) -> Self {
        let slash = if api_version.contains('/') { "" } else { "/" };
        Self(format!("{slash}{api_version}.{kind}").into())
    }

    /// The workload kind whose containers the rules check, if it is one.
    pub fn workload(&self) -> Option<WorkloadKind> {
        match &*self.0 {
            "apps/v1.Deployment" => Some(WorkloadKind::Deployment),
            "apps/v1.StatefulSet" => Some(WorkloadKind::StatefulSet),
            _ => None,
        }
    }
}

impl std::fmt::Display for KindName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A workload kind whose containers the rules check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkloadKind {
    Deployment,
    StatefulSet,
}

impl WorkloadKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
        }
    }

    /// Its resource in `apps/v1`.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Deployment => "deployments",
            Self::StatefulSet => "statefulsets",
        }
    }
}

/// Another ScaledObject of the namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherScaledObject {
    pub name: Box<str>,
    pub kind: KindName,
}

/// An HPA whose target has the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hpa {
    pub name: Box<str>,
    pub kind: KindName,
    /// The ScaledObjects that own it.
    pub owners: Vec<Box<str>>,
    pub conflict_check: ConflictCheck,
}

/// Whether an HPA is part of the conflict check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictCheck {
    Included,
    /// The HPA opts out by annotation.
    Excluded,
}

/// The resources that have a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceSet(u8);

impl ResourceSet {
    pub fn with(self, resource: Resource) -> Self {
        Self(self.0 | Self::bit(resource))
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn has(self, resource: Resource) -> bool {
        self.0 & Self::bit(resource) != 0
    }

    fn bit(resource: Resource) -> u8 {
        match resource {
            Resource::Cpu => 1,
            Resource::Memory => 2,
        }
    }
}

/// One container of a workload, and what it requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub name: Box<str>,
    pub requests: ResourceSet,
}

/// What the pods of a workload request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodResources {
    /// Of the pod as a whole.
    pub pod: ResourceSet,
    pub containers: Box<[Container]>,
}

/// What is known of the target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Workload {
    /// Not fetched.
    #[default]
    Unknown,
    Missing,
    Found(PodResources),
}

/// All that rules may know. The default is a manifest alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The kinds that the cluster does not serve, among those of the target and of the HPAs: API version and kind.
    pub unserved: Vec<(String, String)>,
    /// Other ScaledObjects whose target has the same name.
    pub same_target: Vec<OtherScaledObject>,
    /// Other ScaledObjects whose HPA has the same name.
    pub same_hpa: Vec<Box<str>>,
    pub hpas: Vec<Hpa>,
    pub workload: Workload,
    /// The default requests of containers, by the LimitRanges of the namespace.
    pub defaults: ResourceSet,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_named_with_group_and_version() {
        let rows = [
            (None, None, "apps/v1.Deployment"),
            (Some(""), Some(""), "apps/v1.Deployment"),
            (Some("apps/v1"), Some("StatefulSet"), "apps/v1.StatefulSet"),
            (Some("v1"), Some("ReplicationController"), "/v1.ReplicationController"),
            (Some("example.com/v2"), Some("Widget"), "example.com/v2.Widget"),
        ];
        for (api_version, kind, expected) in rows {
            assert_eq!(KindName::from_reference(api_version, kind).to_string(), expected);
        }
    }

    #[test]
    fn requests_of_cpu_and_memory_are_independent() {
        let cpu = ResourceSet::default().with(Resource::Cpu);
        assert!(cpu.has(Resource::Cpu) && !cpu.has(Resource::Memory));
        assert!(cpu.union(ResourceSet::default().with(Resource::Memory)).has(Resource::Memory));
    }
}
