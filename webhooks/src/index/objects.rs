//! The watched objects, reduced to what rules look up.

use std::collections::BTreeMap;

use kedge_api::names::{HPA_NAME_PREFIX, annotations};
use kedge_core::quantity::Quantity;
use kedge_core::trigger_class::Resource;
use serde::Deserialize;
use serde_json::Value;

use super::table::Entry;
use crate::neighbours::{ConflictCheck, Container, Hpa, KindName, OtherScaledObject, PodResources, ResourceSet};

/// The metadata of an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    pub namespace: Box<str>,
    pub name: Box<str>,
    annotations: Option<BTreeMap<String, Value>>,
    owner_references: Option<Vec<Owner>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Owner {
    kind: Box<str>,
    name: Box<str>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TargetRef {
    name: Option<Box<str>>,
    api_version: Option<String>,
    kind: Option<String>,
}

impl TargetRef {
    fn kind_name(&self) -> KindName {
        KindName::from_reference(self.api_version.as_deref(), self.kind.as_deref())
    }
}

/// A watched object, which becomes an entry of a table.
pub trait Watched {
    type Entry: Entry;

    fn metadata(&self) -> &Metadata;

    fn entry(&self) -> Self::Entry;
}

/// A ScaledObject.
#[derive(Clone, Debug, Deserialize)]
pub struct WatchedScaledObject {
    metadata: Metadata,
    #[serde(default)]
    spec: ObjectSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ObjectSpec {
    scale_target_ref: TargetRef,
    advanced: Option<Advanced>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Advanced {
    horizontal_pod_autoscaler_config: Option<HpaConfig>,
}

#[derive(Clone, Debug, Deserialize)]
struct HpaConfig {
    name: Option<Box<str>>,
}

/// The entry of a ScaledObject.
#[derive(Clone, Debug)]
pub struct ScaledObjectEntry {
    target: Box<str>,
    hpa: Box<str>,
    kind: KindName,
}

impl ScaledObjectEntry {
    pub fn as_other(&self, name: &str) -> OtherScaledObject {
        OtherScaledObject { name: name.into(), kind: self.kind.clone() }
    }
}

impl Entry for ScaledObjectEntry {
    fn keys(&self) -> [Option<&str>; 2] {
        [Some(&self.target), Some(&self.hpa)]
    }
}

impl Watched for WatchedScaledObject {
    type Entry = ScaledObjectEntry;

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn entry(&self) -> ScaledObjectEntry {
        let config =
            self.spec.advanced.as_ref().and_then(|advanced| advanced.horizontal_pod_autoscaler_config.as_ref());
        let named = config.and_then(|config| config.name.clone()).filter(|name| !name.is_empty());
        ScaledObjectEntry {
            target: self.spec.scale_target_ref.name.clone().unwrap_or_default(),
            hpa: named.unwrap_or_else(|| format!("{HPA_NAME_PREFIX}{}", self.metadata.name).into()),
            kind: self.spec.scale_target_ref.kind_name(),
        }
    }
}

/// An HPA.
#[derive(Clone, Debug, Deserialize)]
pub struct WatchedHpa {
    metadata: Metadata,
    spec: HpaSpec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HpaSpec {
    scale_target_ref: TargetRef,
}

/// The entry of an HPA.
#[derive(Clone, Debug)]
pub struct HpaEntry {
    target: Box<str>,
    kind: KindName,
    owners: Box<[Box<str>]>,
    conflict_check: ConflictCheck,
}

impl HpaEntry {
    pub fn hpa(&self, name: &str) -> Hpa {
        Hpa {
            name: name.into(),
            kind: self.kind.clone(),
            owners: self.owners.to_vec(),
            conflict_check: self.conflict_check,
        }
    }
}

impl Entry for HpaEntry {
    fn keys(&self) -> [Option<&str>; 2] {
        [Some(&self.target), None]
    }
}

impl Watched for WatchedHpa {
    type Entry = HpaEntry;

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn entry(&self) -> HpaEntry {
        let metadata = &self.metadata;
        let owners = metadata.owner_references.iter().flatten().filter(|owner| &*owner.kind == "ScaledObject");
        let annotation = metadata.annotations.as_ref().and_then(|all| all.get(annotations::VALIDATIONS_HPA_OWNERSHIP));
        HpaEntry {
            target: self.spec.scale_target_ref.name.clone().unwrap_or_default(),
            kind: self.spec.scale_target_ref.kind_name(),
            owners: owners.map(|owner| owner.name.clone()).collect(),
            conflict_check: if annotation.and_then(Value::as_str) == Some("false") {
                ConflictCheck::Excluded
            } else {
                ConflictCheck::Included
            },
        }
    }
}

/// A Deployment or StatefulSet.
#[derive(Clone, Debug, Deserialize)]
pub struct WatchedWorkload {
    metadata: Metadata,
    #[serde(default)]
    spec: WorkloadSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct WorkloadSpec {
    template: Template,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Template {
    spec: PodSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PodSpec {
    resources: Option<Resources>,
    containers: Vec<WatchedContainer>,
}

#[derive(Clone, Debug, Deserialize)]
struct WatchedContainer {
    name: Box<str>,
    #[serde(default)]
    resources: Option<Resources>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Resources {
    requests: Option<BTreeMap<String, Value>>,
    limits: Option<BTreeMap<String, Value>>,
}

impl WatchedWorkload {
    pub fn pod_resources(&self) -> PodResources {
        let pod = &self.spec.template.spec;
        let containers = pod.containers.iter();
        PodResources {
            pod: total(pod.resources.as_ref()),
            containers: containers
                .map(|container| Container {
                    name: container.name.clone(),
                    requests: total(container.resources.as_ref()),
                })
                .collect(),
        }
    }
}

/// What is requested. A limit counts as a request: it is the default of the request.
fn total(resources: Option<&Resources>) -> ResourceSet {
    let lists = resources.into_iter().flat_map(|resources| [&resources.requests, &resources.limits]);
    lists.flatten().map(requested).fold(ResourceSet::default(), ResourceSet::union)
}

/// The resources whose quantity is above zero.
fn requested(list: &BTreeMap<String, Value>) -> ResourceSet {
    let given = |resource: &Resource| match list.get(resource.name()) {
        Some(Value::String(text)) => is_above_zero(text),
        Some(Value::Number(number)) => is_above_zero(&number.to_string()),
        _ => false,
    };
    [Resource::Cpu, Resource::Memory].into_iter().filter(given).fold(ResourceSet::default(), ResourceSet::with)
}

fn is_above_zero(text: &str) -> bool {
    Quantity::parse(text).is_ok_and(|quantity| quantity.is_positive())
}

/// The entry of a workload.
#[derive(Clone, Debug)]
pub struct WorkloadEntry(pub PodResources);

impl Entry for WorkloadEntry {
    fn keys(&self) -> [Option<&str>; 2] {
        [None, None]
    }
}

impl Watched for WatchedWorkload {
    type Entry = WorkloadEntry;

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn entry(&self) -> WorkloadEntry {
        WorkloadEntry(self.pod_resources())
    }
}

/// A LimitRange.
#[derive(Clone, Debug, Deserialize)]
pub struct WatchedLimitRange {
    metadata: Metadata,
    #[serde(default)]
    spec: LimitSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct LimitSpec {
    limits: Vec<LimitItem>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LimitItem {
    r#type: Box<str>,
    default: Option<BTreeMap<String, Value>>,
    default_request: Option<BTreeMap<String, Value>>,
}

/// The entry of a LimitRange: the default requests of containers.
#[derive(Clone, Copy, Debug)]
pub struct LimitRangeEntry(pub ResourceSet);

impl Entry for LimitRangeEntry {
    fn keys(&self) -> [Option<&str>; 2] {
        [None, None]
    }
}

impl Watched for WatchedLimitRange {
    type Entry = LimitRangeEntry;

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn entry(&self) -> LimitRangeEntry {
        let items = self.spec.limits.iter().filter(|item| &*item.r#type == "Container");
        let lists = items.flat_map(|item| [&item.default, &item.default_request]).flatten();
        LimitRangeEntry(lists.map(requested).fold(ResourceSet::default(), ResourceSet::union))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_of_zero_does_not_count() {
        let rows = [
            ("a request", json!({ "requests": { "cpu": "1m" } }), true),
            ("a limit", json!({ "limits": { "cpu": "100m" } }), true),
            ("a number", json!({ "requests": { "cpu": 2 } }), true),
            ("nothing", json!({}), false),
            ("null", json!(null), false),
            ("zero", json!({ "requests": { "cpu": "0" } }), false),
            ("zero, with a limit", json!({ "requests": { "cpu": "0" }, "limits": { "cpu": "1" } }), true),
            ("the other resource", json!({ "requests": { "memory": "1Gi" } }), false),
        ];
        for (name, resources, expected) in rows {
            let workload: WatchedWorkload = serde_json::from_value(json!({
                "metadata": { "namespace": "n", "name": "web" },
                "spec": { "template": { "spec": { "containers": [{ "name": "main", "resources": resources }] } } },
            }))
            .unwrap();
            assert_eq!(workload.pod_resources().containers[0].requests.has(Resource::Cpu), expected, "{name}");
            let of_pod: WatchedWorkload = serde_json::from_value(json!({
                "metadata": { "namespace": "n", "name": "web" },
                "spec": { "template": { "spec": { "containers": [{ "name": "main" }], "resources": resources } } },
            }))
            .unwrap();
            assert_eq!(of_pod.pod_resources().pod.has(Resource::Cpu), expected, "{name}, of the pod");
        }
    }

    #[test]
    fn only_limits_of_containers_are_defaults() {
        let rows = [
            (json!([{ "type": "Container", "defaultRequest": { "cpu": "1" } }]), true),
            (json!([{ "type": "Container", "default": { "cpu": "1" } }]), true),
            (json!([{ "type": "Container", "max": { "cpu": "1" } }]), false),
            (json!([{ "type": "Pod", "default": { "cpu": "1" } }]), false),
            (json!([]), false),
        ];
        for (limits, expected) in rows {
            let range = json!({ "metadata": { "namespace": "n", "name": "l" }, "spec": { "limits": limits } });
            let range: WatchedLimitRange = serde_json::from_value(range).unwrap();
            assert_eq!(range.entry().0.has(Resource::Cpu), expected, "{limits}");
        }
    }
}
