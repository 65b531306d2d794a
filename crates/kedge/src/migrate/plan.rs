//! The changes by which one release can take over from another. Pure.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// The annotation of objects that Helm keeps when it uninstalls a release.
pub(super) const POLICY: &str = "helm.sh/resource-policy";
pub(super) const KEEP: &str = "keep";

/// The annotations and the label by which Helm identifies the release of an object.
pub(super) const RELEASE_NAME: &str = "meta.helm.sh/release-name";
pub(super) const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
pub(super) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
pub(super) const HELM: &str = "Helm";

/// The labels that name the application of an object.
pub(super) const PART_OF: [&str; 4] = ["app", "app.kubernetes.io/name", "app.kubernetes.io/part-of", "helm.sh/chart"];

/// Whether such a label is KEDA's or Kedge's.
pub(super) fn is_kedas(label: &str) -> bool {
    label.starts_with("keda") || label.starts_with("kedge")
}

/// The Helm release that owns an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub(super) release: String,
    pub(super) namespace: String,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "release {} in namespace {}", self.release, self.namespace)
    }
}

/// The kinds of objects that both charts have under the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SharedKind {
    ApiService,
    Webhooks,
    Crd,
}

impl SharedKind {
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::ApiService => "APIService",
            Self::Webhooks => "ValidatingWebhookConfiguration",
            Self::Crd => "CustomResourceDefinition",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Object {
    pub(super) kind: SharedKind,
    pub(super) name: String,
}

impl Object {
    pub(super) fn new(kind: SharedKind, name: &str) -> Self {
        Self { kind, name: name.to_owned() }
    }

    /// Whether a manifest is that of this object.
    pub(super) fn is(&self, manifest: &Value) -> bool {
        manifest["kind"] == self.kind.kind() && manifest["metadata"]["name"] == *self.name
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.kind(), self.name)
    }
}

/// The objects of both charts, in the order of their transfer: those that can be created again come first.
pub(super) fn shared() -> Vec<Object> {
    let registrations = [
        Object::new(SharedKind::ApiService, "v1beta1.external.metrics.k8s.io"),
        Object::new(SharedKind::Webhooks, "keda-admission"),
    ];
    let crds = ["clustertriggerauthentications", "scaledjobs", "scaledobjects", "triggerauthentications"];
    let crds = crds.map(|plural| Object::new(SharedKind::Crd, &format!("{plural}.keda.sh")));
    registrations.into_iter().chain(crds).collect()
}

/// The CRDs of KEDA's chart alone, whose objects must not be lost.
pub(super) fn keda_only() -> Vec<Object> {
    let crds = ["cloudeventsources", "clustercloudeventsources"];
    crds.map(|plural| Object::new(SharedKind::Crd, &format!("{plural}.eventing.keda.sh"))).to_vec()
}

/// The Service of an APIService.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Service {
    /// The Service that an APIService names.
    pub(super) fn from_api_service(api_service: &Value) -> Option<Self> {
        let word = |key: &str| Some(api_service["spec"]["service"][key].as_str()?.to_owned());
        Some(Self { namespace: word("namespace")?, name: word("name")? })
    }
}

/// An object in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LiveObject {
    pub(super) object: Object,
    pub(super) owner: Option<Owner>,
    pub(super) managed_by: Option<String>,
    pub(super) policy: Option<String>,
    /// The values of its application labels.
    pub(super) part_of: Vec<String>,
    /// The Service of an APIService.
    pub(super) service: Option<Service>,
}

impl LiveObject {
    /// Whether the object is KEDA's or Kedge's. Other metrics adapters have the same APIService.
    pub(super) fn is_of_keda(&self) -> bool {
        self.object.kind != SharedKind::ApiService || self.part_of.iter().any(|label| is_kedas(label))
    }

    fn belongs_to(&self, owner: &Owner) -> bool {
        self.owner.as_ref() == Some(owner) && self.managed_by.as_deref() == Some(HELM)
    }

    fn is_kept(&self) -> bool {
        self.policy.as_deref().is_some_and(|policy| policy.trim().eq_ignore_ascii_case(KEEP))
    }
}

/// One change. Each is safe by itself, whether or not the others follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Annotates objects in the manifest of a release.
    KeepInRelease {
        owner: Owner,
        objects: Vec<Object>,
    },
    /// Annotates the object itself, for upgrades.
    Protect(Object),
    HandOver {
        object: Object,
        from: Option<Owner>,
        to: Owner,
    },
    /// Points an APIService to another Service. Helm does not: it does not update an adopted object of a type that it does not know.
    Repoint {
        object: Object,
        service: Service,
    },
}

/// Releases come first: an object is not transferred while uninstalling its old release would delete it. `registered` is the Service in
/// the APIService of the release that takes over, once that is installed.
pub(super) fn plan(live: &[LiveObject], to: &Owner, registered: Option<&Service>) -> Vec<Change> {
    let shared = shared();
    let ours: Vec<&LiveObject> = live.iter().filter(|live| live.is_of_keda()).collect();
    let owners: BTreeSet<&Owner> = ours.iter().filter_map(|live| live.owner.as_ref()).collect();
    let mut changes: Vec<Change> = owners.into_iter().map(|owner| keep_in(owner, &ours, to)).collect();
    // An upgrade of the old release that no longer has an object reads the annotation of the object itself.
    let endangered = ours.iter().filter(|live| live.object.kind == SharedKind::Crd || !live.belongs_to(to));
    changes.extend(endangered.filter(|live| !live.is_kept()).map(|live| Change::Protect(live.object.clone())));
    let foreign = ours.iter().filter(|live| shared.contains(&live.object) && !live.belongs_to(to));
    changes.extend(foreign.map(|live| Change::HandOver {
        object: live.object.clone(),
        from: live.owner.clone(),
        to: to.clone(),
    }));
    changes.extend(ours.iter().filter_map(|live| repoint(live, registered?)));
    changes
}

/// The change of an APIService that points to another Service than the release has.
fn repoint(live: &LiveObject, registered: &Service) -> Option<Change> {
    let leads = live.service.as_ref()?;
    (leads != registered).then(|| Change::Repoint { object: live.object.clone(), service: registered.clone() })
}

/// The objects that must outlive a release: all that are transferred; of the release that takes over, its CRDs.
fn keep_in(owner: &Owner, live: &[&LiveObject], to: &Owner) -> Change {
    let stays = |live: &&&LiveObject| owner != to || live.object.kind == SharedKind::Crd;
    let objects = live.iter().filter(stays).map(|live| live.object.clone()).collect();
    Change::KeepInRelease { owner: owner.clone(), objects }
}

#[cfg(test)]
#[path = "plan/tests.rs"]
mod tests;
