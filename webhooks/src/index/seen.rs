//! As little of each watched object as rules ask for.

use std::collections::BTreeMap;

use kedge_api::names::{HPA_NAME_PREFIX, annotations};
use kedge_core::quantity::Quantity;
use kedge_core::trigger_class::Resource;
use serde::Deserialize;
use serde_json::Value;

use super::table::Entry;
use crate::neighbours::{Amounts, Container, Heed, Hpa, KindWord, Rival};

/// The place of an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Place {
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
    fn word(&self) -> KindWord {
        KindWord::of(self.api_version.as_deref(), self.kind.as_deref())
    }
}

/// What becomes an entry of a table.
pub trait Seen {
    type Kept: Entry;

    fn place(&self) -> &Place;

    fn kept(&self) -> Self::Kept;
}

/// A ScaledObject.
#[derive(Clone, Debug, Deserialize)]
pub struct SeenObject {
    metadata: Place,
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

/// A ScaledObject as it is kept.
#[derive(Clone, Debug)]
pub struct KeptObject {
    target: Box<str>,
    hpa: Box<str>,
    kind: KindWord,
}

impl KeptObject {
    pub fn rival(&self, name: &str) -> Rival {
        Rival { name: name.into(), kind: self.kind.clone() }
    }
}

impl Entry for KeptObject {
    fn words(&self) -> [Option<&str>; 2] {
        [Some(&self.target), Some(&self.hpa)]
    }
}

impl Seen for SeenObject {
    type Kept = KeptObject;

    fn place(&self) -> &Place {
        &self.metadata
    }

    fn kept(&self) -> KeptObject {
        let config =
            self.spec.advanced.as_ref().and_then(|advanced| advanced.horizontal_pod_autoscaler_config.as_ref());
        let named = config.and_then(|config| config.name.clone()).filter(|name| !name.is_empty());
        KeptObject {
            target: self.spec.scale_target_ref.name.clone().unwrap_or_default(),
            hpa: named.unwrap_or_else(|| format!("{HPA_NAME_PREFIX}{}", self.metadata.name).into()),
            kind: self.spec.scale_target_ref.word(),
        }
    }
}

/// An HPA.
#[derive(Clone, Debug, Deserialize)]
pub struct SeenHpa {
    metadata: Place,
    spec: HpaSpec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HpaSpec {
    scale_target_ref: TargetRef,
}

/// An HPA as it is kept.
#[derive(Clone, Debug)]
pub struct KeptHpa {
    target: Box<str>,
    kind: KindWord,
    owners: Box<[Box<str>]>,
    heed: Heed,
}

impl KeptHpa {
    pub fn hpa(&self, name: &str) -> Hpa {
        Hpa { name: name.into(), kind: self.kind.clone(), owners: self.owners.to_vec(), heed: self.heed }
    }
}

impl Entry for KeptHpa {
    fn words(&self) -> [Option<&str>; 2] {
        [Some(&self.target), None]
    }
}

impl Seen for SeenHpa {
    type Kept = KeptHpa;

    fn place(&self) -> &Place {
        &self.metadata
    }

    fn kept(&self) -> KeptHpa {
        let place = &self.metadata;
        let owners = place.owner_references.iter().flatten().filter(|owner| &*owner.kind == "ScaledObject");
        let wish = place.annotations.as_ref().and_then(|all| all.get(annotations::VALIDATIONS_HPA_OWNERSHIP));
        KeptHpa {
            target: self.spec.scale_target_ref.name.clone().unwrap_or_default(),
            kind: self.spec.scale_target_ref.word(),
            owners: owners.map(|owner| owner.name.clone()).collect(),
            heed: if wish.and_then(Value::as_str) == Some("false") { Heed::No } else { Heed::Yes },
        }
    }
}

/// A Deployment or StatefulSet.
#[derive(Clone, Debug, Deserialize)]
pub struct SeenWorkload {
    metadata: Place,
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
    containers: Vec<SeenContainer>,
}

#[derive(Clone, Debug, Deserialize)]
struct SeenContainer {
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

impl SeenWorkload {
    pub fn containers(&self) -> Vec<Container> {
        let seen = self.spec.template.spec.containers.iter();
        seen.map(|container| Container { name: container.name.clone(), requests: container.amounts() }).collect()
    }
}

impl SeenContainer {
    /// A limit counts as a request: Kubernetes takes it for one.
    fn amounts(&self) -> Amounts {
        let lists = self.resources.iter().flat_map(|resources| [&resources.requests, &resources.limits]);
        lists.flatten().map(amounts).fold(Amounts::default(), Amounts::and)
    }
}

/// The resources of which a list has more than nothing.
fn amounts(list: &BTreeMap<String, Value>) -> Amounts {
    let given = |resource: &Resource| match list.get(resource.name()) {
        Some(Value::String(text)) => is_above_zero(text),
        Some(Value::Number(number)) => is_above_zero(&number.to_string()),
        _ => false,
    };
    [Resource::Cpu, Resource::Memory].into_iter().filter(given).fold(Amounts::default(), Amounts::with)
}

fn is_above_zero(text: &str) -> bool {
    Quantity::parse(text).is_ok_and(|quantity| {
        let text = quantity.canonical();
        !text.starts_with('-') && text.chars().any(|letter| ('1'..='9').contains(&letter))
    })
}

/// A workload as it is kept.
#[derive(Clone, Debug)]
pub struct KeptWorkload(pub Box<[Container]>);

impl Entry for KeptWorkload {
    fn words(&self) -> [Option<&str>; 2] {
        [None, None]
    }
}

impl Seen for SeenWorkload {
    type Kept = KeptWorkload;

    fn place(&self) -> &Place {
        &self.metadata
    }

    fn kept(&self) -> KeptWorkload {
        KeptWorkload(self.containers().into())
    }
}

/// A LimitRange.
#[derive(Clone, Debug, Deserialize)]
pub struct SeenLimitRange {
    metadata: Place,
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

/// A LimitRange as it is kept: what containers get by it.
#[derive(Clone, Copy, Debug)]
pub struct KeptLimitRange(pub Amounts);

impl Entry for KeptLimitRange {
    fn words(&self) -> [Option<&str>; 2] {
        [None, None]
    }
}

impl Seen for SeenLimitRange {
    type Kept = KeptLimitRange;

    fn place(&self) -> &Place {
        &self.metadata
    }

    fn kept(&self) -> KeptLimitRange {
        let items = self.spec.limits.iter().filter(|item| &*item.r#type == "Container");
        let lists = items.flat_map(|item| [&item.default, &item.default_request]).flatten();
        KeptLimitRange(lists.map(amounts).fold(Amounts::default(), Amounts::and))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_one_only_if_it_is_above_zero() {
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
            let workload: SeenWorkload = serde_json::from_value(json!({
                "metadata": { "namespace": "n", "name": "web" },
                "spec": { "template": { "spec": { "containers": [{ "name": "main", "resources": resources }] } } },
            }))
            .unwrap();
            assert_eq!(workload.containers()[0].requests.has(Resource::Cpu), expected, "{name}");
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
            let range: SeenLimitRange = serde_json::from_value(range).unwrap();
            assert_eq!(range.kept().0.has(Resource::Cpu), expected, "{limits}");
        }
    }
}
