//! What the operator reads in the cluster for the triggers of a type, as RBAC rules.

use std::collections::BTreeMap;

use crate::metadata::convert;

/// A resource that the operator reads for triggers of a type.
#[derive(Clone, Copy, Debug)]
pub struct ClusterRead {
    pub group: &'static str,
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
    pub namespace: ReadNamespace,
    /// The parameter that turns it on. `None`: it is always read.
    pub switch: Option<&'static str>,
}

/// The namespace that is read.
#[derive(Clone, Copy, Debug)]
pub enum ReadNamespace {
    /// That of the object.
    Object,
    /// One that the parameters name, or that of the object where they name none.
    Named { help: &'static str, find: fn(&BTreeMap<String, String>) -> Option<String> },
}

impl ClusterRead {
    /// Whether a trigger with these parameters needs it.
    pub fn is_needed(&self, metadata: &BTreeMap<String, String>) -> bool {
        let is_on = |name| metadata.get(name).is_some_and(|text| convert::boolean(text.trim()) == Ok(true));
        self.switch.is_none_or(is_on)
    }

    /// The namespace that a trigger with these parameters names. `None`: that of the object.
    pub fn named_namespace(&self, metadata: &BTreeMap<String, String>) -> Option<String> {
        match self.namespace {
            ReadNamespace::Object => None,
            ReadNamespace::Named { find, .. } => find(metadata),
        }
    }
}
