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
    /// The parameter that names the one object that is read. `None`: any of them may be.
    pub name: Option<&'static str>,
    pub condition: ReadCondition,
}

/// Which triggers of the type need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadCondition {
    Always,
    /// Those where this parameter is true.
    Switch(&'static str),
    /// Those where this parameter has this value.
    Value(&'static str, &'static str),
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
        let text = |name| metadata.get(name).map(|text| text.trim());
        match self.condition {
            ReadCondition::Always => true,
            ReadCondition::Switch(name) => text(name).is_some_and(|text| convert::boolean(text) == Ok(true)),
            ReadCondition::Value(name, value) => text(name) == Some(value),
        }
    }

    /// The parameter that the condition is about.
    pub fn condition_parameter(&self) -> Option<&'static str> {
        match self.condition {
            ReadCondition::Always => None,
            ReadCondition::Switch(name) | ReadCondition::Value(name, _) => Some(name),
        }
    }

    /// The one object that a trigger with these parameters reads. `None`: it may be any.
    pub fn object_name<'m>(&self, metadata: &'m BTreeMap<String, String>) -> Option<&'m str> {
        self.name.and_then(|name| metadata.get(name)).map(|name| name.trim()).filter(|name| !name.is_empty())
    }

    /// The namespace that a trigger with these parameters names. `None`: that of the object.
    pub fn named_namespace(&self, metadata: &BTreeMap<String, String>) -> Option<String> {
        match self.namespace {
            ReadNamespace::Object => None,
            ReadNamespace::Named { find, .. } => find(metadata),
        }
    }
}
