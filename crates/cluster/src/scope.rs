//! The part of the cluster that a watch covers.

/// All namespaces, or one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Cluster,
    Namespace(String),
}

impl Scope {
    /// One scope per namespace; no namespace means the cluster.
    pub fn from_namespaces(namespaces: &[String]) -> Vec<Self> {
        match namespaces {
            [] => vec![Self::Cluster],
            names => names.iter().cloned().map(Self::Namespace).collect(),
        }
    }

    /// Whether a namespace is covered. Cluster-scoped objects, whose namespace is empty, are covered by the cluster scope alone.
    pub fn includes(&self, namespace: &str) -> bool {
        match self {
            Self::Cluster => true,
            Self::Namespace(own) => own == namespace,
        }
    }

    /// The path of a resource of this group and version within the scope.
    pub fn path(&self, prefix: &str, resource: &str) -> String {
        match self {
            Self::Cluster => format!("{prefix}/{resource}"),
            Self::Namespace(namespace) => format!("{prefix}/namespaces/{namespace}/{resource}"),
        }
    }
}
