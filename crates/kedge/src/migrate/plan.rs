//! What has to change so that one release can go and another take over, from what there is. Nothing is asked and nothing written here.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// The annotation by which Helm knows what outlives a release.
pub(super) const POLICY: &str = "helm.sh/resource-policy";
pub(super) const KEEP: &str = "keep";

/// The annotations and the label by which Helm knows whose an object is.
pub(super) const RELEASE_NAME: &str = "meta.helm.sh/release-name";
pub(super) const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
pub(super) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
pub(super) const HELM: &str = "Helm";

/// The labels that say what an object is part of.
pub(super) const PART_OF: [&str; 4] = ["app", "app.kubernetes.io/name", "app.kubernetes.io/part-of", "helm.sh/chart"];

/// Whether such a label is one of KEDA's or ours.
pub(super) fn is_kedas(label: &str) -> bool {
    label.starts_with("keda") || label.starts_with("kedge")
}

/// A Helm release: who owns an object.
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
pub(super) enum Sort {
    ApiService,
    Webhooks,
    Crd,
}

impl Sort {
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
    pub(super) sort: Sort,
    pub(super) name: String,
}

impl Object {
    pub(super) fn new(sort: Sort, name: &str) -> Self {
        Self { sort, name: name.to_owned() }
    }

    /// Whether a manifest is that of this object.
    pub(super) fn is(&self, manifest: &Value) -> bool {
        manifest["kind"] == self.sort.kind() && manifest["metadata"]["name"] == *self.name
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.sort.kind(), self.name)
    }
}

/// What both charts have, in the order in which it is handed over: what can be made again comes first.
pub(super) fn shared() -> Vec<Object> {
    let registrations = [
        Object::new(Sort::ApiService, "v1beta1.external.metrics.k8s.io"),
        Object::new(Sort::Webhooks, "keda-admission"),
    ];
    let crds = ["clustertriggerauthentications", "scaledjobs", "scaledobjects", "triggerauthentications"];
    let crds = crds.map(|plural| Object::new(Sort::Crd, &format!("{plural}.keda.sh")));
    registrations.into_iter().chain(crds).collect()
}

/// What KEDA's chart alone has, and must not lose its objects.
pub(super) fn theirs() -> Vec<Object> {
    let crds = ["cloudeventsources", "clustercloudeventsources"];
    crds.map(|plural| Object::new(Sort::Crd, &format!("{plural}.eventing.keda.sh"))).to_vec()
}

/// The Service behind a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Service {
    /// The one that an APIService names.
    pub(super) fn of(api_service: &Value) -> Option<Self> {
        let word = |key: &str| Some(api_service["spec"]["service"][key].as_str()?.to_owned());
        Some(Self { namespace: word("namespace")?, name: word("name")? })
    }
}

/// An object as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Live {
    pub(super) object: Object,
    pub(super) owner: Option<Owner>,
    pub(super) managed_by: Option<String>,
    pub(super) policy: Option<String>,
    /// What its labels say that it is part of.
    pub(super) part_of: Vec<String>,
    /// Of an APIService.
    pub(super) service: Option<Service>,
}

impl Live {
    /// Whether it is KEDA's or ours. Other metrics adapters register the same API.
    pub(super) fn is_of_keda(&self) -> bool {
        self.object.sort != Sort::ApiService || self.part_of.iter().any(|label| is_kedas(label))
    }

    fn belongs_to(&self, owner: &Owner) -> bool {
        self.owner.as_ref() == Some(owner) && self.managed_by.as_deref() == Some(HELM)
    }

    fn is_kept(&self) -> bool {
        self.policy.as_deref().is_some_and(|policy| policy.trim().eq_ignore_ascii_case(KEEP))
    }
}

/// One change. Each is right by itself, whether or not the others follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Marks objects in the manifest of a release, where it has them.
    KeepInRelease {
        owner: Owner,
        objects: Vec<Object>,
    },
    /// Marks an object itself, for upgrades, and for all that is not Helm.
    Protect(Object),
    HandOver {
        object: Object,
        from: Option<Owner>,
        to: Owner,
    },
    /// Has the API server ask another Service. Helm leaves this undone: an object that it takes over, and whose type it does not know, it does
    /// not change.
    Repoint {
        object: Object,
        service: Service,
    },
}

/// Releases first: an object must not change hands while its old owner would still take it along. `registered` is the Service that the
/// release which takes over registers, once it is installed.
pub(super) fn plan(live: &[Live], to: &Owner, registered: Option<&Service>) -> Vec<Change> {
    let shared = shared();
    let ours: Vec<&Live> = live.iter().filter(|live| live.is_of_keda()).collect();
    let owners: BTreeSet<&Owner> = ours.iter().filter_map(|live| live.owner.as_ref()).collect();
    let mut changes: Vec<Change> = owners.into_iter().map(|owner| keep_in(owner, &ours, to)).collect();
    // An upgrade of the old release that no longer has an object goes by the mark at the object itself.
    let endangered = ours.iter().filter(|live| live.object.sort == Sort::Crd || !live.belongs_to(to));
    changes.extend(endangered.filter(|live| !live.is_kept()).map(|live| Change::Protect(live.object.clone())));
    let strangers = ours.iter().filter(|live| shared.contains(&live.object) && !live.belongs_to(to));
    changes.extend(strangers.map(|live| Change::HandOver {
        object: live.object.clone(),
        from: live.owner.clone(),
        to: to.clone(),
    }));
    changes.extend(ours.iter().filter_map(|live| repoint(live, registered?)));
    changes
}

/// Where a registration leads elsewhere than the release says.
fn repoint(live: &Live, registered: &Service) -> Option<Change> {
    let leads = live.service.as_ref()?;
    (leads != registered).then(|| Change::Repoint { object: live.object.clone(), service: registered.clone() })
}

/// What must outlive a release: everything that is handed over; of the release that takes over, its CRDs.
fn keep_in(owner: &Owner, live: &[&Live], to: &Owner) -> Change {
    let stays = |live: &&&Live| owner != to || live.object.sort == Sort::Crd;
    let objects = live.iter().filter(stays).map(|live| live.object.clone()).collect();
    Change::KeepInRelease { owner: owner.clone(), objects }
}

#[cfg(test)]
#[path = "plan/tests.rs"]
mod tests;
