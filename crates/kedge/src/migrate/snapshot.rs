//! The part of a cluster that matters for the migration.

use std::collections::BTreeMap;

use serde_json::Value;

use super::plan::{LiveObject, Owner};
use super::release::{Release, ReleaseError};

/// The API path of a kind.
pub(super) struct Path {
    pub(super) api: &'static str,
    pub(super) plural: &'static str,
}

/// The listed kinds: KEDA's, and the neighbours that the rules need.
pub(super) const PATHS: &[Path] = &[
    Path { api: "apis/keda.sh/v1alpha1", plural: "scaledobjects" },
    Path { api: "apis/keda.sh/v1alpha1", plural: "scaledjobs" },
    Path { api: "apis/keda.sh/v1alpha1", plural: "triggerauthentications" },
    Path { api: "apis/keda.sh/v1alpha1", plural: "clustertriggerauthentications" },
    Path { api: "apis/eventing.keda.sh/v1alpha1", plural: "cloudeventsources" },
    Path { api: "apis/eventing.keda.sh/v1alpha1", plural: "clustercloudeventsources" },
    Path { api: "apis/autoscaling/v2", plural: "horizontalpodautoscalers" },
    Path { api: "apis/apps/v1", plural: "deployments" },
    Path { api: "apis/apps/v1", plural: "statefulsets" },
    Path { api: "api/v1", plural: "limitranges" },
    Path { api: "apis/admissionregistration.k8s.io/v1", plural: "validatingwebhookconfigurations" },
];

/// The newest revision of a release.
#[derive(Clone, Debug)]
pub(super) struct StoredRelease {
    pub(super) revision: u32,
    pub(super) status: String,
    pub(super) manifest: String,
}

impl StoredRelease {
    pub(super) fn read(revision: u32, release: &Release) -> Result<Self, ReleaseError> {
        Ok(Self { revision, status: release.status()?, manifest: release.manifest()? })
    }
}

/// The objects of a cluster that matter for the migration.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    pub(super) live: Vec<LiveObject>,
    /// The releases that own any of them; none where the release is gone, or stored outside of Secrets.
    pub(super) releases: Vec<(Owner, Option<StoredRelease>)>,
    pub(super) objects: Vec<Value>,
    /// The resource of each kind that targets have, by version and kind.
    pub(super) resources: BTreeMap<(String, String), String>,
}
