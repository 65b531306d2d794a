//! The cached HPAs: by name, and by the object that owns them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kedge_api::names;

use kedge_cluster::{NamespacedName, ObjectKey, Scope};

#[derive(Debug, Default)]
pub(super) struct Hpas {
    by_name: BTreeMap<NamespacedName, Arc<HorizontalPodAutoscaler>>,
    by_owner: BTreeMap<ObjectKey, BTreeSet<NamespacedName>>,
}

impl Hpas {
    pub(super) fn get(&self, key: &NamespacedName) -> Option<&Arc<HorizontalPodAutoscaler>> {
        self.by_name.get(key)
    }

    /// The HPAs that an object owns.
    pub(super) fn owned_by(&self, owner: &ObjectKey) -> impl Iterator<Item = &NamespacedName> {
        self.by_owner.get(owner).into_iter().flatten()
    }

    /// Caches an HPA, and returns the one that had its name.
    pub(super) fn insert(&mut self, hpa: Arc<HorizontalPodAutoscaler>) -> Option<Arc<HorizontalPodAutoscaler>> {
        let key = NamespacedName::from_meta(&hpa.metadata);
        let old = self.remove(&key);
        if let Some(owner) = owner(&hpa) {
            self.by_owner.entry(owner).or_default().insert(key.clone());
        }
        self.by_name.insert(key, hpa);
        old
    }

    pub(super) fn remove(&mut self, key: &NamespacedName) -> Option<Arc<HorizontalPodAutoscaler>> {
        let old = self.by_name.remove(key)?;
        if let Some(owner) = owner(&old)
            && let Some(owned) = self.by_owner.get_mut(&owner)
        {
            owned.remove(key);
            if owned.is_empty() {
                self.by_owner.remove(&owner);
            }
        }
        Some(old)
    }

    /// Removes everything within a scope.
    pub(super) fn take(&mut self, scope: &Scope) -> Vec<Arc<HorizontalPodAutoscaler>> {
        let inside: Vec<NamespacedName> =
            self.by_name.keys().filter(|key| scope.includes(&key.namespace)).cloned().collect();
        inside.iter().filter_map(|key| self.remove(key)).collect()
    }
}

/// The object that owns an HPA, if one does.
pub(super) fn owner(hpa: &HorizontalPodAutoscaler) -> Option<ObjectKey> {
    let is_ours = |version: &str| version.split_once('/').is_some_and(|(group, _)| group == names::GROUP);
    let mut owners = hpa.metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.kind == "ScaledObject" && is_ours(&owner.api_version))?;
    Some(ObjectKey::scaled_object(hpa.metadata.namespace.clone().unwrap_or_default(), &owner.name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hpa(name: &str, owner: &str) -> Arc<HorizontalPodAutoscaler> {
        let owner = json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": owner, "uid": "u" });
        let hpa = json!({
            "metadata": { "name": name, "namespace": "shop", "ownerReferences": [owner] },
            "spec": { "maxReplicas": 1, "scaleTargetRef": { "kind": "Deployment", "name": "web" } },
        });
        Arc::new(serde_json::from_value(hpa).unwrap())
    }

    #[test]
    fn owners_are_indexed_across_inserts_and_removals() {
        let mut hpas = Hpas::default();
        let owned = |hpas: &Hpas, owner: &str| -> Vec<String> {
            hpas.owned_by(&ObjectKey::scaled_object("shop", owner)).map(|key| key.name.clone()).collect()
        };
        hpas.insert(hpa("first", "web"));
        hpas.insert(hpa("second", "web"));
        assert_eq!(owned(&hpas, "web"), ["first", "second"]);
        assert!(hpas.insert(hpa("second", "other")).is_some());
        assert_eq!((owned(&hpas, "web"), owned(&hpas, "other")), (vec!["first".to_owned()], vec!["second".to_owned()]));
        assert_eq!(hpas.take(&Scope::Namespace("shop".to_owned())).len(), 2);
        assert_eq!((owned(&hpas, "web").len(), hpas.by_owner.len(), hpas.by_name.len()), (0, 0, 0));
    }
}
