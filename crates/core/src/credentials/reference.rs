//! The objects that credentials are taken from.

use std::collections::BTreeMap;
use std::fmt;

use kedge_api::trigger::{AuthenticationKind, AuthenticationRef};

use crate::object_name::can_be_object_name;
use crate::secret::Secret;

/// An object that credentials are taken from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    pub kind: ReferenceKind,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    pub name: String,
}

/// The kind of a referenced object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReferenceKind {
    TriggerAuthentication,
    ClusterTriggerAuthentication,
    Secret,
    ConfigMap,
    ServiceAccount,
    /// The scaled workload, for its pod template.
    Workload(Box<WorkloadKind>),
}

/// A kind of workload, and where it is served.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadKind {
    pub kind: String,
    /// The path of its group and version.
    pub prefix: String,
    pub resource: String,
}

/// What was found in a Secret or ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceContent {
    /// Its keys. A value that is not text is `None`.
    Data(BTreeMap<String, Option<Secret>>),
    Missing,
    /// Not read, because the operator must not read Secrets of this namespace.
    Withheld,
}

impl Reference {
    /// The authentication object that a trigger in this namespace refers to.
    pub fn authentication(reference: &AuthenticationRef, namespace: &str) -> Self {
        match reference.kind.unwrap_or(AuthenticationKind::TriggerAuthentication) {
            AuthenticationKind::TriggerAuthentication => {
                Self::new(ReferenceKind::TriggerAuthentication, namespace, &reference.name)
            }
            AuthenticationKind::ClusterTriggerAuthentication => {
                Self::new(ReferenceKind::ClusterTriggerAuthentication, "", &reference.name)
            }
        }
    }

    pub fn new(kind: ReferenceKind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind, namespace: namespace.into(), name: name.into() }
    }

    /// Whether an object can have this name. No other name may be requested: in the path of a request it leads elsewhere.
    pub fn can_exist(&self) -> bool {
        can_be_object_name(&self.name)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = if self.namespace.is_empty() { String::new() } else { format!("{}/", self.namespace) };
        write!(f, "{} {namespace}{}", self.kind, self.name)
    }
}

impl fmt::Display for ReferenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TriggerAuthentication => "TriggerAuthentication",
            Self::ClusterTriggerAuthentication => "ClusterTriggerAuthentication",
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
            Self::ServiceAccount => "ServiceAccount",
            Self::Workload(workload) => &workload.kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_shown_with_its_namespace_if_it_has_one() {
        assert_eq!(Reference::new(ReferenceKind::Secret, "shop", "creds").to_string(), "Secret shop/creds");
        let cluster_wide = Reference::new(ReferenceKind::ClusterTriggerAuthentication, "", "prom");
        assert_eq!(cluster_wide.to_string(), "ClusterTriggerAuthentication prom");
    }
}
