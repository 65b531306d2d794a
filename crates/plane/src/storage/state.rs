//! The state of a plane: objects, custom resources, and the counters for uids and generated names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::api::meta;
use crate::api::resource::table::BUILT_IN;
use crate::api::resource::{GroupResource, Gvr, Resource};
use crate::builtin::namespace;
use crate::storage::store::{Entry, Store};

/// The user of writes by controllers: garbage collection, namespaces, conditions of definitions.
pub(crate) const CONTROLLERS: &str = "system:kube-controller-manager";

/// Everything that changes.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    /// The custom resources that are served.
    pub(crate) customs: BTreeMap<Gvr, Arc<Resource>>,
    /// The revision at which each was defined.
    pub(crate) customs_since: BTreeMap<GroupResource, u64>,
    /// What each manager last applied, by uid and manager.
    pub(crate) applied: BTreeMap<(String, String), Value>,
    /// The hosts of registered backends.
    pub(crate) hosts: BTreeSet<String>,
    /// How many uids and how many names were made.
    uids: u64,
    suffixes: u64,
}

impl State {
    pub(crate) fn new(history: usize) -> Self {
        Self {
            store: Store::new(history),
            customs: BTreeMap::new(),
            customs_since: BTreeMap::new(),
            applied: BTreeMap::new(),
            hosts: BTreeSet::new(),
            uids: 0,
            suffixes: 0,
        }
    }

    /// A copy without backends.
    pub(crate) fn fork(&self, history: usize) -> Self {
        let mut copy = Self { hosts: BTreeSet::new(), ..self.clone() };
        copy.store.set_log_max(history);
        copy
    }

    pub(crate) fn create_first_namespaces(&mut self, now: DateTime<Utc>) {
        let resource = BUILT_IN[&Gvr::new("", "v1", "namespaces")].clone();
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let metadata = json!({ "name": name, "uid": self.next_uid(), "creationTimestamp": meta::stamp(now) });
            let mut object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
            namespace::prepare(&mut object, None);
            self.store.put(Entry { resource: &resource, namespace: None, name, by: CONTROLLERS, at: now }, object);
        }
    }

    pub(crate) fn resource(&self, gvr: &Gvr) -> Option<Arc<Resource>> {
        BUILT_IN.get(gvr).or_else(|| self.customs.get(gvr)).cloned()
    }

    /// A resource in the version it is stored in.
    pub(crate) fn resource_of(&self, collection: &GroupResource) -> Option<Arc<Resource>> {
        self.resources().find(|resource| resource.collection == *collection && resource.stored == resource.gvr).cloned()
    }

    /// All that is served, by group, version and name.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        BUILT_IN.values().chain(self.customs.values())
    }

    /// The revision since which a custom resource is there; 0 for built-in kinds.
    pub(crate) fn defined_at(&self, resource: &Resource) -> u64 {
        self.customs_since.get(&resource.collection).copied().unwrap_or(0)
    }

    /// A new uid. They count up, so that every run is the same.
    pub(crate) fn next_uid(&mut self) -> String {
        self.uids += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.uids)
    }

    /// How many uids there are.
    pub(crate) fn uids(&self) -> u64 {
        self.uids
    }

    /// Five characters of those that generated names end in, new for 27^5 names.
    pub(crate) fn next_suffix(&mut self) -> String {
        const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
        const ALL: u64 = 27u64.pow(5);
        self.suffixes += 1;
        // Any factor without common divisors with 27 visits all of them once; this one scatters neighbours.
        let mut rest = self.suffixes * 9_176_353 % ALL;
        let mut letter = || {
            let letter = ALPHABET[(rest % 27) as usize] as char;
            rest /= 27;
            letter
        };
        (0..5).map(|_| letter()).collect()
    }
}
