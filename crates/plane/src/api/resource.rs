//! Resources: how paths name them, and the rules of each. The built-in ones
//! are listed in `table`; custom ones are made from their definitions.

use std::fmt;
use std::sync::Arc;

use kedge_schema::Schema;
use kedge_schema::metadata::Scope;
use serde_json::Value;

use crate::api::table::Column;

pub(crate) mod table;

/// A resource as paths name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvr {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    /// E.g. `deployments`.
    pub plural: String,
}

impl Gvr {
    pub fn new(group: &str, version: &str, plural: &str) -> Self {
        Self { group: group.to_owned(), version: version.to_owned(), plural: plural.to_owned() }
    }

    /// As objects name it: `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        group_version(&self.group, &self.version)
    }
}

impl fmt::Display for Gvr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.group, self.version, self.plural)
    }
}

/// `v1` or `apps/v1`.
pub(crate) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// A resource in whatever version: what objects are stored by. Shown as messages show it, `deployments.apps`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupResource {
    pub group: String,
    pub plural: String,
}

impl GroupResource {
    pub fn new(group: &str, plural: &str) -> Self {
        Self { group: group.to_owned(), plural: plural.to_owned() }
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.plural),
            group => write!(f, "{}.{group}", self.plural),
        }
    }
}

/// What `metadata.generation` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Nothing; it is never set.
    Absent,
    Spec,
    /// Deployments alone count these too.
    SpecAndAnnotations,
    /// Everything but metadata, and but the status where it is a subresource.
    Content,
}

/// Whether objects of the resource are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// Objects are stored, with all verbs.
    Stored,
    /// Reviews: only `create`, and nothing is stored.
    Virtual,
}

/// What a PUT may leave out or do besides replacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PutRules {
    /// It creates an object that is not there.
    pub(crate) creates: bool,
    /// It needs no resourceVersion.
    pub(crate) unconditional: bool,
}

/// The paths of the scale subresource, e.g. `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) selector: Selector,
}

/// Where a scale's selector comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selector {
    /// A label selector object, as deployments have.
    Object,
    /// A map of labels, as replication controllers have.
    Map,
    /// A text at a path of the object; none if the definition names none.
    Text(Option<String>),
}

/// Built-in or custom.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    BuiltIn,
    /// The definition is of the name `plural.group`.
    Custom {
        schema: Arc<Schema>,
        /// That of the version in which objects are stored, where there are several.
        stored: Option<Arc<Schema>>,
    },
}

/// One version of one resource, and its rules.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) gvr: Gvr,
    /// What objects are stored as. Events of both groups are the same objects.
    pub(crate) stored: Gvr,
    pub(crate) collection: GroupResource,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) scope: Scope,
    pub(crate) persistence: Persistence,
    pub(crate) generation: Generation,
    pub(crate) put: PutRules,
    pub(crate) has_status: bool,
    pub(crate) scale: Option<ScalePaths>,
    /// Selectable fields, beside those that every custom resource has.
    pub(crate) selectable: Vec<String>,
    /// A DELETE returns the object instead of a `Status`.
    pub(crate) returns_deleted: bool,
    pub(crate) origin: Origin,
    /// What `kubectl get` shows of a custom resource.
    pub(crate) columns: Vec<Column>,
}

impl Resource {
    pub(crate) fn group_resource(&self) -> GroupResource {
        GroupResource::new(&self.gvr.group, &self.gvr.plural)
    }

    pub(crate) fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.origin, Origin::Custom { .. })
    }

    /// The columns of its tables.
    pub(crate) fn columns(&self) -> Vec<Column> {
        match self.is_custom() {
            true => self.columns.clone(),
            false => Column::of_built_in(&self.gvr.group, &self.gvr.plural),
        }
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.gvr.group == group && self.gvr.plural == plural
    }

    /// Where the API server would keep an object in etcd, which some of its messages name.
    pub(crate) fn storage_key(&self, namespace: Option<&str>, name: &str) -> String {
        let GroupResource { group, plural } = &self.collection;
        let has_group = self.is_custom() || matches!(group.as_str(), "apiextensions.k8s.io" | "apiregistration.k8s.io");
        let folder = match plural.as_str() {
            "services" | "endpoints" if group.is_empty() => format!("services/{}", plural.replace("services", "specs")),
            "nodes" if group.is_empty() => "minions".to_owned(),
            "replicationcontrollers" => "controllers".to_owned(),
            _ if has_group => format!("{group}/{plural}"),
            _ => plural.clone(),
        };
        let namespace = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        format!("/registry/{folder}/{namespace}{name}")
    }

    /// The subresources that are served, in the order of discovery.
    pub(crate) fn subresources(&self) -> Vec<&'static str> {
        let mut all = Vec::new();
        if self.is("", "pods") {
            all.push("binding");
        }
        if self.is("", "namespaces") {
            all.push("finalize");
        }
        if self.scale.is_some() {
            all.push("scale");
        }
        if self.has_status {
            all.push("status");
        }
        if self.is("", "serviceaccounts") {
            all.push("token");
        }
        if self.is_custom() {
            all.reverse();
        }
        all
    }
}

/// The host that a reference to a service means.
pub(crate) fn service_host(service: &Value) -> String {
    format!("{}.{}.svc", service["name"].as_str().unwrap_or(""), service["namespace"].as_str().unwrap_or(""))
}
