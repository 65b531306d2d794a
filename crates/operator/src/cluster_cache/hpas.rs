//! The cached HPAs: by name, and by the object that owns them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kedge_api::names;
use kedge_cluster::{NamespacedName, ObjectKey, Scope};
use serde::{Deserialize, Deserializer};

use super::small_set::SmallSet;
use crate::compact::Compact;

/// The condition of an HPA that is mirrored.
const SCALING_ACTIVE: &str = "ScalingActive";

#[derive(Debug, Default)]
pub(super) struct Hpas {
    by_name: BTreeMap<NamespacedName, CachedHpa>,
    by_owner: BTreeMap<ObjectKey, SmallSet<NamespacedName>>,
}

/// A cached HPA.
#[derive(Clone, Debug)]
pub struct CachedHpa {
    pub hpa: Arc<ReducedHpa>,
    /// The newest resource version: the numbers in the status of an HPA change all the time.
    pub version: Option<String>,
    pub stabilized: Option<Stabilized>,
}

/// In which direction the HPA controller waits, for what its metrics needed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stabilized {
    ScaleIn,
    ScaleOut,
}

impl CachedHpa {
    /// The object that owns it.
    pub(super) fn owner(&self) -> Option<&ObjectKey> {
        self.hpa.owner.as_ref()
    }
}

impl From<HorizontalPodAutoscaler> for CachedHpa {
    fn from(hpa: HorizontalPodAutoscaler) -> Self {
        let (version, stabilized) = (hpa.metadata.resource_version.clone(), stabilized(&hpa));
        Self { hpa: Arc::new(ReducedHpa::new(hpa)), version, stabilized }
    }
}

/// Reduces each HPA of a list as soon as it is read: in the types of the Kubernetes API, all of them take ten times as much.
impl<'de> Deserialize<'de> for CachedHpa {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        HorizontalPodAutoscaler::deserialize(deserializer).map(Self::from)
    }
}

/// What is compared with the rendered HPA, and mirrored into the status of its object. Stays the same value until one of these changes.
#[derive(Debug, PartialEq)]
pub struct ReducedHpa {
    pub key: NamespacedName,
    owner: Option<ObjectKey>,
    /// Whether its owner controls it.
    is_controlled: bool,
    /// Whether the HPA controller scales by it.
    is_scaling: bool,
    fields: Compact<HorizontalPodAutoscaler>,
}

impl ReducedHpa {
    fn new(hpa: HorizontalPodAutoscaler) -> Self {
        let hpa = reduced(hpa);
        let key = NamespacedName::from_meta(&hpa.metadata);
        let owner = hpa.metadata.owner_references.iter().flatten().find(|owner| is_ours(owner));
        Self {
            owner: owner.map(|owner| ObjectKey::scaled_object(&*key.namespace, &owner.name)),
            is_controlled: owner.is_some_and(|owner| owner.controller == Some(true)),
            key,
            is_scaling: scaling_active(&hpa).is_some_and(|(status, ..)| status == "True"),
            fields: Compact::new(&hpa),
        }
    }

    pub fn read(&self) -> HorizontalPodAutoscaler {
        self.fields.read()
    }

    /// Whether it scales, and this object controls it.
    pub(super) fn scales_for(&self, object: &ObjectKey) -> bool {
        self.is_scaling && self.is_controlled && self.owner.as_ref() == Some(object)
    }
}

impl Hpas {
    pub(super) fn get(&self, key: &NamespacedName) -> Option<&CachedHpa> {
        self.by_name.get(key)
    }

    /// The HPAs of an object.
    pub(super) fn of(&self, owner: &ObjectKey) -> impl Iterator<Item = &CachedHpa> {
        self.owned_by(owner).filter_map(|name| self.get(name))
    }

    /// The names of the HPAs that an object owns.
    pub(super) fn owned_by(&self, owner: &ObjectKey) -> impl Iterator<Item = &NamespacedName> {
        self.by_owner.get(owner).into_iter().flatten()
    }

    /// Caches an HPA. Returns its owners before and now, if what is cached of it changed.
    pub(super) fn insert(&mut self, found: CachedHpa) -> Vec<ObjectKey> {
        let key = found.hpa.key.clone();
        if let Some(same) = self.by_name.get_mut(&key).filter(|cached| cached.hpa == found.hpa) {
            (same.version, same.stabilized) = (found.version, found.stabilized);
            return Vec::new();
        }
        let (before, now) = (self.remove(&key), found.owner().cloned());
        if let Some(owner) = &now {
            self.by_owner.entry(owner.clone()).or_default().insert(key.clone());
        }
        self.by_name.insert(key, found);
        before.into_iter().chain(now).collect()
    }

    /// Removes an HPA. Returns its owner.
    pub(super) fn remove(&mut self, key: &NamespacedName) -> Option<ObjectKey> {
        let owner = self.by_name.remove(key)?.hpa.owner.clone()?;
        if let Some(owned) = self.by_owner.get_mut(&owner) {
            owned.remove(key);
            if owned.is_empty() {
                self.by_owner.remove(&owner);
            }
        }
        Some(owner)
    }

    /// Applies a list of all HPAs within a scope. Returns the owners, before and now, of those that changed.
    pub(super) fn replace_all(&mut self, scope: &Scope, all: impl Iterator<Item = CachedHpa>) -> Vec<ObjectKey> {
        let inside = self.by_name.keys().filter(|key| scope.includes(&key.namespace));
        let mut gone: BTreeSet<NamespacedName> = inside.cloned().collect();
        let mut concerned = Vec::new();
        for found in all {
            gone.remove(&found.hpa.key);
            concerned.extend(self.insert(found));
        }
        concerned.extend(gone.iter().filter_map(|key| self.remove(key)));
        concerned
    }
}

/// An HPA without what is neither compared nor mirrored.
fn reduced(mut hpa: HorizontalPodAutoscaler) -> HorizontalPodAutoscaler {
    hpa.metadata.managed_fields = None;
    hpa.metadata.resource_version = None;
    hpa.metadata.generation = None;
    if let Some(status) = hpa.status.take() {
        let mut conditions = status.conditions.unwrap_or_default();
        conditions.retain(|condition| condition.type_ == SCALING_ACTIVE);
        conditions.iter_mut().for_each(|condition| condition.last_transition_time = None);
        hpa.status = Some(HorizontalPodAutoscalerStatus { conditions: Some(conditions), ..Default::default() });
    }
    hpa
}

/// The ScalingActive condition of an HPA: status, reason, message.
pub fn scaling_active(hpa: &HorizontalPodAutoscaler) -> Option<(&str, &str, &str)> {
    let conditions = hpa.status.as_ref()?.conditions.as_ref()?;
    let found = conditions.iter().find(|condition| condition.type_ == SCALING_ACTIVE)?;
    Some((&found.status, found.reason.as_deref().unwrap_or_default(), found.message.as_deref().unwrap_or_default()))
}

/// HPA: the reason of its condition AbleToScale. At a bound it waits for nothing, whatever it says.
fn stabilized(hpa: &HorizontalPodAutoscaler) -> Option<Stabilized> {
    let (spec, status) = (&hpa.spec, hpa.status.as_ref()?);
    let found = status.conditions.iter().flatten().find(|condition| condition.type_ == "AbleToScale")?;
    let replicas = status.current_replicas?;
    match found.reason.as_deref() {
        Some("ScaleDownStabilized") if replicas > spec.min_replicas.unwrap_or(1) => Some(Stabilized::ScaleIn),
        Some("ScaleUpStabilized") if replicas < spec.max_replicas => Some(Stabilized::ScaleOut),
        _ => None,
    }
}

/// Whether it names a ScaledObject.
fn is_ours(owner: &OwnerReference) -> bool {
    let group = owner.api_version.split_once('/').map(|(group, _)| group);
    owner.kind == "ScaledObject" && group == Some(names::GROUP)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn hpa(name: &str, owner: &str) -> CachedHpa {
        hpa_with(name, owner, "1", json!({}))
    }

    fn hpa_with(name: &str, owner: &str, version: &str, status: Value) -> CachedHpa {
        let owner = json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": owner, "uid": "u" });
        let managed = json!([{ "manager": "kube-controller-manager", "operation": "Update" }]);
        let hpa = json!({
            "metadata": {
                "name": name, "namespace": "shop", "ownerReferences": [owner], "resourceVersion": version, "managedFields": managed,
            },
            "spec": { "maxReplicas": 1, "scaleTargetRef": { "kind": "Deployment", "name": "web" } },
            "status": status,
        });
        serde_json::from_value(hpa).unwrap()
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::scaled_object("shop", name)
    }

    #[test]
    fn an_hpa_waits_only_between_its_bounds() {
        let rows = [
            ("ScaleDownStabilized", 2, Some(Stabilized::ScaleIn)),
            ("ScaleDownStabilized", 1, None),
            ("ScaleUpStabilized", 2, Some(Stabilized::ScaleOut)),
            ("ScaleUpStabilized", 4, None),
            ("ReadyForNewScale", 2, None),
        ];
        for (reason, replicas, expected) in rows {
            let hpa = json!({
                "metadata": { "name": "web", "namespace": "shop" },
                "spec": { "maxReplicas": 4, "scaleTargetRef": { "kind": "Deployment", "name": "web" } },
                "status": { "currentReplicas": replicas, "desiredReplicas": replicas, "conditions": [
                    { "type": "AbleToScale", "status": "True", "reason": reason },
                ] },
            });
            assert_eq!(serde_json::from_value::<CachedHpa>(hpa).unwrap().stabilized, expected, "{reason} {replicas}");
        }
    }

    #[test]
    fn owners_are_indexed_across_inserts_and_removals() {
        let mut hpas = Hpas::default();
        let owned = |hpas: &Hpas, owner: &str| -> Vec<String> {
            hpas.owned_by(&key(owner)).map(|key| key.name.to_string()).collect()
        };
        hpas.insert(hpa("first", "web"));
        hpas.insert(hpa("second", "web"));
        assert_eq!(owned(&hpas, "web"), ["first", "second"]);
        assert_eq!(hpas.insert(hpa("second", "other")), [key("web"), key("other")]);
        assert_eq!((owned(&hpas, "web"), owned(&hpas, "other")), (vec!["first".to_owned()], vec!["second".to_owned()]));
        let concerned = hpas.replace_all(&Scope::Namespace("shop".to_owned()), [hpa("first", "web")].into_iter());
        assert_eq!(concerned, [key("other")], "the first is unchanged, and the second is gone");
        hpas.replace_all(&Scope::Cluster, std::iter::empty());
        assert_eq!((owned(&hpas, "web").len(), hpas.by_owner.len(), hpas.by_name.len()), (0, 0, 0));
    }

    #[test]
    fn numbers_of_the_status_change_only_the_version() {
        let status = |replicas, active| {
            let condition = |name: &str, status: &str| json!({ "type": name, "status": status, "reason": "R" });
            json!({ "desiredReplicas": replicas, "conditions": [condition("AbleToScale", "True"), condition("ScalingActive", active)] })
        };
        let mut hpas = Hpas::default();
        assert_eq!(hpas.insert(hpa_with("h", "web", "7", status(1, "True"))), [key("web")]);
        let first = hpas.get(&NamespacedName::new("shop", "h")).unwrap().clone();
        assert_eq!(scaling_active(&first.hpa.read()), Some(("True", "R", "")));
        assert_eq!(hpas.insert(hpa_with("h", "web", "8", status(2, "True"))), [], "nothing that is mirrored changed");
        let second = hpas.get(&NamespacedName::new("shop", "h")).unwrap().clone();
        assert!(Arc::ptr_eq(&first.hpa, &second.hpa));
        assert_eq!((first.version.as_deref(), second.version.as_deref()), (Some("7"), Some("8")));
        assert_eq!(hpas.insert(hpa_with("h", "web", "9", status(2, "False"))).len(), 2);
    }
}
